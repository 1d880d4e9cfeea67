"""kill -9 around calls that wait for a person, also in a stage that acts: each approved one runs at most once, and the others never."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread

from support.approving import deciding
from support.queue_ground import LONG, Ground
from support.queue_scenario import GONE, REMEDIATOR, VERDICT, acting, asks, call, says, scenario
from support.replica import Replica, stop
from support.story import check_ended, check_events, ledger, read_story
from tarsy.db.connection import create_engine
from tarsy.db.outbox import Publisher
from tarsy.db.session.repository import SessionRepository
from tarsy.domain.action import Action, ActionOutcome, Verified
from tarsy.domain.approval import Approval, ApprovalState, CallOutcome
from tarsy.domain.recording import Recording
from tarsy.domain.tool import ApprovalPolicy

pytestmark = [pytest.mark.xdist_group("chaos"), pytest.mark.timeout(3600 if LONG else 180)]

TRACK = "0.look/1.Looker"
CALLS = Recording(
    calls=(
        call(TRACK, 0, asks("look", "disk-full"), asks("act", "yes-1"), asks("act", "no-1")),
        call(TRACK, 1, says(VERDICT.format(outcome="fault"))),
        call(REMEDIATOR, 0, asks("act", "yes-2"), asks("act", "no-2"), asks("act", "yes-3")),
        call(REMEDIATOR, 1, asks("act", "late-1")),
        call(REMEDIATOR, 2, says("Restarted.")),
        # The turn that verifies.
        call(REMEDIATOR, 3, asks("look", "after")),
        call(REMEDIATOR, 4, GONE),
        call("2.executive summary/1.Summarizer", 0, says("Done.")),
    )
)
INVESTIGATED, ACTED = {"yes-1", "no-1"}, {"yes-2", "no-2", "yes-3", "late-1"}
# Less than a person needs, and more than the test needs to decide.
EXPIRY = 3.0
REFUSALS = ("a person rejected the call", "no person approved the call in time")
UNKNOWN = "It is not known whether it took effect"
OUTCOMES = {
    CallOutcome.RAN: ActionOutcome.SUCCEEDED,
    CallOutcome.NOT_RUN: ActionOutcome.NOT_RUN,
    CallOutcome.UNKNOWN: ActionOutcome.UNKNOWN,
}


async def lives(ground: Ground, site: Path, point: Mapping[str, Any]) -> int:
    """Run a session to its end; its first worker is killed at a point. Returns the durable writes of the last worker."""
    made = scenario(CALLS, site, approval=ApprovalPolicy.DESTRUCTIVE, approval_is_set=True, approval_expiry=EXPIRY)
    session_id = await ground.submit(acting(made))
    async with deciding(ground) as approvals:
        replica = Replica(url=ground.url, directory=site)
        if point:
            victim = Replica(url=ground.url, directory=site, **point).start()
            async with anyio.create_task_group() as tasks:

                async def until_dead() -> None:
                    await to_thread.run_sync(victim.join, 60, abandon_on_cancel=True)
                    tasks.cancel_scope.cancel()

                tasks.start_soon(until_dead)
                # A session that took fewer writes than the undisturbed one ends first.
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
    ran = Counter(line["key"] for line in ledger(site))
    check_calls(decided, ran, {row["tool_call_id"]: row["content"] for row in read})
    assert ran["after"] >= 1
    check_actions(decided, await shown_actions(ground, session_id))
    return int(replica.steps_file.read_text())


async def shown_actions(ground: Ground, session_id: str) -> Sequence[Action]:
    engine = create_engine(ground.url)
    try:
        return await SessionRepository(Publisher(engine)).actions(session_id)
    finally:
        await engine.dispose()


def check_calls(decided: Sequence[Approval], ran: Counter[str], read: dict[str, str]) -> None:
    """Each call is shown as it was: it ran once, it was refused and did not run, or nobody knows."""
    assert {one.call_id for one in decided} == INVESTIGATED | ACTED
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


def check_actions(decided: Sequence[Approval], actions: Sequence[Action]) -> None:
    """Those of the stage that acts are listed once each, with the outcome of their approval and who gave it."""
    approvals = {f'ledger.act {{"key": "{one.call_id}"}}': one for one in decided if one.call_id in ACTED}
    assert sorted(one.call for one in actions) == sorted(approvals)
    for one in actions:
        approval = approvals[one.call]
        has_begun = approval.outcome is not CallOutcome.NOT_RUN
        assert one.outcome is OUTCOMES[approval.outcome], one
        assert (one.approved_by, one.verified) == (("ada", Verified.YES) if has_begun else (None, Verified.UNKNOWN)), one


async def test_approved_calls_run_at_most_once_however_often_workers_are_killed(ground: Ground) -> None:
    # In `make test` one point, within an action; `make chaos` takes them all.
    points: list[Mapping[str, Any]] = [{"kill_during": "yes-2"}]
    if LONG:
        writes = await lives(ground, ground.directory / "undisturbed", {})
        points = [{"kill_at": number, "before": before} for number in range(1, writes + 1) for before in (True, False)]
        points = [*points, *({"kill_during": key} for key in ("yes-1", "yes-2", "yes-3", "after"))]
    for number, point in enumerate(points):
        try:
            await lives(ground, ground.directory / str(number), point)
        except BaseException as error:
            error.add_note(f"killed at {point}")
            raise
