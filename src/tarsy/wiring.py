"""The composition root: the only module that knows all others."""
