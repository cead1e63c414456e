"""The prompt view: what the model really saw in one call, in layers that can be switched off."""
