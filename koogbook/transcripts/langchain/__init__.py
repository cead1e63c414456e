"""LangChain messages in their several forms, alone, in data sets and in checkpoints."""
