"""A worker whose process dies before or in a model call. It is here because a forked process can import it."""

import os
import signal
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from support.agent_scenario import Scenario
from support.replica import start_process
from support.runaway import Runaway, endless_tools, priced_chain, runaway, with_ceiling
from tarsy.db.spending import PostgresSpendingStore
from tarsy.domain.budget import Ceiling, Reservation
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.llm import Chunk, GenerateInput

WORKER_SECONDS = 60


@dataclass
class Deadly(Runaway):
    """Its process dies in the call of that number, after the request was sent and before the first chunk; 0: never."""

    kill_at: int = 0

    async def generate(self, request: GenerateInput) -> AsyncGenerator[Chunk]:
        if len(self.requests) + 1 == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        async for chunk in super().generate(request):
            yield chunk


def deadly(directory: Path, ceiling: Ceiling, kill_at: int) -> Scenario:
    return runaway(Deadly(endless_tools, kill_at=kill_at), directory, with_ceiling(priced_chain(), ceiling))


async def _run_waiting(url: str, directory: Path, ceiling: Ceiling, kill_at: int) -> None:
    async with deadly(directory, ceiling, kill_at).continued(url) as running:
        assert running.pool
        await running.pool.run_waiting(INVESTIGATION)


async def _die(_store: PostgresSpendingStore, _reservation: Reservation) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _worker(url: str, directory: Path, ceiling: Ceiling, kill_at: int, unsent: bool) -> None:  # noqa: FBT001 - an argument of a process
    with pytest.MonkeyPatch.context() as patch:
        if unsent:
            patch.setattr(PostgresSpendingStore, "mark_sent", _die)
        anyio.run(_run_waiting, url, directory, ceiling, kill_at)


async def worker(url: str, directory: Path, ceiling: Ceiling, kill_at: int, *, unsent: bool = False) -> int | None:
    """Run a worker until there is no more to do, or until it dies; how it ended. If `unsent`, it dies after its first reservation, before the request."""
    process = start_process(_worker, url, directory, ceiling, kill_at, unsent)
    await anyio.to_thread.run_sync(process.join, WORKER_SECONDS)
    return process.exitcode
