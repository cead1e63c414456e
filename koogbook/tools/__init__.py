"""Functions that a model may call."""
