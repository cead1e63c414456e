"""Abilities that an agent has only when they are installed."""
