"""Investigators without a key: scripts that answer through the normal pipeline, so that the suite itself can be judged."""
