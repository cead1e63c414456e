"""Ready nodes and conditions."""
