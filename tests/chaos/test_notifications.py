"""Workers killed while they notify a receiver that fails, hangs and loses answers: everything arrives, under one key each, and in time."""

from collections import Counter
from dataclasses import replace
from itertools import count

import anyio
import pytest

from support.flaky_receiver import FlakyReceiver, flaky_receiver
from support.queue_ground import LONG, Ground
from support.queue_scenario import Scenario, call, says, scenario
from support.replica import Replica, stop
from tarsy.db.connection import create_engine
from tarsy.db.outbox import Publisher
from tarsy.db.session.repository import SessionRepository
from tarsy.domain.recording import Recording

pytestmark = [pytest.mark.xdist_group("chaos"), pytest.mark.timeout(1800 if LONG else 170)]

SESSIONS = 500 if LONG else 6
REPLICAS = 2
# A worker is killed whenever this many more requests have arrived, in the middle of one.
KILL_EVERY = 40 if LONG else 5
MAX_AGE_SECONDS = 900 if LONG else 120
CONFIG = """
notify:
  targets:
    flaky: {{webhook: {{url: "{flaky}"}}}}
    hangs: {{webhook: {{url: "{hangs}"}}}}
  rules:
    - {{on: [started, verdict], to: [flaky], max_age: {max_age}s}}
    - {{on: [verdict], to: [hangs], max_age: 2s}}
"""


def _answers_at_once(ground: Ground) -> Scenario:
    track = "0.look/1.Looker"
    recording = Recording(
        calls=(call(track, 0, says("It was the network.")), call("1.executive summary/1.Summarizer", 0, says("The network.")))
    )
    chain = scenario(recording, ground.directory).chain
    (stage,) = chain.stages
    agents = tuple(agent.model_copy(update={"mcp_servers": ()}) for agent in stage.agents)
    return Scenario(chain.model_copy(update={"stages": (stage.model_copy(update={"agents": agents}),), "mcp_servers": {}}))


async def _submit(ground: Ground, made: Scenario) -> None:
    engine = create_engine(ground.url)
    try:
        for _ in range(SESSIONS):
            await SessionRepository(Publisher(engine)).insert(made.session())
    finally:
        await engine.dispose()


async def test_each_is_delivered_under_one_key_and_none_is_lost_or_late(ground: Ground) -> None:
    with flaky_receiver() as flaky, flaky_receiver(only_hangs=True) as hangs:
        config = CONFIG.format(flaky=flaky.url, hangs=hangs.url, max_age=MAX_AGE_SECONDS)
        replica = Replica(
            url=ground.url, directory=ground.directory, cap=8, workers=4, orphan="3s", config=config, notification_seconds=1.0
        )
        names = (replace(replica, directory=ground.directory / f"replica-{number}") for number in count())
        processes = [next(names).start() for _ in range(REPLICAS)]
        killed = list[int]()

        def kill(number: int) -> None:
            if number % KILL_EVERY == 0:
                killed.append(number)
                processes[len(killed) % REPLICAS].kill()

        try:
            await ground.until("SELECT count(*) = 2 FROM notification_cursors")
            flaky.on_request = kill
            await _submit(ground, _answers_at_once(ground))
            done = False
            with anyio.fail_after(1200 if LONG else 120):
                while not done:
                    processes[:] = [process if process.is_alive() else next(names).start() for process in processes]
                    [row] = await ground.fetch(
                        "SELECT (SELECT count(*) FROM alert_sessions WHERE status = 'completed') AS ended, "
                        "(SELECT count(*) FROM notifications WHERE status <> 'pending') AS closed"
                    )
                    done = row == {"ended": SESSIONS, "closed": 3 * SESSIONS}
                    await anyio.sleep(0 if done else 0.2)
        finally:
            hangs.ends.set()
            for process in processes:
                stop(process)
        requests = sum(map(len, flaky.received.values()))
        print(f"\n{requests} requests for {2 * SESSIONS} notifications, {len(killed)} workers killed")  # noqa: T201 - for `make chaos`
    assert len(killed) >= 2
    await _check(ground, flaky)


async def _check(ground: Ground, flaky: FlakyReceiver) -> None:
    statuses = await ground.fetch("SELECT target, status, count(*) AS n FROM notifications GROUP BY 1, 2 ORDER BY 1")
    # The one that hangs got nothing in time, and delayed no session and no other target.
    assert statuses == [
        {"target": "flaky", "status": "delivered", "n": 2 * SESSIONS},
        {"target": "hangs", "status": "expired", "n": SESSIONS},
    ]
    reported = Counter((event["session_id"], event["kind"]) for event in flaky.events())
    assert set(reported.values()) == {1}
    assert Counter(kind for _, kind in reported) == {"started": SESSIONS, "verdict": SESSIONS}
    stored = {str(row["id"]): row for row in await ground.fetch("SELECT id, expires_at FROM notifications WHERE target = 'flaky'")}
    assert flaky.accepted.keys() == flaky.received.keys() == stored.keys()
    for key, requests in flaky.received.items():
        assert len({body for body, _ in requests}) == 1
        assert all(at <= stored[key]["expires_at"] for _, at in requests)
