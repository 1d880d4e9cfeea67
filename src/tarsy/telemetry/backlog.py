"""What has happened and is not counted yet: counting many at a time costs a fraction of counting each between two waits."""

import os
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, TypeVarTuple

from prometheus_client import Metric
from prometheus_client.registry import Collector

SHARED_DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"
# Some ten iterations: enough to count them in one go, few enough to be kept until then.
MOST_WAITING = 32

Ts = TypeVarTuple("Ts")


class Backlog(Collector):
    """Counts when it is full and before each scrape, in whose registry it stands first.

    Processes that share a directory answer for each other: there all is counted at once.
    """

    def __init__(self) -> None:
        self._most = 1 if SHARED_DIRECTORY in os.environ else MOST_WAITING
        self._waiting: deque[tuple[Callable[..., None], tuple[Any, ...]]] = deque()

    def add(self, count: Callable[[*Ts], None], *what: *Ts) -> None:
        self._waiting.append((count, what))
        if len(self._waiting) >= self._most:
            self.work_off()

    def work_off(self) -> None:
        """Only what is there now: more may come meanwhile."""
        for _ in range(len(self._waiting)):
            count, what = self._waiting.popleft()
            count(*what)

    def collect(self) -> Iterable[Metric]:
        """Tell nothing itself: the metrics that are asked next do."""
        self.work_off()
        return ()
