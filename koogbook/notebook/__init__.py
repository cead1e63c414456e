"""The only folder that knows how things look."""
