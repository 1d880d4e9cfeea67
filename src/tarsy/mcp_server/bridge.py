"""The MCP server of a running TARSy on standard input and output, for clients that start their servers as programs."""

from functools import partial

import httpx2
import mcp_types as types
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from tarsy import __version__
from tarsy.tools.session import AGENT_CALL

# Four times as long as a call that waits is silent.
SILENCE_SECONDS = 60.0


async def serve_stdio(address: str, token: str | None, *, by_proxy: bool) -> None:
    """Pass requests on to the MCP server at `address` until the client closes standard input."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    timeout = httpx2.Timeout(30.0, read=SILENCE_SECONDS)
    async with (
        httpx2.AsyncClient(headers=headers, timeout=timeout, trust_env=by_proxy) as http,
        Client(streamable_http_client(address, http_client=http)) as remote,
        stdio_server() as (read, write),
    ):
        server = Server(
            "tarsy",
            title="TARSy",
            version=__version__,
            instructions=remote.instructions,
            on_list_tools=partial(_list_tools, remote),
            on_call_tool=partial(_call_tool, remote),
            on_list_resource_templates=partial(_list_resource_templates, remote),
            on_list_resources=partial(_list_resources, remote),
            on_read_resource=partial(_read_resource, remote),
        )
        await server.run(read, write, server.create_initialization_options())


async def _list_tools(remote: Client, _ctx: ServerRequestContext, _params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    return await remote.list_tools()


async def _call_tool(remote: Client, ctx: ServerRequestContext, params: types.CallToolRequestParams) -> types.CallToolResult:
    mark = types.RequestParamsMeta(**{AGENT_CALL: True}) if AGENT_CALL in (ctx.meta or {}) else None
    return await remote.call_tool(params.name, params.arguments, progress_callback=ctx.session.report_progress, meta=mark)


async def _list_resources(
    remote: Client, _ctx: ServerRequestContext, _params: types.PaginatedRequestParams | None
) -> types.ListResourcesResult:
    return await remote.list_resources()


async def _list_resource_templates(
    remote: Client, _ctx: ServerRequestContext, _params: types.PaginatedRequestParams | None
) -> types.ListResourceTemplatesResult:
    return await remote.list_resource_templates()


async def _read_resource(remote: Client, _ctx: ServerRequestContext, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    return await remote.read_resource(str(params.uri))
