"""Tool servers of evals: the world of a case in the place of a chain's servers, masked as their results are."""

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

from tarsy.agent.ports import ToolExecutor
from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedMcpServer, ResolvedTransport
from tarsy.domain.conversation import ToolCall
from tarsy.domain.execution import ExecutionPlace
from tarsy.domain.recording import RecordedTool, Recording
from tarsy.domain.tool import OnOutput, Tag, ToolCatalog, ToolListing, ToolName, ToolResult
from tarsy.domain.tool_arguments import ArgumentProblem, parse_arguments
from tarsy.evals.worlds.world import World
from tarsy.kit.clock import SystemClock
from tarsy.tools.executor import MaskedTools
from tarsy.tools.masking.masker import Masker
from tarsy.tools.messages import clip_content

# Where a tool server has its address, a world has the name of its case.
_SCHEME = "case:"


def world_server(name: str, case: str, like: ResolvedMcpServer | None = None) -> ResolvedMcpServer:
    """Return a tool server that is the world of a case, with the masking and summaries of the server `like` that it replaces."""
    transport = ResolvedTransport(type="world", url=f"{_SCHEME}{case}")
    server = like or ResolvedMcpServer(name=name, transport=transport)
    return server.model_copy(update={"transport": transport})


def case_of(server: ResolvedMcpServer) -> str:
    """Return the name of the case whose world a tool server is."""
    return (server.transport.url or "").removeprefix(_SCHEME)


class WorldServers:
    """Opens the worlds that an agent's servers name."""

    def __init__(self, worlds: Mapping[str, World]) -> None:
        self._worlds = worlds

    @asynccontextmanager
    async def open(
        self, agent: ResolvedAgentConfig, servers: Mapping[str, ResolvedMcpServer], *, place: ExecutionPlace, tag: Tag | None = None
    ) -> AsyncGenerator[MaskedTools]:
        del place
        opened = {name: servers[name] for name in agent.mcp_servers}
        worlds = {name: self._worlds[case_of(server)] for name, server in opened.items()}
        maskers = {name: Masker.for_server(server.masking).tagged(tag) for name, server in opened.items()}
        yield MaskedTools(WorldTools(worlds), maskers, tag)


class WorldTools:
    """The tools of one execution; `worlds` by the name of the server that each replaces."""

    def __init__(self, worlds: Mapping[str, World]) -> None:
        self._worlds = worlds
        self._tools = {tool.name: tool for server, world in worlds.items() for tool in world.tools if tool.name.startswith(f"{server}.")}

    async def list_tools(self) -> ToolCatalog:
        now = SystemClock().now()
        listings = (
            ToolListing(
                server=server,
                tools=tuple(name.partition(".")[2] for name in self._tools if name.startswith(f"{server}.")),
                error=None,
                started_at=now,
                duration_ms=0,
            )
            for server in self._worlds
        )
        return ToolCatalog(tuple(self._tools.values()), (), tuple(listings))

    async def execute(self, call: ToolCall, on_output: OnOutput) -> ToolResult:
        del on_output  # a world answers at once
        started_at = SystemClock().now()

        tool, name = self._tools.get(call.name.strip()), ToolName.parse(call.name)
        if tool is None or name is None:
            return ToolResult.refusal(call, f"There is no tool '{call.name}'. There are: {', '.join(self._tools)}.", started_at)
        arguments = parse_arguments(call.arguments, tool.parameters_schema)
        if isinstance(arguments, ArgumentProblem):
            return ToolResult.refusal(call, arguments.message, started_at)
        answer = self._worlds[name.server].answer(tool.name, arguments)
        return ToolResult(call=call, content=clip_content(answer.text), started_at=started_at, is_error=answer.is_error)


class ForkedServers:
    """Opens the worlds of forked cases; `recordings` by the case's name."""

    def __init__(self, recordings: Mapping[str, Recording], inner: WorldServers) -> None:
        self._recordings = recordings
        self._inner = inner

    @asynccontextmanager
    async def open(
        self, agent: ResolvedAgentConfig, servers: Mapping[str, ResolvedMcpServer], *, place: ExecutionPlace, tag: Tag | None = None
    ) -> AsyncGenerator[ToolExecutor]:
        cases = {case_of(server) for server in servers.values()}
        recorded = [tool for case in cases for tool in self._recordings[case].tools if tool.track == place.track]
        calls = {_key(tool.call_id, tool.name, tool.arguments): tool for tool in recorded}
        async with self._inner.open(agent, servers, place=place, tag=tag) as world:
            yield ForkedTools(calls, world)


class ForkedTools:
    """Answers recorded calls from the recording, and other calls from the world. A call that was made twice gets both answers in turn, by its id."""

    def __init__(self, recorded: Mapping[tuple[str, str, str], RecordedTool], world: ToolExecutor) -> None:
        self._recorded = recorded
        self._world = world

    async def list_tools(self) -> ToolCatalog:
        return await self._world.list_tools()

    async def execute(self, call: ToolCall, on_output: OnOutput) -> ToolResult:
        # By the arguments as well as the id: another model may use the same id for another call.
        found = self._recorded.get(_key(call.id, call.name, call.arguments))
        if found is None:
            return await self._world.execute(call, on_output)
        return ToolResult(
            call=call,
            content=found.content,
            is_error=found.is_error,
            is_timeout=found.is_timeout,
            started_at=SystemClock().now(),
            duration_ms=found.duration_ms,
        )


def _key(call_id: str, name: str, arguments: str) -> tuple[str, str, str]:
    try:
        return call_id, name, json.dumps(json.loads(arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return call_id, name, arguments.strip()
