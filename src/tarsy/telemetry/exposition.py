"""What a scrape is answered with.

Where the processes of one server share a directory (PROMETHEUS_MULTIPROC_DIR, set before they start), each writes its values there and
whichever answers sums them up. Whatever starts the processes empties the directory first, and tells `process_ended` of those that end.
"""

import os
from collections.abc import Callable

from prometheus_client import REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead  # pyright: ignore[reportUnknownVariableType]

from tarsy.telemetry.backlog import SHARED_DIRECTORY


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
