"""Connections that outlive an execution: those that executions share, and those whose servers are still ending.

Shared are connections to servers that are not told which execution asks, if the configuration or the server itself says so.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
from anyio.abc import TaskGroup

from tarsy.config.resolve.resolved import ResolvedMcpServer
from tarsy.kit.groups import single_errors
from tarsy.tools.endpoint import uses_session_id

if TYPE_CHECKING:
    from tarsy.tools.connection import Connection

# As long as an execution waits for its own connections.
CLOSE_SECONDS = 10.0
# Servers that may be ending while the executions that had them go on. Beyond it, an execution waits for its own.
MOST_LEAVING = 32


class ConnectionPool:
    """At most one live connection for each server; made on first use, replaced when lost, ended with the pool."""

    def __init__(self, tasks: TaskGroup) -> None:
        # Where all connections of this process run.
        self.tasks = tasks
        self._stateless: set[str] = set()
        self._lock = anyio.Lock()
        self._connections: dict[str, Connection] = {}
        # No longer given away, and still used by the executions that have them.
        self._retired: list[Connection] = []
        # Told to end by the execution that had them.
        self._leaving: set[Connection] = set()

    def takes_leave_of(self, connection: "Connection") -> bool:
        """Whether the execution that had `connection`, and has told it to end, need not see to that."""
        self._leaving = {one for one in self._leaving if not one.ended.is_set()}
        if len(self._leaving) >= MOST_LEAVING:
            return False
        self._leaving.add(connection)
        return True

    def renew(self) -> None:
        """Connect anew for whom comes next: a server's token may have changed."""
        self._retired += self._connections.values()
        self._connections.clear()

    def shares(self, server: ResolvedMcpServer) -> bool:
        """Whether executions share their connection. Not if the server can tell them apart, whatever was asked for."""
        asked_for = server.transport.shared_connection or _key(server) in self._stateless
        return asked_for and not uses_session_id(server.transport)

    def note_stateless(self, server: ResolvedMcpServer) -> None:
        """The server has said that it keeps nothing between two requests."""
        self._stateless.add(_key(server))

    async def connection(self, server: ResolvedMcpServer, make: "Callable[[], Connection]") -> "Connection":
        """The live connection to `server`, or a new one; it may have failed."""
        key = _key(server)
        async with self._lock:
            connection = self._connections.get(key)
            if connection is None or connection.ended.is_set() or (connection.ready.is_set() and not connection.is_alive):
                connection = make()
                self._connections[key] = connection
                self.tasks.start_soon(connection.run, name=f"shared tool server {server.name}")
        await connection.ready.wait()
        return connection

    async def close(self) -> None:
        with anyio.CancelScope(shield=True):
            connections = [*self._connections.values(), *self._retired, *self._leaving]
            for connection in connections:
                connection.stop()
            with anyio.move_on_after(CLOSE_SECONDS):
                for connection in connections:
                    await connection.ended.wait()
            for connection in connections:
                connection.abort()


def _key(server: ResolvedMcpServer) -> str:
    """The configuration itself: sessions may run with different snapshots of it."""
    return f"{server.name} {server.transport.model_dump_json()}"


@asynccontextmanager
async def connection_pool() -> AsyncGenerator[ConnectionPool]:
    """A pool for the life of the process that uses it."""
    # What the owner raises must reach it as itself, not as one of a group.
    with single_errors():
        async with anyio.create_task_group() as tasks:
            pool = ConnectionPool(tasks)
            try:
                yield pool
            finally:
                await pool.close()
