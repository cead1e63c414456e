"""The view of a run: what happens now, and how it ended."""
