"""Subgraphs with a context of their own, and those that work on a task."""
