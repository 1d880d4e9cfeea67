"""A tool server started or reached once: does it list its tools, and if not, what is to be done."""

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import anyio

from tarsy.config.resolve.resolved import ResolvedMcpServer
from tarsy.config.templates import variables
from tarsy.domain.tool import ToolCatalog
from tarsy.setup.finding import Finding, fail, ok, warn
from tarsy.tools.executor import McpToolServers

# A first start of a server by npx downloads it; a person who waits for longer is better told.
TOOLS_SECONDS = 60.0
_CURES = {
    "npx": "install Node.js 20 or later: npx comes with it",
    "uvx": "install uv: uvx comes with it (https://docs.astral.sh/uv/)",
}


@dataclass(frozen=True, slots=True)
class ToolTrial:
    finding: Finding
    # Their names within the server.
    tools: tuple[str, ...] = ()


async def try_server(server: ResolvedMcpServer, env: Mapping[str, str]) -> ToolTrial:
    """Connect to the server and list its tools."""
    lacking = _cannot_start(server, env)
    return ToolTrial(lacking) if lacking else await _listed(server, env)


def _cannot_start(server: ResolvedMcpServer, env: Mapping[str, str]) -> Finding | None:
    transport = server.transport
    command = transport.command
    if command and not variables(command) and shutil.which(command, path=env.get("PATH")) is None:
        cure = _CURES.get(command, f"install {command}, or write its full path")
        return warn("tools", f"{server.name}: the program {command} was not found", cure)
    texts: Iterable[str] = (*transport.args, *transport.env.values(), transport.url or "", transport.bearer_token or "")
    missing = sorted({name for text in texts for name in variables(text)} - env.keys() - {"SESSION_ID"})
    if missing:
        cure = f"set {' and '.join(missing)} in the environment or in .env"
        return warn("tools", f"{server.name}: {', '.join(missing)} is not set", cure)
    return None


async def _listed(server: ResolvedMcpServer, env: Mapping[str, str]) -> ToolTrial:
    catalog = ToolCatalog()
    with anyio.move_on_after(TOOLS_SECONDS) as limit:
        async with McpToolServers(env=env).open_servers({server.name: server}, call_timeout=TOOLS_SECONDS, execution_id="doctor") as tools:
            catalog = await tools.list_tools()
    cure = f"try it by hand: tarsy tools list {server.name}"
    if limit.cancelled_caught and not catalog.tools:
        return ToolTrial(fail("tools", f"{server.name} did not list its tools within {TOOLS_SECONDS:.0f} s", cure))
    if catalog.warnings:
        return ToolTrial(fail("tools", "\n".join(catalog.warnings), cure))
    names = tuple(tool.name.removeprefix(f"{server.name}.") for tool in catalog.tools)
    return ToolTrial(ok("tools", f"{server.name}: {len(names)} tools"), names)
