"""ShareGPT: turns with ``from`` and ``value``, calls and observations as turns of their own."""
