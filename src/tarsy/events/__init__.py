"""Live delivery: publisher, listener, hub."""
