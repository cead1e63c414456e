"""Logs of Claude Code: a line per block, and a tree of lines with rewinds and compactions."""
