"""Connections that executions share: to servers over HTTP whose configuration asks for it and that cannot tell executions apart."""

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


def may_share(server: ResolvedMcpServer) -> bool:
    """A stdio server belongs to its execution, and so does a session the server can tell apart from others, whatever was asked for."""
    transport = server.transport
    return transport.shared_connection and transport.type != "stdio" and not uses_session_id(transport)


class ConnectionPool:
    """At most one live connection for each server; made on first use, replaced when lost, ended with the pool."""

    def __init__(self, tasks: TaskGroup) -> None:
        self._tasks = tasks
        self._lock = anyio.Lock()
        self._connections: dict[str, Connection] = {}

    async def connection(self, server: ResolvedMcpServer, make: "Callable[[], Connection]") -> "Connection":
        """The live connection to `server`, or a new one; it may have failed."""
        # The configuration itself is the key: sessions may run with different snapshots of it.
        key = f"{server.name} {server.transport.model_dump_json()}"
        async with self._lock:
            connection = self._connections.get(key)
            if connection is None or connection.ended.is_set() or (connection.ready.is_set() and not connection.is_alive):
                connection = make()
                self._connections[key] = connection
                self._tasks.start_soon(connection.run, name=f"shared tool server {server.name}")
        await connection.ready.wait()
        return connection

    async def close(self) -> None:
        with anyio.CancelScope(shield=True):
            connections = list(self._connections.values())
            for connection in connections:
                connection.stop()
            with anyio.move_on_after(CLOSE_SECONDS):
                for connection in connections:
                    await connection.ended.wait()
            for connection in connections:
                connection.abort()


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
