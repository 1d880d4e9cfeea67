"""When an execution's connections are made, how often, and for how long they are waited for."""

import anyio
import pytest

from support.http_fault_server import http_fault_server
from support.opening import fault, opened, server
from support.own_processes import children
from tarsy.config.resolve.resolved import ResolvedTransport
from tarsy.tools import connection, executor


async def test_nothing_is_started_before_it_is_needed() -> None:
    async with http_fault_server() as remote:
        config = server("remote", ResolvedTransport(type="http", url=remote.url))
        async with opened(fault(), config) as tools:
            assert children() == []
            assert remote.requests == []
            # A call needs its own server only.
            assert (await tools.call("remote.echo", "hello")).content == "hello"
            assert children() == []
            assert remote.guests == 1


async def test_all_servers_of_an_execution_are_connected_at_the_same_time() -> None:
    names = ("one", "two", "three")
    async with http_fault_server() as remote:
        # No connection is accepted before all three have been requested.
        remote.expected_guests = len(names)
        configs = [server(name, ResolvedTransport(type="http", url=remote.url)) for name in names]
        with anyio.fail_after(60):
            async with opened(*configs) as tools:
                catalog = await tools.list()
        assert catalog.warnings == ()
        assert {listing.server for listing in catalog.listings} == set(names)


async def test_a_server_is_connected_once_however_many_calls_come_at_once() -> None:
    async with http_fault_server() as remote:
        config = server("remote", ResolvedTransport(type="http", url=remote.url))
        async with opened(config) as tools:
            async with anyio.create_task_group() as tasks:
                for number in range(10):
                    tasks.start_soon(tools.call, "remote.echo", f"number {number}")
            await tools.list()
            assert remote.calls == ["echo"] * 10
        assert remote.guests == 1
        assert [method for method, _, _ in remote.requests].count("DELETE") == 1


async def test_a_server_that_does_not_come_up_in_time_is_given_up_with_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    assert connection.INITIALISE_SECONDS == 30.0
    async with opened(fault("mute"), fault(name="other")) as tools:
        # Connects to the other one, for which the time would be too short on a busy machine.
        await tools.call("other.echo", "x")
        monkeypatch.setattr(connection, "INITIALISE_SECONDS", 0.5)
        with anyio.fail_after(60):
            catalog = await tools.list()
        (warning,) = catalog.warnings
        assert warning.startswith("Tool server 'fault' is not available: did not answer within")
        assert catalog.find("other.echo") is not None
    assert children() == []


async def test_a_lost_server_that_ignores_our_goodbye_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    assert connection.END_SECONDS == 10.0
    monkeypatch.setattr(connection, "END_SECONDS", 0.5)
    # If it were waited for, then for longer than this test lasts.
    monkeypatch.setattr(executor, "CLOSE_SECONDS", 600.0)
    async with http_fault_server() as remote:
        remote.ignores_farewells = True
        with anyio.fail_after(60):
            async with opened(server("remote", ResolvedTransport(type="http", url=remote.url))) as tools:
                # The session is forgotten, so that the connection is replaced by another.
                assert (await tools.call("remote.forget_session")).content == "done"
        assert remote.guests == 2
