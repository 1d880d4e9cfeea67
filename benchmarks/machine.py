"""What the machine can do, so that figures of different machines compare: the start of an interpreter for CPU, a commit of PostgreSQL for waits."""

import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from statistics import median

import asyncpg

# Enough for a median that the machine's other work does not move.
COMMITS = 200


@dataclass(frozen=True, slots=True)
class Machine:
    """Milliseconds: of CPU for `python -c pass`, and until PostgreSQL has committed one row."""

    start: float
    commit: float

    def cpu(self, milliseconds: float) -> str:
        return f"{milliseconds:8.2f} ms = {milliseconds / self.start:6.2f} starts"

    def wait(self, milliseconds: float) -> str:
        return f"{milliseconds:8.2f} ms = {milliseconds / self.commit:6.2f} commits"

    def report(self) -> None:
        print(f"{'start of an interpreter':28} {self.start:8.2f} ms of CPU")
        print(f"{'commit of PostgreSQL':28} {self.commit:8.2f} ms")


def interpreter_start_ms(rounds: int = 10) -> float:
    """CPU milliseconds of `python -c pass`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(rounds):
        subprocess.run([sys.executable, "-I", "-c", "pass"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / rounds * 1000


async def commit_ms(url: str) -> float:
    """Milliseconds until one small row is committed, on one connection: the median."""
    connection = await asyncpg.connect(url)
    await connection.execute("CREATE TABLE bench_commit (filler text)")
    taken: list[float] = []
    for _ in range(COMMITS):
        begun = time.monotonic()
        await connection.execute("INSERT INTO bench_commit VALUES ($1)", "x" * 200)
        taken.append(time.monotonic() - begun)
    await connection.execute("DROP TABLE bench_commit")
    await connection.close()
    return median(taken) * 1000


async def measured(url: str) -> Machine:
    """The machine that the database at `url` runs on, too."""
    return Machine(interpreter_start_ms(), await commit_ms(url))
