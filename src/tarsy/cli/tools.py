"""`tarsy tools`: list the tools of the tool servers, and call a tool as an agent would."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import anyio
import typer

from tarsy.cli.config import Directory
from tarsy.cli.terminal import harmless

if TYPE_CHECKING:
    from tarsy.domain.tool import ToolCatalog, ToolResult
    from tarsy.tools.executor import MaskedTools

app = typer.Typer(no_args_is_help=True)


@app.command("list")
def list_tools(
    servers: Annotated[list[str] | None, typer.Argument(help="Only these servers.", show_default="all")] = None, config: Directory = None
) -> None:
    """Connect to the servers and list their tools; exit status 1 if one of them is not available."""

    async def run() -> "ToolCatalog":
        async with _opened(config, tuple(servers or ())) as tools:
            return await tools.list_tools()

    catalog = anyio.run(run)
    for tool in catalog.tools:
        marks = [mark for mark, holds in (("read-only", tool.read_only), ("idempotent", tool.idempotent)) if holds]
        summary = next(iter(tool.description.splitlines()), "")
        typer.echo(harmless("  ".join(part for part in (tool.name, f"[{', '.join(marks)}]" if marks else "", summary) if part)))
    for listing in catalog.listings:
        for name, reason in listing.withheld.items():
            typer.echo(harmless(f"{listing.server}.{name} is withheld from agents: {reason}."), err=True)
    for warning in catalog.warnings:
        typer.echo(harmless(warning), err=True)
    if catalog.warnings:
        raise typer.Exit(1)


@app.command()
def call(
    tool: Annotated[str, typer.Argument(metavar="SERVER.TOOL", help="The tool.")],
    arguments: Annotated[str, typer.Argument(metavar="JSON", help="Its arguments: JSON, YAML or key=value.")] = "{}",
    config: Directory = None,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for the result.")] = 60.0,
) -> None:
    """Call a tool and print its result, masked as an agent would get it; exit status 1 if it failed."""
    from tarsy.domain.conversation import ToolCall

    async def run() -> "ToolResult":
        async with _opened(config, (tool.partition(".")[0],), timeout) as tools:
            return await tools.execute(
                ToolCall("command-line", tool, arguments), lambda output: typer.echo(harmless(output), err=True, nl=False)
            )

    result = anyio.run(run)
    typer.echo(harmless(result.content), err=result.is_error)
    if result.is_error:
        raise typer.Exit(1)


@asynccontextmanager
async def _opened(directory: Path | None, names: tuple[str, ...], call_timeout: float = 60.0) -> "AsyncGenerator[MaskedTools]":
    from tarsy.config.load.loader import load_config
    from tarsy.config.resolve.resolved import resolved_server
    from tarsy.tools.executor import McpToolServers

    loaded = load_config(directory, os.environ)
    known = loaded.config.mcp_servers
    unknown = [name for name in names if name not in known]
    if unknown:
        raise typer.BadParameter(f"there is no tool server '{unknown[0]}'; configured: {', '.join(known) or 'none'}")
    chosen = {name: resolved_server(loaded.config, name) for name in names or tuple(known)}
    async with McpToolServers(env=loaded.env).open_servers(chosen, call_timeout=call_timeout, execution_id="command-line") as tools:
        yield tools
