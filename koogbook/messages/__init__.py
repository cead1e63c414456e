"""Messages and prompts as immutable values, their rules, sizes, codecs and differences."""
