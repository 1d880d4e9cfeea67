"""The tool selection of an alert, which replaces the tools of its agents."""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from tarsy.config.problems import did_you_mean
from tarsy.config.schema.configuration import Config

# More than any installation has, and few enough to be checked quickly.
MAX_SERVERS = 100
MAX_TOOLS = 1000
# Each problem compares a name with all known ones, and a few are enough for the caller.
SHOWN_PROBLEMS = 10

ShortName = Annotated[str, Field(max_length=200)]


class Selected(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class NativeToolSelection(Selected):
    google_search: bool | None = None
    code_execution: bool | None = None
    url_context: bool | None = None


class SelectedServer(Selected):
    name: ShortName
    # None: every tool of the server.
    tools: Annotated[tuple[ShortName, ...], Field(max_length=MAX_TOOLS)] | None = None


class McpSelection(Selected):
    """`{servers: [{name, tools?}], native_tools?}` as it comes with an alert."""

    servers: Annotated[tuple[SelectedServer, ...], Field(max_length=MAX_SERVERS)]
    native_tools: NativeToolSelection | None = None


class SelectionError(ValueError):
    """The selection is invalid; the caller can act."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        self.problems = problems
        super().__init__("; ".join(problems))


# Returns the tools that a server listed last; None: it was not listed yet.
KnownTools = Callable[[str], frozenset[str] | None]


def check_selection(config: Config, selection: McpSelection, known_tools: KnownTools = lambda _server: None) -> tuple[str, ...]:
    """Return the problems of a selection; tools of a server that was not listed yet are not checked."""

    def problems() -> Iterator[str]:
        if not selection.servers:
            yield "mcp.servers: name at least one server, or leave mcp out"
        seen: set[str] = set()
        for index, wanted in enumerate(selection.servers):
            place = f"mcp.servers[{index}]"
            if wanted.name in seen:
                yield f'{place}: server "{wanted.name}" is named twice'
            seen.add(wanted.name)
            if wanted.name not in config.mcp_servers:
                yield f'{place}: there is no MCP server "{wanted.name}"; {did_you_mean(wanted.name, config.mcp_servers)}'
                continue
            yield from _tool_problems(place, wanted, config.mcp_servers[wanted.name].tools, known_tools(wanted.name))

    return tuple(islice(problems(), SHOWN_PROBLEMS))


def _tool_problems(place: str, wanted: SelectedServer, allowed: tuple[str, ...] | None, known: frozenset[str] | None) -> Iterator[str]:
    if wanted.tools == ():
        yield f"{place}.tools: name at least one tool, or leave tools out for all"
    for tool in wanted.tools or ():
        if not tool.strip():
            yield f"{place}.tools: a tool name must not be empty"
        elif not tool.isprintable():
            yield f"{place}.tools: a tool name must not hold control characters"
        elif allowed is not None and tool not in allowed:
            yield f'{place}.tools: server "{wanted.name}" does not allow the tool "{tool}"; {did_you_mean(tool, allowed)}'
        elif known is not None and tool not in known:
            yield f'{place}.tools: server "{wanted.name}" has no tool "{tool}"; {did_you_mean(tool, known) or "it offers none"}'
