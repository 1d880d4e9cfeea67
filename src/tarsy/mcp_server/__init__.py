"""TARSy as an MCP server: other agents start and read investigations, over HTTP at `/mcp` and on standard input and output."""
