"""Sessions on the lock: lanes over time, the queue, what was refused."""
