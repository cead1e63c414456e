"""The checkpoints of a session and its forks, as a table with a tree."""
