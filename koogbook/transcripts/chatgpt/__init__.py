"""Exports of ChatGPT: trees of nodes with ``mapping`` and ``current_node``; only read."""
