"""Worlds in the place of tool servers: an execution gets the tools of its case, masked as those of a real server are."""

import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from tarsy.agent.ports import ToolExecutor
from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedMcpServer, ResolvedTransport
from tarsy.domain.conversation import ToolCall
from tarsy.domain.recording import RecordedTool, Recording
from tarsy.domain.tool import ToolCatalog, ToolListing, ToolName, ToolResult
from tarsy.domain.tool_arguments import ArgumentProblem, parse_arguments
from tarsy.evals.worlds.world import Answer, World
from tarsy.kit.clock import Clock, SystemClock
from tarsy.tools.executor import MaskedTools
from tarsy.tools.masking.masker import Masker

# Where a tool server has its address, a world has the name of its case.
_SCHEME = "case:"


def world_server(name: str, case: str, like: ResolvedMcpServer | None = None) -> ResolvedMcpServer:
    """A tool server of a chain that is really the world of a case; masking and summaries are those of the server it stands in for."""
    transport = ResolvedTransport(type="world", url=f"{_SCHEME}{case}")
    server = like or ResolvedMcpServer(name=name, transport=transport)
    return server.model_copy(update={"transport": transport})


def case_of(server: ResolvedMcpServer) -> str:
    """The name of the case whose world a tool server is."""
    return (server.transport.url or "").removeprefix(_SCHEME)


class WorldServers:
    """Opens the world that an agent's servers name."""

    def __init__(self, worlds: Mapping[str, World], clock: Clock | None = None) -> None:
        self._worlds = worlds
        self._clock = clock or SystemClock()

    def open(
        self, agent: ResolvedAgentConfig, servers: Mapping[str, ResolvedMcpServer], *, execution_id: str, track: str
    ) -> AbstractAsyncContextManager[MaskedTools]:
        del execution_id, track
        return self._open({name: servers[name] for name in agent.mcp_servers})

    @asynccontextmanager
    async def _open(self, servers: Mapping[str, ResolvedMcpServer]) -> AsyncGenerator[MaskedTools]:
        worlds = {name: self._worlds[case_of(server)] for name, server in servers.items()}
        maskers = {name: Masker.for_server(server.masking) for name, server in servers.items()}
        yield MaskedTools(WorldTools(worlds, self._clock), maskers)


class WorldTools:
    """The tools of one execution; `worlds` by the name of the server that each stands in for."""

    def __init__(self, worlds: Mapping[str, World], clock: Clock) -> None:
        self._worlds = worlds
        self._clock = clock
        self._tools = {tool.name: tool for server, world in worlds.items() for tool in world.tools if tool.name.startswith(f"{server}.")}

    async def list_tools(self) -> ToolCatalog:
        now = self._clock.now()
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

    async def execute(self, call: ToolCall, on_output: Callable[[str], None]) -> ToolResult:
        del on_output  # a world answers at once
        from tarsy.tools.messages import clip_content  # noqa: PLC0415 - heavy, imported on first use

        started_at = self._clock.now()
        answer = self._answer(call)
        if isinstance(answer, ArgumentProblem):
            return ToolResult(call=call, content=answer.message, started_at=started_at, is_error=True, refused=True)
        return ToolResult(call=call, content=clip_content(answer.text), started_at=started_at, is_error=answer.is_error)

    def _answer(self, call: ToolCall) -> Answer | ArgumentProblem:
        tool, name = self._tools.get(call.name.strip()), ToolName.parse(call.name)
        if tool is None or name is None:
            return ArgumentProblem(f"There is no tool '{call.name}'. There are: {', '.join(self._tools)}.")
        arguments = parse_arguments(call.arguments, tool.parameters_schema)
        return arguments if isinstance(arguments, ArgumentProblem) else self._worlds[name.server].answer(tool.name, arguments)


class ForkedServers:
    """Opens the worlds of forked cases; `recordings` by the case's name."""

    def __init__(self, recordings: Mapping[str, Recording], inner: WorldServers, clock: Clock | None = None) -> None:
        self._recordings = recordings
        self._inner = inner
        self._clock = clock or SystemClock()

    def open(
        self, agent: ResolvedAgentConfig, servers: Mapping[str, ResolvedMcpServer], *, execution_id: str, track: str
    ) -> AbstractAsyncContextManager[ToolExecutor]:
        opened = self._inner.open(agent, servers, execution_id=execution_id, track=track)
        cases = {case_of(server) for server in servers.values()}
        recorded = [tool for case in cases for tool in self._recordings[case].tools if tool.track == track]
        return self._forked(opened, {_key(tool.call_id, tool.name, tool.arguments): tool for tool in recorded})

    @asynccontextmanager
    async def _forked(
        self, opened: AbstractAsyncContextManager[ToolExecutor], recorded: Mapping[tuple[str, str, str], RecordedTool]
    ) -> AsyncGenerator[ToolExecutor]:
        async with opened as world:
            yield ForkedTools(recorded, world, self._clock)


class ForkedTools:
    """The same call may have been made twice and answered differently: each gets the answer that it had."""

    def __init__(self, recorded: Mapping[tuple[str, str, str], RecordedTool], world: ToolExecutor, clock: Clock) -> None:
        self._recorded = recorded
        self._world = world
        self._clock = clock

    async def list_tools(self) -> ToolCatalog:
        return await self._world.list_tools()

    async def execute(self, call: ToolCall, on_output: Callable[[str], None]) -> ToolResult:
        # The arguments count besides the id: another model may call its first call what this one called its own.
        found = self._recorded.get(_key(call.id, call.name, call.arguments))
        if found is None:
            return await self._world.execute(call, on_output)
        return ToolResult(
            call=call,
            content=found.content,
            is_error=found.is_error,
            is_timeout=found.is_timeout,
            started_at=self._clock.now(),
            duration_ms=found.duration_ms,
        )


def _key(call_id: str, name: str, arguments: str) -> tuple[str, str, str]:
    try:
        return call_id, name, json.dumps(json.loads(arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return call_id, name, arguments.strip()
