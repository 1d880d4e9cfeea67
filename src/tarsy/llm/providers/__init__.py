"""One module per way to reach a model."""
