"""Backends for what the features keep: in memory and SQLite."""
