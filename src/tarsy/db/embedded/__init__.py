"""The embedded PostgreSQL: its programs, its account, starting and stopping it."""
