"""The monitor: what it sees, and that it sees it change."""

import os
from contextlib import suppress

import anyio
import psutil
from structlog.testing import capture_logs

from support.http_fault_server import http_fault_server
from support.opening import fault, opened, server, stdio
from support.own_processes import children
from tarsy.config.resolve.resolved import ResolvedProbe, ResolvedTransport
from tarsy.domain.tool import ApprovalPolicy, ServerHealth, ServerState
from tarsy.domain.tool_pin import ToolPin
from tarsy.setup.checks import FindingStatus, check_server
from tarsy.tools.health import HealthMonitor


async def until(monitor: HealthMonitor, name: str, state: ServerState) -> ServerHealth:
    with anyio.fail_after(60):
        while True:
            report = next(report for report in monitor.reports if report.name == name)
            if report.state is state:
                return report
            await anyio.sleep(0.02)


async def test_each_server_is_reported_with_its_tools_or_its_problem() -> None:
    servers = {each.name: each for each in (fault(), stdio("missing", "no-such-program"))}
    monitor = HealthMonitor(servers, env=dict(os.environ), interval=0.05)
    assert [report.state for report in monitor.reports] == [ServerState.UNKNOWN, ServerState.UNKNOWN]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(monitor.run)
        good = await until(monitor, "fault", ServerState.CONNECTED)
        assert "fault.echo" in [tool.name for tool in good.tools]
        assert good.transport == "stdio"
        bad = await until(monitor, "missing", ServerState.FAILED)
        assert bad.error is not None
        assert "no-such-program" in bad.error
        assert [warning.name for warning in monitor.warnings] == ["missing"]
        tasks.cancel_scope.cancel()
    assert children() == []


async def test_tools_whose_calls_need_an_approval_say_so_and_are_listed_with_the_reason() -> None:
    reason = "it declares nothing, and its name does not begin with a reading verb"
    own = {"echo": ApprovalPolicy.ALWAYS, "hang": ApprovalPolicy.NEVER}
    guarded = fault().model_copy(update={"approval": ApprovalPolicy.DESTRUCTIVE, "tool_approval": own})
    monitor = HealthMonitor({"fault": guarded}, env=dict(os.environ), interval=0.05)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(monitor.run)
        report = await until(monitor, "fault", ServerState.CONNECTED)
        tools = {tool.name: tool for tool in report.tools}
        assert [tools[f"fault.{name}"].needs_approval for name in ("crash", "echo", "hang")] == [True, True, False]
        assert "waits until a person has approved it" in tools["fault.crash"].description
        assert (report.needs_approval["crash"], "hang" in report.needs_approval) == (reason, False)
        tasks.cancel_scope.cancel()
    finding = (await check_server(guarded, os.environ)).finding
    assert f"\ncrash: {reason}" in finding.text


async def test_a_server_that_goes_and_comes_back_is_seen_going_and_coming_back() -> None:
    async with http_fault_server() as remote:
        config = server("remote", ResolvedTransport(type="http", url=remote.url))
        monitor = HealthMonitor({"remote": config}, env={}, interval=0.02)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(monitor.run)
            await until(monitor, "remote", ServerState.CONNECTED)
            remote.refuse_all_with = 503
            failed = await until(monitor, "remote", ServerState.FAILED)
            assert failed.error is not None
            assert "HTTP 503" in failed.error
            # What it offered is still known.
            assert failed.tools
            remote.refuse_all_with = None
            await until(monitor, "remote", ServerState.CONNECTED)
            assert monitor.warnings == ()
            tasks.cancel_scope.cancel()


async def test_a_probe_finds_a_token_that_is_needed_only_for_calls() -> None:
    async with http_fault_server() as remote:
        transport = ResolvedTransport(type="http", url=remote.url)
        servers = {
            name: server(name, transport).model_copy(update={"probe": ResolvedProbe(tool=tool, arguments={"text": "x"})})
            for name, tool in (("good", "echo"), ("bad", "status_401"), ("gone", "no_such_tool"))
        }
        monitor = HealthMonitor(servers, env={}, interval=0.02)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(monitor.run)
            await until(monitor, "good", ServerState.CONNECTED)
            bad, gone = [await until(monitor, name, ServerState.FAILED) for name in ("bad", "gone")]
            assert bad.error is not None
            assert (
                "connected, but the probe bad.status_401 failed: Tool server 'bad' does not accept our credentials (HTTP 401" in bad.error
            )
            assert "hunter2" not in bad.error
            assert gone.error is not None
            assert "'gone.no_such_tool' is not a tool that may be used" in gone.error
            tasks.cancel_scope.cancel()
        good, bad = [(await check_server(servers[name], {})).finding for name in ("good", "bad")]
    assert (good.status, bad.status) == (FindingStatus.OK, FindingStatus.FAIL)
    assert "does not accept our credentials (HTTP 401" in bad.text


