"""Connections that outlive an execution: those that executions share, and those whose servers are still ending.

A connection is shared if the configuration or the server itself allows it and the server is not given the execution's id.
"""

from collections import defaultdict
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup

from tarsy.config.resolve.resolved import ResolvedMcpServer
from tarsy.kit.groups import single_errors
from tarsy.tools.breaker import Breaker
from tarsy.tools.connection import ToolServerConnection
from tarsy.tools.endpoint import Endpoint, uses_session_id

# How long a stopped server, its process tree included, may take to end before its connection is cut.
CLOSE_SECONDS = 10.0
# Servers whose end no execution waits for; above this, each execution waits for its own.
MAX_ENDING = 32


class ConnectionPool:
    """At most one live shared connection per server; made on first use, replaced when lost, ended with the pool."""

    def __init__(self, tasks: TaskGroup) -> None:
        # Runs all connections of this process.
        self.tasks = tasks
        self._breakers = defaultdict[str, Breaker](Breaker)
        self._stateless: set[str] = set()
        self._connections: dict[str, ToolServerConnection] = {}
        # No longer handed out, but still used by calls that are running.
        self._retired: list[ToolServerConnection] = []
        # Stopped by the executions that had them.
        self._ending: set[ToolServerConnection] = set()

    def end_in_background(self, connection: ToolServerConnection) -> bool:
        """Take over a connection that its execution has stopped; return False if the execution has to wait for its end."""
        self._ending = {one for one in self._ending if not one.ended.is_set()}
        if len(self._ending) >= MAX_ENDING:
            return False
        self._ending.add(connection)
        return True

    def renew(self) -> None:
        """Make new connections from now on: a server's token may have changed."""
        for connection in self._connections.values():
            connection.retire()
        self._retired = [one for one in (*self._retired, *self._connections.values()) if not one.ended.is_set()]
        self._connections.clear()
        self._breakers.clear()
        self._stateless.clear()

    def breaker(self, server: ResolvedMcpServer) -> Breaker:
        return self._breakers[_key(server)]

    def shares(self, server: ResolvedMcpServer) -> bool:
        """Return whether executions share their connection to `server`; never if the server can tell them apart."""
        wanted = server.transport.shared_connection or _key(server) in self._stateless
        return wanted and not uses_session_id(server.transport)

    def mark_stateless(self, server: ResolvedMcpServer, *, stateless: bool = True) -> None:
        """Remember whether the server keeps nothing between two requests; another version of it may."""
        if stateless:
            self._stateless.add(_key(server))
        else:
            self._stateless.discard(_key(server))

    async def connection(
        self, server: ResolvedMcpServer, endpoint: Endpoint, make: Callable[[], ToolServerConnection]
    ) -> ToolServerConnection:
        """Return the live connection to `server` at `endpoint`, or a new one, which may have failed."""
        # An execution that began before a reload has the token of that time.
        key = f"{_key(server)} {endpoint}"
        connection = self._connections.get(key)
        if connection is None or connection.ended.is_set() or (connection.ready.is_set() and not connection.is_alive):
            connection = make()
            self._connections[key] = connection
            self.tasks.start_soon(connection.run, name=f"shared tool server {server.name}")
        await connection.ready.wait()
        return connection

    async def close(self) -> None:
        with anyio.CancelScope(shield=True):
            connections = [*self._connections.values(), *self._retired, *self._ending]
            for connection in connections:
                connection.stop()
            with anyio.move_on_after(CLOSE_SECONDS):
                for connection in connections:
                    await connection.ended.wait()
            for connection in connections:
                connection.abort()


def _key(server: ResolvedMcpServer) -> str:
    """Return the configuration itself as key: sessions may run with different snapshots of it."""
    return f"{server.name} {server.transport.model_dump_json()}"


@asynccontextmanager
async def connection_pool() -> AsyncGenerator[ConnectionPool]:
    """Open a pool for the life of a process."""
    # An error of the owner must reach it as itself, not in a group.
    with single_errors():
        async with anyio.create_task_group() as tasks:
            pool = ConnectionPool(tasks)
            try:
                yield pool
            finally:
                await pool.close()
