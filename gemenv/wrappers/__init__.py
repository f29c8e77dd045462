"""Wrappers: the same episode, seen or limited another way."""
