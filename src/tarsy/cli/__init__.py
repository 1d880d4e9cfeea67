"""The `tarsy` command."""
