"""History compression: strategies, what they may do to a history, and the check of facts."""
