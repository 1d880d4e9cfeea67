"""Worlds: what the tools of a case show, out of files instead of a cluster."""
