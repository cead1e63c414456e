"""Conversations from files, with every oddity listed, and back into files."""
