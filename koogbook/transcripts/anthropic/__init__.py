"""Anthropic messages: content blocks, results inside user messages, the system prompt beside the list."""
