"""Exports of claude.ai: ``chat_messages`` with ``sender``, ``text`` and ``content``; only read."""
