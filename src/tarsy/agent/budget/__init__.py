"""Ceilings of a run: the amounts used under them, and whether the next call may be made."""
