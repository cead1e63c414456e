"""OpenAI chat messages: ``role`` and ``content``, ``tool_calls``, ``tool_call_id``."""
