"""A replica: the real worker process, with a journal that can end it at a chosen step.

Replicas are forked from a process that has everything imported, so that a hundred of them cost what a handful would.
"""

import multiprocessing
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import forkserver
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import anyio
import pytest

from tarsy import server
from tarsy.db.approvals import ApprovalRepository
from tarsy.db.run.journal import PostgresJournal
from tarsy.domain.work import RetryPolicy
from tarsy.notify import delivery
from tarsy.queue import pool
from tarsy.server import run_server
from tarsy.settings import ProcessRole, Settings

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["support.replica"])
# A replica that has got SIGTERM and does not end within this time is a failure of its own.
END_SECONDS = 30

CONFIG = """
queue:
  worker_count: {workers}
  max_concurrent_sessions: {cap}
  poll_interval: 1s
  poll_interval_jitter: 100ms
  heartbeat_interval: {heartbeat}
  orphan_threshold: {orphan}
  orphan_detection_interval: {detection}
  graceful_shutdown_timeout: {grace}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """How a replica runs. `kill_at` ends it right before or right after the durable write of that number, `kill_during` within the tool call with that key."""

    url: str
    directory: Path
    kill_at: int | None = None
    before: bool = False
    kill_during: str = ""
    workers: int = 2
    cap: int = 100
    heartbeat: str = "1s"
    orphan: str = "60s"
    detection: str = "500ms"
    grace: str = "10s"
    replay_speed: float = 0.0
    # How long it waits for an answer of the database, and to end; None: as long as in production.
    patience: float | None = None
    # Further sections of the configuration.
    config: str = ""
    # Seconds after which an attempt to deliver a notification is given up, and before the next one; None: as in production.
    notification_seconds: float | None = None

    @property
    def steps_file(self) -> Path:
        return self.directory / "steps"

    def start(self) -> ForkServerProcess:
        config = self.directory / "config"
        config.mkdir(parents=True, exist_ok=True)
        values = {name: getattr(self, name) for name in ("workers", "cap", "heartbeat", "orphan", "detection", "grace")}
        (config / "tarsy.yaml").write_text(CONFIG.format(**values) + self.config)
        return start_process(_serve, self)

    @contextmanager
    def running(self) -> Generator[ForkServerProcess]:
        """Run until the end of the block, then end in the orderly way."""
        process = self.start()
        try:
            yield process
        finally:
            stop(process)


def start_process(target: Callable[..., None], *arguments: object) -> ForkServerProcess:
    """Start a process that has imported the program already."""
    # Python 3.11 does not pass sys.path on to the process that imports, which then silently imports nothing (python/cpython#117378).
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        forkserver.ensure_running()
    # A daemon: a test that fails half-way must not keep everybody waiting for its replicas.
    process = CONTEXT.Process(target=target, args=arguments, daemon=True)
    process.start()
    return process


def stop(process: ForkServerProcess) -> None:
    if process.is_alive():
        process.terminate()
    process.join(END_SECONDS)
    if process.is_alive():
        process.kill()
        process.join(END_SECONDS)
        raise AssertionError(f"replica {process.pid} did not end within {END_SECONDS} s of SIGTERM")


def _serve(replica: Replica) -> None:
    """The body of the process."""
    with (replica.directory / f"replica-{os.getpid()}.log").open("w") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w", buffering=1, closefd=False), os.fdopen(2, "w", buffering=1, closefd=False)
        _count_writes(replica)
        if replica.kill_during:
            # The tool server ends this process, between the effect of the call and its answer.
            (replica.directory / "kill").write_text(f"{replica.kill_during} {os.getpid()}")
        if (seconds := replica.notification_seconds) is not None:
            delivery.SEND_SECONDS = seconds
            delivery.RETRY = RetryPolicy(max_attempts=50, first_delay=seconds, max_delay=seconds)
        if replica.patience is not None:
            pool.ANSWER_SECONDS = server.SHUTDOWN_SECONDS = replica.patience
        settings = Settings(
            env={},
            database_url=replica.url,
            config_dir=replica.directory / "config",
            replay_speed=replica.replay_speed,
            role=ProcessRole.WORKER,
            port=0,
        )
        anyio.run(run_server, settings)


def _count_writes(replica: Replica) -> None:
    """Number the steps of runs, and what is stored about approvals, and end the process at the chosen one."""
    begun = done = 0

    def counting(write: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def counted(*arguments: Any) -> Any:
            nonlocal begun, done
            begun += 1
            if replica.before and begun == replica.kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
            written = await write(*arguments)
            done += 1
            replica.steps_file.write_text(str(done))
            if not replica.before and done == replica.kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
            return written

        return counted

    for kind, name in ((PostgresJournal, "commit"), (ApprovalRepository, "request"), (ApprovalRepository, "start")):
        setattr(kind, name, counting(getattr(kind, name)))
