"""Ceilings of a run: what is used under them, and whether the next call may be made."""
