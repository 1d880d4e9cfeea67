"""Several replicas, many sessions, some of which wait for a person, and somebody who kills, pauses and restarts at random: everything ends, nothing happens twice."""

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import anyio
import pytest

from support.approving import deciding
from support.queue_ground import LONG, Ground
from support.queue_scenario import asks, call, says, scenario, short
from support.replica import Replica, stop
from support.story import FINAL, check_ended, check_events, ledger, read_story
from tarsy.db.connection import create_engine
from tarsy.db.embedded.programs import account_for, run
from tarsy.db.embedded.server import EmbeddedServer
from tarsy.db.migrate import upgrade
from tarsy.domain.approval import ApprovalState, CallOutcome
from tarsy.domain.recording import Recording
from tarsy.domain.tool import ApprovalPolicy

pytestmark = [pytest.mark.xdist_group("chaos"), pytest.mark.timeout(1800 if LONG else 170)]

REPLICAS = 3 if LONG else 2
SESSIONS = 500 if LONG else 6
# Those that wait for a person, in addition.
ASKING = 60 if LONG else 2
CAP = 6 if LONG else 3
# Before each answer of the model: few sessions that take long are as often in the way of misfortune as many short ones.
THINKING_SECONDS = 0.4 if LONG else 1.0
# In CI the chaos is over after this long, so that what is left can end; a long run goes on until most sessions have.
CHAOS_SECONDS = 900 if LONG else 6
END_SECONDS = 600 if LONG else 90
PAUSE_SECONDS = 30.0 if LONG else 5.0


QUESTIONS = Recording(
    calls=(
        call("0.look/1.Looker", 0, asks("look", "look"), asks("act", "yes"), asks("act", "no")),
        call("0.look/1.Looker", 1, asks("act", "late")),
        call("0.look/1.Looker", 2, says("Done.")),
        call("1.executive summary/1.Summarizer", 0, says("Done.")),
    )
)
POLICY: dict[str, Any] = {"approval": ApprovalPolicy.DESTRUCTIVE, "approval_expiry": 3.0}


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """A server of its own: the shared one is not to be restarted under other tests."""
    server = EmbeddedServer(tmp_path_factory.mktemp("server"))
    server.open()
    yield server
    server.close()


class Chaos:
    """Knows the replicas and does something bad to one of them, or to the database, from time to time."""

    def __init__(self, replica: Replica, data: Path) -> None:
        self._replica = replica
        self._data = data
        self._dice = random.Random(7421)  # noqa: S311 - the same misfortunes in every run
        self._started = 0
        self.deeds: Counter[str] = Counter()
        self.replicas: list[ForkServerProcess] = [self._new() for _ in range(REPLICAS)]

    def _new(self) -> ForkServerProcess:
        self._started += 1
        return replace(self._replica, directory=self._replica.directory / f"replica-{self._started}").start()

    async def reign(self, ground: Ground) -> None:
        end = time.monotonic() + CHAOS_SECONDS
        # One of each before chance takes over.
        first = [self._kill, self._restart_database, self._pause]
        while (time.monotonic() < end or self.deeds.total() < len(first)) and await _open_sessions(ground) > CAP:
            await anyio.sleep(self._dice.uniform(1.0, 4.0))
            done = self.deeds.total()
            deed = first[done] if done < len(first) else self._dice.choice([self._kill, *first])
            # Who found no database when it started has ended: whoever runs replicas starts them again.
            self.replicas = [process if process.is_alive() else self._new() for process in self.replicas]
            victim = await self._busy(ground)
            if victim is None:
                return
            self.deeds[deed.__name__] += 1
            await deed(victim)

    async def _busy(self, ground: Ground) -> int | None:
        """One that has work in hand: to kill an idle one would prove nothing. None: everything has ended meanwhile."""
        victims: list[int] = []
        with anyio.fail_after(END_SECONDS):
            while not victims and await _open_sessions(ground):
                working = {row["claimed_by"].split("-")[-2] for row in await ground.fetch(_WORKING)}
                victims = [number for number, process in enumerate(self.replicas) if str(process.pid) in working]
                await anyio.sleep(0 if victims else 0.1)
        return self._dice.choice(victims) if victims else None

    async def _kill(self, victim: int) -> None:
        process = self.replicas[victim]
        process.kill()
        await anyio.to_thread.run_sync(process.join, 10)
        self.replicas[victim] = self._new()

    async def _pause(self, victim: int) -> None:
        pid = self.replicas[victim].pid or 0
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
        try:
            await anyio.sleep(PAUSE_SECONDS)
        finally:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    async def _restart_database(self, _victim: int) -> None:
        arguments = ["-D", str(self._data), "-m", "immediate" if self._dice.random() < 0.5 else "fast", "-w", "restart"]
        await anyio.to_thread.run_sync(run, "pg_ctl", arguments, account_for(self._data))

    def end(self) -> None:
        for process in self.replicas:
            stop(process)


