"""Executions that share connections, and those that must not."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import anyio
import pytest

from support.http_fault_server import HttpFault, http_fault_server
from support.opening import fault, opened, server, stdio
from support.own_processes import children
from support.paths import FAULT_SERVER
from tarsy.config.resolve.resolved import ResolvedMcpServer, ResolvedTransport
from tarsy.tools import pool as pool_module
from tarsy.tools.pool import ConnectionPool, connection_pool


def handshakes(remote: HttpFault) -> int:
    """Requests without a session are the ones that open one."""
    return sum(method == "POST" and "mcp-session-id" not in headers for method, _, headers in remote.requests)


def farewells(remote: HttpFault) -> int:
    return sum(method == "DELETE" for method, _, _ in remote.requests)


def remote_server(remote: HttpFault, *, shared: bool = True, headers: Mapping[str, str] | None = None) -> ResolvedMcpServer:
    return server("remote", ResolvedTransport(type="http", url=remote.url, shared_connection=shared, custom_headers=headers or {}))


async def use(config: ResolvedMcpServer, pool: ConnectionPool, text: str) -> None:
    async with opened(config, pool=pool) as tools:
        assert (await tools.call("remote.echo", text)).content == text


async def test_executions_share_one_connection_that_outlives_them_and_ends_with_the_pool() -> None:
    async with http_fault_server() as remote:
        async with connection_pool() as pool:
            async with anyio.create_task_group() as tasks:
                for number in range(5):
                    tasks.start_soon(use, remote_server(remote), pool, f"number {number}")
            await use(remote_server(remote), pool, "later")
            assert handshakes(remote) == 1
            assert len(remote.sessions) == 1
            assert farewells(remote) == 0
        assert farewells(remote) == 1


async def test_a_connection_is_not_shared_unless_the_configuration_asks_for_it() -> None:
    async with http_fault_server() as remote:
        async with connection_pool() as pool:
            await use(remote_server(remote, shared=False), pool, "one")
            await use(remote_server(remote, shared=False), pool, "two")
        assert handshakes(remote) == farewells(remote) == 2


async def test_a_server_that_gets_the_execution_is_never_shared() -> None:
    async with http_fault_server() as remote:
        config = remote_server(remote, headers={"X-Execution": "{{.SESSION_ID}}"})
        async with connection_pool() as pool:
            await use(config, pool, "one")
            await use(config, pool, "two")
        assert handshakes(remote) == farewells(remote) == 2
        assert {headers["x-execution"] for _, _, headers in remote.requests} == {"execution-7"}


async def test_a_shared_connection_that_is_lost_is_replaced_for_all() -> None:
    async with http_fault_server() as remote, connection_pool() as pool:
        await use(remote_server(remote), pool, "before")
        remote.sessions.clear()
        async with anyio.create_task_group() as tasks:
            for number in range(3):
                tasks.start_soon(use, remote_server(remote), pool, f"number {number}")
        assert handshakes(remote) == 2


async def test_a_shared_connection_that_breaks_in_the_middle_of_a_call_is_replaced_for_the_next() -> None:
    async with http_fault_server() as remote, connection_pool() as pool:
        async with opened(remote_server(remote), pool=pool) as tools:
            assert (await tools.call("remote.forget_session")).content == "done"
            assert (await tools.call("remote.echo", "again")).content == "again"
        await use(remote_server(remote), pool, "and others")
        assert handshakes(remote) == 2


async def test_a_server_that_was_down_is_tried_again_by_the_next_execution() -> None:
    async with http_fault_server() as remote, connection_pool() as pool:
        remote.refuse_all_with = 503
        async with opened(remote_server(remote), pool=pool) as tools:
            assert (await tools.list()).warnings
        remote.refuse_all_with = None
        await use(remote_server(remote), pool, "back again")


async def test_a_server_that_fails_three_times_in_a_row_is_not_connected_to_until_the_configuration_is_renewed() -> None:
    async with http_fault_server() as remote, connection_pool() as pool:
        remote.refuse_all_with = 503
        warnings: list[str] = []
        for _ in range(4):
            async with opened(remote_server(remote, shared=False), pool=pool) as tools:
                warnings += (await tools.list()).warnings
        asked = len(remote.requests)
        remote.refuse_all_with = None
        pool.renew()
        await use(remote_server(remote, shared=False), pool, "back again")
    assert asked == 3
    assert "HTTP 503" in warnings[3]
    assert "It could not be reached 3 times in a row and is tried again in " in warnings[3]


async def test_what_the_owner_of_a_pool_raises_reaches_it_as_itself() -> None:
    with pytest.raises(KeyError):
        async with connection_pool():
            raise KeyError("mine")


def shared_fault() -> ResolvedMcpServer:
    return server("fault", fault().transport.model_copy(update={"shared_connection": True}))


async def pid_of(config: ResolvedMcpServer, pool: ConnectionPool) -> str:
    async with opened(config, pool=pool) as tools:
        return (await tools.call("fault.pid")).content


async def test_a_stdio_server_has_a_process_for_each_execution_unless_the_configuration_asks_for_one() -> None:
    async with connection_pool() as pool:
        assert await pid_of(fault(), pool) != await pid_of(fault(), pool)
        assert await pid_of(shared_fault(), pool) == await pid_of(shared_fault(), pool)
    assert children() == []


async def test_an_execution_does_not_wait_for_its_server_to_end_and_the_pool_does() -> None:
    async with connection_pool() as pool:
        async with opened(fault("stubborn"), pool=pool) as tools:
            pid = int((await tools.call("fault.pid")).content)
        # It ignores every request to end, and is killed in time.
        os.kill(pid, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert children() == []


async def test_an_execution_waits_for_its_server_while_many_others_are_ending(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "MAX_ENDING", 0)
    async with connection_pool() as pool:
        async with opened(fault("stubborn"), pool=pool) as tools:
            pid = int((await tools.call("fault.pid")).content)
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


async def test_a_shared_stdio_server_that_crashes_is_started_again_for_the_next_execution() -> None:
    config = shared_fault()
    async with connection_pool() as pool:
        first = await pid_of(config, pool)
        async with opened(config, pool=pool) as tools:
            assert (await tools.call("fault.crash")).is_error
        assert await pid_of(config, pool) != first


async def test_a_server_that_says_it_keeps_no_state_is_shared_from_then_on() -> None:
    async with connection_pool() as pool:
        first = await pid_of(fault("stateless"), pool)
        second = await pid_of(fault("stateless"), pool)
        assert first != second
        assert await pid_of(fault("stateless"), pool) == second
    assert children() == []


async def test_a_stateless_server_that_keeps_state_after_a_restart_is_no_longer_shared(tmp_path: Path) -> None:
    mode = tmp_path / "mode"
    config = stdio("fault", "sh", "-c", f'exec {sys.executable} -S {FAULT_SERVER} "$(cat {mode})"')
    async with connection_pool() as pool:
        mode.write_text("stateless")
        await pid_of(config, pool)
        shared = await pid_of(config, pool)
        mode.write_text("")
        async with opened(config, pool=pool) as one, opened(config, pool=pool) as other:
            assert (await one.call("fault.pid")).content == (await other.call("fault.pid")).content == shared
            assert (await one.call("fault.crash")).is_error
            pids = [(await tools.call("fault.pid")).content for tools in (one, other)]
            pids.append(await pid_of(config, pool))
        assert len({shared, *pids}) == 4
    assert children() == []


async def test_after_a_renewal_a_stateless_server_is_shared_only_after_it_says_so_again() -> None:
    async with connection_pool() as pool:
        await pid_of(fault("stateless"), pool)
        shared = await pid_of(fault("stateless"), pool)
        pool.renew()
        new = [await pid_of(fault("stateless"), pool) for _ in range(3)]
    assert shared not in new
    assert new[0] != new[1] == new[2]


async def test_executions_that_a_server_can_tell_apart_share_nothing() -> None:
    marked = ResolvedTransport(type="http", url="http://x", custom_headers={"X-Execution": "{{.SESSION_ID}}"}, shared_connection=True)
    async with connection_pool() as pool:
        pool.mark_stateless(server("remote", marked))
        assert not pool.shares(server("remote", marked))
        assert not pool.shares(server("remote", ResolvedTransport(type="sse", url="http://x")))
        assert pool.shares(server("remote", ResolvedTransport(type="sse", url="http://x", shared_connection=True)))


async def test_after_a_renewal_the_old_connection_ends_and_its_executions_use_the_new_one() -> None:
    async with http_fault_server() as remote, connection_pool() as pool:
        async with opened(remote_server(remote), pool=pool) as tools:
            assert (await tools.call("remote.echo", "one")).content == "one"
            pool.renew()
            await use(remote_server(remote), pool, "two")
            with anyio.fail_after(60):
                while farewells(remote) == 0:  # noqa: ASYNC110 - the server has no event for us
                    await anyio.sleep(0.01)
            assert (await tools.call("remote.echo", "three")).content == "three"
        assert (handshakes(remote), farewells(remote)) == (2, 1)


async def handshake_begun(remote: HttpFault) -> None:
    with anyio.fail_after(60):
        while remote.guests == 0:
            await anyio.lowlevel.checkpoint()


async def test_a_connection_that_is_renewed_while_it_is_made_ends_though_its_execution_has_left() -> None:
    async with http_fault_server() as remote, connection_pool() as pool:
        # The handshake is answered when the test says so.
        remote.expected_guests = 2
        async with anyio.create_task_group() as executions:
            executions.start_soon(use, remote_server(remote), pool, "never sent")
            await handshake_begun(remote)
            pool.renew()
            executions.cancel_scope.cancel()
        remote.everybody.set()
        with anyio.fail_after(60):
            while farewells(remote) == 0:
                await anyio.lowlevel.checkpoint()
    assert remote.calls == []


async def test_an_execution_that_waits_for_a_connection_while_it_is_renewed_uses_the_next_one() -> None:
    async with http_fault_server() as remote, connection_pool() as pool:
        remote.expected_guests = 2
        async with anyio.create_task_group() as executions:
            executions.start_soon(use, remote_server(remote), pool, "sent once")
            await handshake_begun(remote)
            pool.renew()
            remote.everybody.set()
        assert (remote.calls, handshakes(remote)) == (["echo"], 2)


async def test_an_execution_from_before_a_renewal_does_not_pass_its_token_on() -> None:
    transport = ResolvedTransport.model_validate({"type": "http", "url": "{{.URL}}", "bearer_token": "{{.KEY}}", "shared_connection": True})
    async with http_fault_server() as remote, connection_pool() as pool:
        config = server("remote", transport)
        async with opened(config, env={"URL": remote.url, "KEY": "first-token"}, pool=pool) as tools:
            await tools.call("remote.echo", "one")
            pool.renew()
            await tools.call("remote.echo", "two")
            async with opened(config, env={"URL": remote.url, "KEY": "second-token"}, pool=pool) as others:
                await others.call("remote.echo", "three")
                assert remote.requests[-1][2]["authorization"] == "Bearer second-token"
