"""Executions that share connections, and those that must not."""

import anyio

from contract.tools.http_fault_server import HttpFault, http_fault_server
from contract.tools.opening import fault, opened, server
from tarsy.config.resolved import ResolvedTransport
from tarsy.tools.pool import ConnectionPool, connection_pool, may_share


def handshakes(remote: HttpFault) -> int:
    """Requests without a session are the ones that open one."""
    return sum(method == "POST" and "mcp-session-id" not in headers for method, _, headers in remote.requests)


async def use(remote: HttpFault, pool: ConnectionPool, text: str) -> None:
    config = server("remote", ResolvedTransport(type="http", url=remote.url))
    async with opened(config, pool=pool) as tools:
        assert (await tools.call("remote.echo", text)).content == text


async def test_executions_share_one_connection_and_it_outlives_them() -> None:
    async with http_fault_server() as remote, connection_pool() as pool:
        async with anyio.create_task_group() as tasks:
            for number in range(5):
                tasks.start_soon(use, remote, pool, f"number {number}")
        await use(remote, pool, "later")
        assert handshakes(remote) == 1
        assert len(remote.sessions) == 1


async def test_a_shared_connection_that_is_lost_is_replaced_for_all() -> None:
    async with http_fault_server() as remote, connection_pool() as pool:
        await use(remote, pool, "before")
        remote.sessions.clear()
        async with anyio.create_task_group() as tasks:
            for number in range(3):
                tasks.start_soon(use, remote, pool, f"number {number}")
        assert handshakes(remote) == 2


async def test_a_server_that_was_down_is_tried_again_by_the_next_execution() -> None:
    async with http_fault_server() as remote, connection_pool() as pool:
        remote.refuse_all_with = 503
        config = server("remote", ResolvedTransport(type="http", url=remote.url))
        async with opened(config, pool=pool) as tools:
            assert (await tools.list()).warnings
        remote.refuse_all_with = None
        await use(remote, pool, "back again")


def test_processes_and_sessions_that_can_be_told_apart_are_not_shared() -> None:
    assert not may_share(fault())
    marked = ResolvedTransport(type="http", url="http://x", custom_headers={"X-Execution": "{{.SESSION_ID}}"})
    assert not may_share(server("remote", marked))
    assert may_share(server("remote", ResolvedTransport(type="sse", url="http://x")))
