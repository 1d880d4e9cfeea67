"""Setting up an installation: the checks of models and tool servers, the files that are written, and the one-time code that grants access."""
