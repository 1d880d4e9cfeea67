"""Gauges of this process and of the whole installation, and the response to a Prometheus scrape."""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from prometheus_client import REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from tarsy.domain.diagnosis import Overview
from tarsy.domain.tool import ServerHealth, ServerState
from tarsy.telemetry.metrics import InstallationMetrics, Metrics

# Processes that have this variable in common write their values to that directory, and the process that is scraped sums them up.
SHARED_DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessGauges:
    """Reads the state of this process at each scrape."""

    metrics: Metrics
    version: str
    connections: Callable[[], int]
    # The connections of the database pool: in use, idle.
    pool: Callable[[], tuple[int, int]]
    servers: Callable[[], Iterable[ServerHealth]]

    def scrape(self) -> bytes:
        """Set the gauges of this process, and return all metrics in the format of Prometheus."""
        process, (in_use, idle) = self.metrics.process, self.pool()
        process.build.labels(self.version).set(1)
        process.connections.set(self.connections())
        process.database.labels("in_use").set(in_use)
        process.database.labels("idle").set(idle)
        # A server that a reload has removed must not keep its last value.
        self.metrics.tools.server_up.clear()
        for server in self.servers():
            # A server that was not checked yet is neither up nor down.
            if server.state is not ServerState.UNKNOWN:
                self.metrics.tools.server_up.labels(server.name).set(server.state is ServerState.CONNECTED)
        return exposition(self.metrics.registry)


def show_installation(metrics: InstallationMetrics, overview: Overview | None) -> None:
    """Set the gauges of the whole installation, or clear them: only the process that has an overview reports them."""
    # Cleared each time: a priority or a role that no longer exists must not keep its last value.
    for gauge in metrics.label_names:
        gauge.clear()
    if overview is None:
        return
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
        labels = state.budget.per.value, state.budget.chain or "", state.budget.alert_type or ""
        metrics.budget_limit.labels(*labels).set(float(state.budget.usd))
        metrics.budget_spent.labels(*labels).set(float(state.spent))
        metrics.budget_reserved.labels(*labels).set(float(state.reserved))


def exposition(registry: CollectorRegistry) -> bytes:
    """Return the metrics in the format of Prometheus, those of all processes if they share a directory."""
    if SHARED_DIRECTORY in os.environ:
        merged = CollectorRegistry()
        MultiProcessCollector(merged)
        return generate_latest(merged)
    # The library's own registry has the figures of Python and of the operating system's process.
    return generate_latest(registry) + generate_latest(REGISTRY)