_WORKING = "SELECT DISTINCT claimed_by FROM work WHERE state = 'claimed'"


async def _open_sessions(ground: Ground) -> int:
    rows = await ground.fetch("SELECT count(*) AS n FROM alert_sessions WHERE NOT status = ANY($1::text[])", sorted(FINAL))
    return rows[0]["n"]


def most_at_once(events: list[dict[str, object]]) -> int:
    """How many sessions ran at the same time, from the events of every change of status, in the order of their commits."""
    running: set[object] = set()
    most = 0
    for event in events:
        if event["status"] in {"in_progress", "cancelling"}:
            running.add(event["session_id"])
        else:
            running.discard(event["session_id"])
        most = max(most, len(running))
    return most


async def test_replicas_under_fire_end_every_session_once(server: EmbeddedServer, tmp_path: Path) -> None:
    ground = Ground(server.url, tmp_path)
    engine = create_engine(server.url)
    await upgrade(engine)
    await engine.dispose()
    made = scenario(short(THINKING_SECONDS), tmp_path)
    asking = {await ground.submit(scenario(QUESTIONS, site, **POLICY)): site for site in (tmp_path / f"asking-{n}" for n in range(ASKING))}
    ids = [*asking, *[await ground.submit(made) for _ in range(SESSIONS)]]
    replica = Replica(
        url=server.url, directory=tmp_path, workers=3, cap=CAP, heartbeat="500ms", orphan="3s", detection="500ms", replay_speed=1.0
    )
    chaos = Chaos(replica, Path(server.url.partition("host=")[2].partition("&")[0].replace("%2F", "/")))
    async with deciding(ground) as approvals:
        try:
            await chaos.reign(ground)
            await ground.until_ended(*ids, within=END_SECONDS)
        finally:
            chaos.end()
        decided = {session_id: await approvals.list(session_id=session_id) for session_id in asking}
    ends = Counter(row["status"] for row in await ground.fetch("SELECT status FROM alert_sessions"))
    recovered = await ground.fetch("SELECT sum(recoveries) AS n FROM work")
    print(f"\n{len(ids)} sessions, {dict(chaos.deeds)}, recoveries {recovered[0]['n']}, ends {dict(ends)}")  # noqa: T201 - for `make chaos`
    assert sum(ends.values()) == len(ids)
    for session_id, site in asking.items():
        ran = Counter(line["key"] for line in ledger(site))
        assert ran["yes"] <= 1, "an approved call ran twice"
        for one in decided[session_id]:
            assert one.outcome is not CallOutcome.RUNNING
            assert ran[one.call_id] == 0 or one.outcome is not CallOutcome.NOT_RUN, one
            assert one.state is ApprovalState.APPROVED or one.outcome is CallOutcome.NOT_RUN, one
    assert recovered[0]["n"] > 0, "nobody who had work was killed: the test proved nothing"
    # Who was unlucky four times is given up, by design; nobody else may fail.
    failed = await ground.fetch("SELECT error_message FROM alert_sessions WHERE status <> 'completed'")
    assert [row["error_message"] for row in failed if not row["error_message"].startswith("given up")] == []
    for session_id in ids:
        story = await read_story(server.url, session_id)
        check_ended(story)
        check_events(story)
    assert Counter(line["key"] for line in ledger(tmp_path))["s-act"] <= SESSIONS
    shared = await ground.fetch(
        "SELECT id, payload ->> 'status' AS status, payload ->> 'session_id' AS session_id, payload ->> 'type' AS type FROM events WHERE channel = 'sessions' ORDER BY id"
    )
    assert [row["id"] for row in shared] == list(range(1, len(shared) + 1))
    assert most_at_once([row for row in shared if row["type"] != "stage.started"]) <= CAP
