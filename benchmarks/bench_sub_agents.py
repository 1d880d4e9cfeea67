"""Agents that are sent at the same time: how much longer five of twenty turns take than one, and what memory and connections are left with afterwards."""

import gc
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import anyio
import psutil
import structlog
from sqlalchemy.pool import QueuePool
from workload import TrivialTools, chain

from tarsy.config.resolve.resolved import ResolvedChain
from tarsy.db.embedded.server import EmbeddedServer
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.recording import RecordedCall, RecordedChunk, RecordedToolCallChunk, Recording
from tarsy.domain.session import NewSession
from tarsy.llm.in_process import in_process_client
from tarsy.settings import Settings
from tarsy.wiring.application import Application, application
from tarsy.wiring.infrastructure import Overrides

AGENTS, TURNS = 5, 20
# What a quick model thinks before each answer.
PAUSE = 0.2
# Overlapping fully, five take as long as one; half as long again leaves room for a machine that has other things to do.
MOST = 1.5
# What a run may leave behind: caches that the first of its kind has filled.
MOST_LEFT_MB = 16
LEAD = "0.investigation/1.Investigator"


def _ask(number: int, name: str, arguments: dict[str, object]) -> RecordedChunk:
    return RecordedChunk(tool_call=RecordedToolCallChunk(id=f"c{number}", name=name, arguments=arguments))


def recording(agents: int) -> Recording:
    sends = tuple(_ask(number, "tarsy.run_agent", {"name": "Worker", "task": f"Part {number}."}) for number in range(agents))
    calls = [RecordedCall(track=LEAD, turn=0, chunks=sends), RecordedCall(track=LEAD, turn=1, chunks=(RecordedChunk(text="A leak."),))]
    for place in range(1, agents + 1):
        track = f"{LEAD}/{place}.Worker"
        investigations = (RecordedChunk(text="I look.", after=PAUSE),)
        calls += [RecordedCall(track=track, turn=n, chunks=(*investigations, _ask(n, "bench.look", {"at": n}))) for n in range(TURNS - 1)]
        answered = RecordedChunk(text='It leaks [A1.1: "pod/checkout-7d9f8b6c5-x2x4z"].', after=PAUSE)
        calls.append(RecordedCall(track=track, turn=TURNS - 1, chunks=(answered,)))
    return Recording(calls=tuple(calls))


def sending() -> ResolvedChain:
    plain = chain(TURNS)
    (stage,) = plain.stages
    (lead,) = stage.agents
    worker = lead.model_copy(update={"agent_name": "Worker", "description": "Looks", "max_iterations": TURNS + 1})
    lead = lead.model_copy(update={"sub_agents": (worker,)})
    return plain.model_copy(update={"stages": (stage.model_copy(update={"agents": (lead,)}),), "executive_summary": None})


async def seconds_for(url: str, agents: int) -> tuple[float, int]:
    """How long a session takes whose agent sends so many, and the connections that are in use after it."""
    written, settings = recording(agents), Settings(env={}, database_url=url)
    llm = in_process_client(env={}, recordings=lambda _name: written, replay_speed=1.0)
    async with application(settings, overrides=Overrides(tools=TrivialTools(), llm=llm)) as running:
        await running.services.repositories.sessions.insert(_session())
        started = time.monotonic()
        await running.pool.run_waiting(INVESTIGATION)
        return time.monotonic() - started, _in_use(running)


def _in_use(running: Application) -> int:
    pool = running.engine.pool
    assert isinstance(pool, QueuePool)
    return pool.checkedout()


def _session() -> NewSession:
    now = datetime.now(UTC)
    snapshot = sending().model_dump(mode="json")
    return NewSession(
        id=str(uuid4()),
        alert_data="HighErrorRate: checkout",
        alert_type="bench",
        chain_id="bench",
        chain_snapshot=snapshot,
        author="bench",
        nonce=uuid4().hex,
        created_at=now,
    )


def _megabytes() -> float:
    gc.collect()
    return psutil.Process().memory_info().rss / 1024 / 1024


async def main(directory: Path) -> bool:
    server = EmbeddedServer(directory)
    await anyio.to_thread.run_sync(server.open)
    try:
        await seconds_for(server.url, AGENTS)
        before = _megabytes()
        one, _ = await seconds_for(server.url, 1)
        five, in_use = await seconds_for(server.url, AGENTS)
        left = _megabytes() - before
    finally:
        await anyio.to_thread.run_sync(server.close)
    print(f"1 sub-agent of {TURNS} turns             {one:8.2f} s")
    print(f"{AGENTS} sub-agents of {TURNS} turns at once    {five:8.2f} s = {five / one:.2f} times (limit {MOST})")
    print(f"memory left behind                {left:8.1f} MB (limit {MOST_LEFT_MB})")
    print(f"connections in use afterwards     {in_use:8d}")
    return five / one < MOST and left < MOST_LEFT_MB and in_use == 0


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    with tempfile.TemporaryDirectory(prefix="tarsy-bench-") as name:
        sys.exit(0 if anyio.run(main, Path(name)) else 1)
