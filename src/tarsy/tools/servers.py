"""Opens the tools of an execution and closes them with it."""

import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext

import anyio
from anyio.abc import TaskGroup

from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedMcpServer
from tarsy.kit.clock import Clock, SystemClock
from tarsy.kit.groups import for_each, single_errors
from tarsy.tools.executor import McpToolExecutor
from tarsy.tools.masked import MaskedTools
from tarsy.tools.pool import ConnectionPool
from tarsy.tools.server import ToolServer

# A server that was told to end gets this long, its process tree included, before its connection is cut.
CLOSE_SECONDS = 10.0


class McpToolServers:
    """The way to every configured MCP server; `env` fills in the templates of their configuration.

    With a pool, executions share their connections to servers whose configuration says so.
    """

    def __init__(self, *, env: Mapping[str, str] | None = None, clock: Clock | None = None, pool: ConnectionPool | None = None) -> None:
        # As it is when an execution opens its tools: a reload may have changed it.
        self._env = os.environ if env is None else env
        self._clock = clock or SystemClock()
        self._pool = pool

    def open(
        self, agent: ResolvedAgentConfig, servers: Mapping[str, ResolvedMcpServer], *, execution_id: str, track: str = ""
    ) -> AbstractAsyncContextManager[MaskedTools]:
        """The tools `agent` may use, connected on first use. A name without a configuration is an operator's mistake: KeyError."""
        del track  # recordings know an execution by it, servers do not
        return self.open_servers(
            {name: servers[name] for name in agent.mcp_servers},
            call_timeout=agent.tool_call_timeout,
            execution_id=execution_id,
            filters=agent.tool_filters,
        )

    @asynccontextmanager
    async def open_servers(
        self,
        configs: Mapping[str, ResolvedMcpServer],
        *,
        call_timeout: float,
        execution_id: str,
        filters: Mapping[str, tuple[str, ...]] | None = None,
    ) -> AsyncGenerator[MaskedTools]:
        """The tools of these servers, narrowed by `filters`."""
        allowed = {name: frozenset(tools) for name, tools in (filters or {}).items()}
        async with nullcontext(self._pool.tasks) if self._pool else _own_tasks() as tasks:
            servers = {
                name: ToolServer(
                    config,
                    allowed=allowed.get(name),
                    env=self._env,
                    execution_id=execution_id,
                    tasks=tasks,
                    clock=self._clock,
                    pool=self._pool,
                )
                for name, config in configs.items()
            }
            try:
                executor = McpToolExecutor(servers, call_timeout=call_timeout, clock=self._clock)
                yield MaskedTools(executor, {name: server.masker for name, server in servers.items()})
            finally:
                await close_all(list(servers.values()))


@asynccontextmanager
async def _own_tasks() -> AsyncGenerator[TaskGroup]:
    # What the owner raises must reach it as itself, not as one of a group.
    with single_errors():
        async with anyio.create_task_group() as tasks:
            yield tasks


async def close_all(servers: Sequence[ToolServer]) -> None:
    """End all connections at once, orderly while that is quick; not even a cancelled owner leaves one behind."""
    if not servers:
        return
    with anyio.move_on_after(CLOSE_SECONDS, shield=True):
        await for_each(servers, ToolServer.close, name=lambda server: f"close {server.name}")
    for server in servers:
        server.abort()
