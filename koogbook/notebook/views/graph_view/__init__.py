"""The strategy graph: its state from events, its layout, its picture."""
