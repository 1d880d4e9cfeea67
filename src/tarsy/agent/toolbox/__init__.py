"""The tools of an execution: wrappers around a ToolExecutor, one concern each, and the built-in tools; `toolbox` puts them together."""
