"""Policies: whatever can answer in an episode."""
