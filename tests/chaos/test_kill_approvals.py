"""kill -9 around calls that wait for a person: each approved one runs at most once, and the others never."""

import random
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
import pytest
from anyio import to_thread

from support.queue_ground import ROUNDS, Ground
from support.queue_scenario import asks, call, says, scenario
from support.replica import Replica, stop
from support.story import check_ended, check_events, ledger, read_story
from tarsy.db.approvals import ApprovalRepository
from tarsy.db.connection import create_engine
from tarsy.db.errors import ConflictError
from tarsy.domain.approval import Approval, ApprovalState, CallOutcome
from tarsy.domain.recording import Recording
from tarsy.domain.tool import ApprovalPolicy

pytestmark = [pytest.mark.xdist_group("chaos"), pytest.mark.timeout(3600 if ROUNDS else 180)]

# Kill points in `make test`; `make chaos` takes them all, as often as there are rounds.
SAMPLE = 1
TRACK = "0.look/1.Looker"
CALLS = Recording(
    calls=(
        call(TRACK, 0, asks("look", "look"), asks("act", "yes-1"), asks("act", "no-1"), asks("act", "yes-2")),
        call(TRACK, 1, asks("act", "late-1")),
        call(TRACK, 2, says("Done.")),
        call("1.executive summary/1.Summarizer", 0, says("Done.")),
    )
)
# Less than a person needs, and more than the test needs to decide.
EXPIRY = 3.0
REFUSALS = ("a person rejected the call", "no person approved the call in time")
UNKNOWN = "It is not known whether it took effect"


@asynccontextmanager
async def deciding(ground: Ground) -> AsyncGenerator[ApprovalRepository]:
    """Somebody who approves and rejects what waits, as its key says, and lets the rest expire."""
    engine = create_engine(ground.url)
    approvals = ApprovalRepository(engine, lambda _events: None)

    async def decide() -> None:
        while True:
            for one in await approvals.list(state=ApprovalState.PENDING):
                if "late" not in one.arguments:
                    wanted = ApprovalState.APPROVED if "yes" in one.arguments else ApprovalState.REJECTED
                    # On a slow machine it may have expired meanwhile.
                    with suppress(ConflictError):
                        await approvals.decide(one.id, wanted, actor="ada", reason="")
            await anyio.sleep(0.05)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(decide)
        yield approvals
        tasks.cancel_scope.cancel()
    await engine.dispose()


async def lives(ground: Ground, site: Path, *, kill_at: int | None = None, before: bool = False) -> int:
    """Run a session to its end; its first worker is killed at a step. Returns the steps of the last worker."""
    made = scenario(CALLS, site, approval=ApprovalPolicy.DESTRUCTIVE, approval_expiry=EXPIRY)
    session_id = await ground.submit(made)
    async with deciding(ground) as approvals:
        replica = Replica(url=ground.url, directory=site)
        if kill_at is not None:
            victim = Replica(url=ground.url, directory=site, kill_at=kill_at, before=before).start()
            async with anyio.create_task_group() as tasks:

                async def until_dead() -> None:
                    await to_thread.run_sync(victim.join, 60, abandon_on_cancel=True)
                    tasks.cancel_scope.cancel()

                tasks.start_soon(until_dead)
                # A session that took fewer steps than the undisturbed one ends first.
                await ground.until_ended(session_id)
                tasks.cancel_scope.cancel()
            stop(victim)
            await ground.let_an_hour_pass()
        with replica.running():
            await ground.until_ended(session_id)
        decided = await approvals.list(session_id=session_id)
    story = await read_story(ground.url, session_id)
    assert story.session["status"] == "completed", story.session
    check_ended(story)
    check_events(story)
    read = await ground.fetch("SELECT tool_call_id, content FROM messages WHERE session_id = $1 AND role = 'tool'", session_id)
    check_calls(decided, Counter(line["key"] for line in ledger(site)), {row["tool_call_id"]: row["content"] for row in read})
    return int(replica.steps_file.read_text())


def check_calls(decided: Sequence[Approval], ran: Counter[str], read: dict[str, str]) -> None:
    """Each call is shown as it was: it ran once, it was refused and did not run, or nobody knows."""
    assert {one.call_id for one in decided} == {"yes-1", "no-1", "yes-2", "late-1"}
    for one in decided:
        times, text = ran[one.call_id], read[one.call_id]
        match one.outcome:
            case CallOutcome.RAN:
                assert (one.state, times, "done" in text) == (ApprovalState.APPROVED, 1, True), one
            case CallOutcome.UNKNOWN:
                assert (one.state, times <= 1, UNKNOWN in text) == (ApprovalState.APPROVED, True, True), one
            case CallOutcome.NOT_RUN:
                assert (one.state in {ApprovalState.REJECTED, ApprovalState.EXPIRED}, times) == (True, 0), one
                assert any(refusal in text for refusal in REFUSALS), text
            case CallOutcome.RUNNING:
                raise AssertionError(one)
    assert next(one for one in decided if one.call_id == "late-1").state is ApprovalState.EXPIRED


async def test_approved_calls_run_at_most_once_however_often_workers_are_killed(ground: Ground) -> None:
    steps = await lives(ground, ground.directory / "undisturbed")
    points = [(step, before) for step in range(1, steps + 1) for before in (True, False)]
    chance = random.Random(steps)  # noqa: S311 - a fair choice, the same each time
    chosen = points * ROUNDS if ROUNDS else chance.sample(points, SAMPLE)
    for number, (step, before) in enumerate(chosen):
        site = ground.directory / f"{number}-{'before' if before else 'after'}-{step}"
        try:
            await lives(ground, site, kill_at=step, before=before)
        except BaseException as error:
            error.add_note(f"killed {site.name} of {steps} steps")
            raise
