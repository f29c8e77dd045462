"""Evaluation: policies against environments, with intervals."""
