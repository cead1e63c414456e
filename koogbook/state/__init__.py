"""Users' values to bytes and back, type-exact."""
