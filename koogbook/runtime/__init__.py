"""The strategy graph: building, checking, compiling and running it. Knows nothing of notebooks."""
