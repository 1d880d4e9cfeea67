"""Work: handlers, and the worker pool with its heartbeats and orphan recovery."""
