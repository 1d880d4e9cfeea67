"""The table of work: claiming, heartbeats, release, recovery, waking, and the position in the queue."""
