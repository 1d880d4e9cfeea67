"""The command `tarsy mcp`."""

from tarsy.cli.environment import ServerUrl, Token


def mcp(url: ServerUrl = None, token: Token = None) -> None:
    """Offer the investigations of a running TARSy to an agent as an MCP server on standard input and output."""
    from tarsy.cli.client import TarsyClient, call_server
    from tarsy.mcp_server.bridge import serve_stdio

    async def serve(client: TarsyClient) -> None:
        # A wrong token is reported here, as by every other command.
        await client.sessions(limit=1)
        await serve_stdio(f"{client.url}/mcp", token, by_proxy=not client.is_local)

    call_server(url, token, serve)
