"""Sessions on an LLM context, the lock that orders them, and the executors that answer."""
