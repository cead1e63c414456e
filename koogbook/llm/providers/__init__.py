"""Real models: from our requests to a provider's, over HTTP, and back."""
