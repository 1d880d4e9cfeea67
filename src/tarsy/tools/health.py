"""Monitors the tool servers: each has a connection of its own, checked every 15 seconds."""

import itertools
from collections.abc import Mapping
from dataclasses import replace

import anyio
import structlog

from tarsy.config.resolve.resolved import ResolvedMcpServer
from tarsy.domain.tool import ServerHealth, ServerState
from tarsy.domain.tool_pin import ToolPin, pin_problem
from tarsy.kit.clock import SystemClock
from tarsy.kit.text import clip
from tarsy.tools.executor import McpToolExecutor, close_all, probe
from tarsy.tools.failures import ToolServerError
from tarsy.tools.server import ReadPin, ToolServer

log = structlog.get_logger(__name__)

# Often enough for a person who reloads the page, seldom enough to be no load.
INTERVAL_SECONDS = 15.0
# Tools change seldom: once a minute is enough.
CHECKS_PER_LISTING = 4
# A server that takes longer for a ping is of no use to an agent.
PING_SECONDS = 10.0
PROBE_SECONDS = 30.0
# Of what a server answers to a probe.
MAX_PROBE_MESSAGE = 1_000
# Sent to servers in place of an execution's id.
MONITOR_ID = "health-monitor"


class HealthMonitor:
    """Keeps a report on every server; `run` does the checks."""

    def __init__(
        self,
        servers: Mapping[str, ResolvedMcpServer],
        *,
        env: Mapping[str, str],
        interval: float = INTERVAL_SECONDS,
        read_pin: ReadPin | None = None,
    ) -> None:
        self._configs: Mapping[str, ResolvedMcpServer] = {}
        self._env = env
        self._clock = SystemClock()
        self._interval = interval
        self._read_pin = read_pin
        self._reports: dict[str, ServerHealth] = {}
        self._changed = anyio.Event()
        self.watch(servers)

    def watch(self, servers: Mapping[str, ResolvedMcpServer]) -> None:
        """Monitor these servers from now on; the reports of servers with an unchanged configuration stay."""
        unchanged = {name for name, config in servers.items() if self._configs.get(name) == config}
        self._reports = {
            name: self._reports[name]
            if name in unchanged
            else ServerHealth(name=name, transport=config.transport.type, pin=config.pin, named_tools=config.tools)
            for name, config in servers.items()
        }
        self._configs = servers
        self._changed.set()

    @property
    def reports(self) -> tuple[ServerHealth, ...]:
        return tuple(self._reports.values())

    @property
    def warnings(self) -> tuple[ServerHealth, ...]:
        """The servers that an operator should check; `error` has the reason."""
        return tuple(report for report in self.reports if report.state is ServerState.FAILED)

    def known_tools(self, server: str) -> frozenset[str] | None:
        """Return the bare names of the tools that a server had when it was last connected, or None before its first connection."""
        report = self._reports.get(server)
        if report is None or (not report.tools and report.state is not ServerState.CONNECTED):
            return None
        return frozenset(tool.name.removeprefix(f"{server}.") for tool in report.tools)

    async def run(self) -> None:
        """Monitor until cancelled; after a call of `watch`, start again with its servers."""
        while True:
            self._changed = anyio.Event()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._watch_all, name="watch all")
                await self._changed.wait()
                tasks.cancel_scope.cancel()

    async def _watch_all(self) -> None:
        async with anyio.create_task_group() as tasks:
            servers = [
                ToolServer(config, allowed=None, env=self._env, execution_id=MONITOR_ID, tasks=tasks) for config in self._configs.values()
            ]
            try:
                async with anyio.create_task_group() as watchers:
                    for server in servers:
                        watchers.start_soon(self._watch, server, name=f"watch {server.name}")
            finally:
                await close_all(servers)

    async def _watch(self, server: ToolServer) -> None:
        executor = McpToolExecutor({server.name: server}, call_timeout=PROBE_SECONDS)
        # The listing after which the server was probed last, and why the probe failed.
        probed, probe_problem = None, None
        # The listing that was compared with the accepted tools last, and the difference.
        compared, difference = None, None
        for check in itertools.count(1):
            try:
                problem = await _check(server)
                if problem is None and server.listing is not probed and server.name in self._configs:
                    probed, probe_problem = server.listing, await probe(executor, self._configs[server.name])
                    probe_problem = probe_problem and server.masker.mask(clip(probe_problem, MAX_PROBE_MESSAGE))
                if self._read_pin is not None and server.fingerprints and server.listing is not compared:
                    compared, pin = server.listing, await self._read_pin(server.name)
                    difference = self._warn_of_changes(server, pin, known=difference)
                self._report(server, problem or probe_problem)
            except Exception as error:  # a boundary: an error of ours concerns the check of this server alone
                log.exception("tool_server.check_broke", server=server.name)
                self._report(server, f"The check of tool server '{server.name}' broke ({type(error).__name__}); the log has more.")
            await anyio.sleep(self._interval)
            if check % CHECKS_PER_LISTING == 0:
                # Not every server reports when its tools change.
                server.forget_listing()

    def _report(self, server: ToolServer, problem: str | None) -> None:
        before = self._reports.get(server.name)
        if before is None:
            # It was removed while the check ran.
            return
        state, now = ServerState.CONNECTED if problem is None else ServerState.FAILED, self._clock.now()
        reasons = server.listing.needs_approval if server.listing and problem is None else before.needs_approval
        self._reports[server.name] = replace(
            before,
            state=state,
            error=problem,
            checked_at=now,
            since=before.since if before.state is state else now,
            # A failed server keeps the tools it had.
            tools=server.tools or before.tools,
            needs_approval=reasons,
            fingerprints=server.fingerprints or before.fingerprints,
        )
        if before.state is not state:
            log.info("tool_server.state", server=server.name, state=state, problem=problem)

    def _warn_of_changes(self, server: ToolServer, pin: ToolPin | None, *, known: str | None) -> str | None:
        """Log how the tools differ from the accepted ones, unless that is `known`; return it."""
        report = self._reports.get(server.name)
        if report is None:
            return known
        difference = pin_problem(server.name, report.pin, pin, server.fingerprints, named=report.named_tools)
        if difference is not None and difference != known:
            log.warning("tool_server.tools_changed", server=server.name, problem=server.masker.mask(difference))
        return difference


async def _check(server: ToolServer) -> str | None:
    """Return the problem of a server, masked, or None if it answers and its tools are known."""
    if server.problem is not None:
        # It never connected or went away: listing its tools again connects again.
        server.forget_listing()
    await server.ensure_listed()
    if server.problem is not None:
        return server.problem
    try:
        with anyio.fail_after(PING_SECONDS):
            await server.ping()
    except TimeoutError:
        return f"Tool server '{server.name}' does not answer within {PING_SECONDS:.0f} s."
    except ToolServerError as error:
        return server.masker.mask(str(error))
    return None
