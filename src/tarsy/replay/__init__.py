"""Recordings of whole sessions: exporting them, and replaying them."""
