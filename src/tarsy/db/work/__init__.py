"""The table of work: claimed, kept alive, let go of, taken back, woken, and shown to people."""
