"""Work: handlers, the worker pool with its heartbeats and orphan recovery, and the periodic tasks of a process."""
