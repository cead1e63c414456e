"""What is wrong with a graph before it runs, and with a value at its boundaries."""
