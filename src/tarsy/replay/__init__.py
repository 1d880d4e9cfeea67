"""Recordings of whole sessions: read out of a database, and run again."""
