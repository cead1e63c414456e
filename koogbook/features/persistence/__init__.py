"""Checkpoints after each node, and going on from one."""
