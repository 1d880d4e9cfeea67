"""Gauges of this process and of the whole installation, and the response to a Prometheus scrape."""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from prometheus_client import REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead  # pyright: ignore[reportUnknownVariableType]

from tarsy.domain.overview import Overview
from tarsy.domain.period_budget import PeriodState
from tarsy.domain.server_health import ServerHealth, ServerState
from tarsy.telemetry.backlog import SHARED_DIRECTORY
from tarsy.telemetry.metrics import InstallationMetrics, Metrics


@dataclass(frozen=True, slots=True)
class PoolUse:
    """Connections of the database pool."""

    in_use: int
    idle: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessGauges:
    """What this process holds; asked for at each scrape."""

    metrics: Metrics
    version: str
    connections: Callable[[], int]
    pool: Callable[[], PoolUse]
    servers: Callable[[], Iterable[ServerHealth]]

    def refresh(self) -> None:
        process, pool = self.metrics.process, self.pool()
        process.build.labels(self.version).set(1)
        process.connections.set(self.connections())
        process.database.labels("in_use").set(pool.in_use)
        process.database.labels("idle").set(pool.idle)
        for server in self.servers():
            # One that was not asked yet is neither up nor down.
            if server.state is not ServerState.UNKNOWN:
                self.metrics.tools.server_up.labels(server.name).set(server.state is ServerState.CONNECTED)


class InstallationGauges:
    """The whole database, from the process that tells of it; the others show nothing."""

    def __init__(self, metrics: InstallationMetrics) -> None:
        self._metrics = metrics

    def show(self, overview: Overview | None) -> None:
        # Anew each time: a priority or a role that is gone must not keep its last value.
        for gauge in self._metrics.gauges:
            gauge.clear()
        if overview is not None:
            self._fill(overview)

    def _fill(self, overview: Overview) -> None:
        metrics = self._metrics
        for status, count in overview.sessions.items():
            metrics.sessions.labels(status.value).set(count)
        for severity, count in overview.incidents.items():
            metrics.incidents.labels(severity.value).set(count)
        for level in overview.queue:
            metrics.queue_depth.labels(str(level.priority)).set(level.depth)
            metrics.queue_age.labels(str(level.priority)).set(level.oldest_age_seconds)
        for role in overview.roles:
            metrics.processes.labels(role.role).set(role.processes)
            metrics.workers.labels(role.role).set(role.workers)
        for state in overview.budgets:
            self._fill_budget(state)

    def _fill_budget(self, state: PeriodState) -> None:
        of = state.budget
        labels = of.per.value, of.chain or "", of.alert_type or ""
        self._metrics.budget_limit.labels(*labels).set(float(of.usd))
        self._metrics.budget_spent.labels(*labels).set(float(state.spent))
        self._metrics.budget_reserved.labels(*labels).set(float(state.reserved))


class Exposition:
    """Figures for Prometheus. `refresh` sets the gauges that only this process can know."""

    def __init__(self, registry: CollectorRegistry, refresh: Callable[[], None]) -> None:
        self._registry = registry
        self._refresh = refresh

    def __call__(self) -> bytes:
        self._refresh()
        if SHARED_DIRECTORY in os.environ:
            merged = CollectorRegistry()
            MultiProcessCollector(merged)
            return generate_latest(merged)
        # Python's own figures and those of the process stand in the library's registry.
        return generate_latest(self._registry) + generate_latest(REGISTRY)


def process_ended(pid: int) -> None:
    """Forget the gauges of a process of this server; what it counted stays counted."""
    mark_process_dead(pid)
