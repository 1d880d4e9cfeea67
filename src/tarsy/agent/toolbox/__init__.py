"""Wrappers and built-in tools over the ToolExecutor port: small, one concern each, put together in `toolbox`."""
