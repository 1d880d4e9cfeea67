"""Workers: claiming, heartbeats, recovery, shutdown, retention."""