async def test_the_names_of_a_servers_tools_are_known_once_it_has_been_seen() -> None:
    servers = {each.name: each for each in (fault(tools=("echo", "hang")), stdio("missing", "no-such-program"))}
    monitor = HealthMonitor(servers, env=dict(os.environ), interval=0.05)
    assert monitor.known_tools("fault") is None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(monitor.run)
        await until(monitor, "fault", ServerState.CONNECTED)
        await until(monitor, "missing", ServerState.FAILED)
        tasks.cancel_scope.cancel()
    assert monitor.known_tools("fault") == {"echo", "hang"}
    assert monitor.known_tools("missing") is None
    assert monitor.known_tools("never heard of") is None


async def test_tools_that_change_without_notice_are_seen_all_the_same() -> None:
    async with http_fault_server() as remote:
        config = server("remote", ResolvedTransport(type="http", url=remote.url))
        monitor = HealthMonitor({"remote": config}, env={}, interval=0.02)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(monitor.run)
            await until(monitor, "remote", ServerState.CONNECTED)
            remote.more_tools.append("brand_new")
            with anyio.fail_after(60):
                while "brand_new" not in (monitor.known_tools("remote") or ()):  # noqa: ASYNC110 - the monitor has no event for us
                    await anyio.sleep(0.02)
            tasks.cancel_scope.cancel()


async def test_a_server_with_odd_tools_is_monitored_and_used_like_any_other() -> None:
    async with http_fault_server() as remote:
        remote.odd_tools += [
            {"name": "large", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}, "n": {"maximum": 2**70}}}},
            {"name": "blank", "description": " " * 20_000 + "x", "inputSchema": {"type": "object"}},
        ]
        config = server("remote", ResolvedTransport(type="http", url=remote.url))
        monitor = HealthMonitor({"remote": config}, env={}, interval=0.02)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(monitor.run)
            await until(monitor, "remote", ServerState.CONNECTED)
            tasks.cancel_scope.cancel()
        assert (monitor.known_tools("remote") or frozenset()) >= {"large", "blank", "echo"}
        async with opened(config) as tools:
            assert (await tools.call("remote.large", '{"text": "x", "n": 1180591620717411303424}')).content == "x"


async def test_a_check_that_breaks_is_logged_and_reported_and_the_next_one_is_made() -> None:
    async def read_pin(name: str) -> ToolPin | None:
        if name == "bad" and not mended.is_set():
            raise RuntimeError("out of order")
        return None

    mended = anyio.Event()
    async with http_fault_server() as remote:
        servers = {name: server(name, ResolvedTransport(type="http", url=remote.url)) for name in ("good", "bad")}
        monitor = HealthMonitor(servers, env={}, interval=0.02, read_pin=read_pin)
        async with anyio.create_task_group() as tasks:
            with capture_logs() as logs:
                tasks.start_soon(monitor.run)
                await until(monitor, "good", ServerState.CONNECTED)
                bad = await until(monitor, "bad", ServerState.FAILED)
            assert bad.error == "The check of tool server 'bad' broke (RuntimeError); the log has more."
            assert {entry["server"] for entry in logs if entry["event"] == "tool_server.check_broke"} == {"bad"}
            mended.set()
            await until(monitor, "bad", ServerState.CONNECTED)
            tasks.cancel_scope.cancel()


async def test_a_crashed_server_is_started_again() -> None:
    monitor = HealthMonitor({"fault": fault()}, env=dict(os.environ), interval=0.02)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(monitor.run)
        await until(monitor, "fault", ServerState.CONNECTED)
        for child in children(recursive=True):
            # The end of a supervisor is the end of what is below it.
            with suppress(psutil.NoSuchProcess):
                child.kill()
        with anyio.fail_after(60):
            while not children(recursive=True):  # noqa: ASYNC110 - a process has no event for us
                await anyio.sleep(0.02)
        await until(monitor, "fault", ServerState.CONNECTED)
        tasks.cancel_scope.cancel()


async def test_a_server_that_is_configured_anew_is_watched_and_what_is_known_of_the_others_stays() -> None:
    monitor = HealthMonitor({"fault": fault(), "gone": fault(name="gone")}, env=dict(os.environ), interval=0.05)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(monitor.run)
        seen = await until(monitor, "fault", ServerState.CONNECTED)
        monitor.watch({"fault": fault(), "missing": stdio("missing", "no-such-program")})
        assert [report.name for report in monitor.reports] == ["fault", "missing"]
        assert monitor.reports[0].since == seen.since
        await until(monitor, "missing", ServerState.FAILED)
        await until(monitor, "fault", ServerState.CONNECTED)
        tasks.cancel_scope.cancel()
