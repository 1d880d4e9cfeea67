"""Tool servers (MCP): connecting, calling, masking."""
