"""Branches that run at once, and how what they leave becomes one."""
