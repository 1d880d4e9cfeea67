"""`tarsy tools`: list the tools of the tool servers, call a tool as an agent would, accept the tools of a server."""

import json
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import anyio
import typer

from tarsy.cli.config import Directory
from tarsy.cli.environment import ServerUrl, Token
from tarsy.cli.terminal import minute, print_table, without_control_characters

if TYPE_CHECKING:
    from tarsy.cli.client import TarsyClient
    from tarsy.domain.tool import ToolCatalog, ToolDefinition, ToolResult
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
    if catalog.tools:
        print_table(("TOOL", "MARKS", "DESCRIPTION"), map(_row, catalog.tools))
    for listing in catalog.listings:
        for name, reason in listing.needs_approval.items():
            typer.echo(without_control_characters(f"{listing.server}.{name} needs an approval for each call: {reason}."), err=True)
    for warning in catalog.warnings:
        typer.echo(without_control_characters(warning), err=True)
    if catalog.warnings:
        raise typer.Exit(1)


def _row(tool: "ToolDefinition") -> tuple[str, ...]:
    marks = [mark for mark, holds in (("read-only", tool.read_only), ("idempotent", tool.idempotent)) if holds]
    return tool.name, ", ".join(marks), next(iter(tool.description.splitlines()), "")


@app.command()
def call(
    tool: Annotated[str, typer.Argument(metavar="SERVER.TOOL", help="The tool.")],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="ARGUMENTS", help="JSON, or key=value pairs, which are converted to the types of the tool's schema."),
    ] = None,
    config: Directory = None,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for the result.")] = 60.0,
) -> None:
    """Call a tool and print its result, masked as an agent would get it; exit status 1 if it failed."""
    from tarsy.domain.conversation import ToolCall

    given = _joined(arguments or [])

    async def run() -> "ToolResult":
        async with _opened(config, (tool.partition(".")[0],), timeout) as tools:
            return await tools.execute(
                ToolCall("command-line", tool, given), lambda output: typer.echo(without_control_characters(output), err=True, nl=False)
            )

    result = anyio.run(run)
    typer.echo(without_control_characters(result.content), err=result.is_error)
    if result.is_error:
        raise typer.Exit(1)


@app.command()
def pins(url: ServerUrl = None, token: Token = None) -> None:
    """Show whose tools were accepted, by whom and when; exit status 1 if some have changed since."""
    from tarsy.cli.client import call_server

    servers = call_server(url, token, lambda client: client.mcp_servers())
    accepted = [(minute(one["accepted_at"]), one["accepted_by"]) if one["accepted_at"] else ("never", "") for one in servers]
    print_table(("SERVER", "PIN", "ACCEPTED", "BY"), [(one["name"], one["pin"], *by) for one, by in zip(servers, accepted, strict=True)])
    problems = [one["pin_problem"] for one in servers if one["pin_problem"]]
    for problem in problems:
        typer.echo(without_control_characters(problem), err=True)
    if problems:
        raise typer.Exit(1)


@app.command()
def accept(
    servers: Annotated[
        list[str] | None, typer.Argument(help="These servers.", show_default="all that changed or were never accepted")
    ] = None,
    url: ServerUrl = None,
    token: Token = None,
) -> None:
    """Accept the tools of servers, with their descriptions and schemas, as the running TARSy has listed them last. Needs the role admin."""
    from tarsy.cli.client import call_server

    async def run(client: "TarsyClient") -> list[dict[str, Any]]:
        found = {one["name"]: one for one in await client.mcp_servers()}
        for name in servers or ():
            if not found.get(name, {}).get("fingerprint"):
                raise typer.BadParameter(f"the running TARSy has not listed the tools of '{name}'")
        wanted = [one for one in found.values() if one["fingerprint"] and (one["pin_problem"] or not one["accepted_at"])]
        chosen = [found[name] for name in servers] if servers else wanted
        for one in chosen:
            await client.accept_tools(one["name"], one["fingerprint"])
        return chosen

    accepted = call_server(url, token, run)
    for one in accepted:
        if one["pin_problem"]:
            typer.echo(without_control_characters(one["pin_problem"].partition(" Check them")[0]))
        typer.echo(without_control_characters(f"{one['name']}: {len(one['tools'])} tools are accepted"))
    if not accepted:
        typer.echo("There is nothing to accept.")


def _joined(words: list[str]) -> str:
    """Return the arguments as one text. Several pairs become JSON, because their values may contain blanks."""
    if len(words) < 2:
        return "".join(words) or "{}"
    unpaired = [word for word in words if "=" not in word]
    if unpaired:
        raise typer.BadParameter(f"{unpaired[0]} is not key=value; pass JSON as one quoted argument")
    return json.dumps(dict(word.split("=", 1) for word in words))


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
