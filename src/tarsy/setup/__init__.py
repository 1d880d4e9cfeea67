"""Setting up an installation: the trials, the files that are written, and the one-time code that grants access."""
