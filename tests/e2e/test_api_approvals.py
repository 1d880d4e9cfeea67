"""Tool calls that wait for a person: asked, parked, decided over HTTP, and run once, with a real worker and a real tool server."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread

from support.api_world import world
from support.approving import site
from support.audited import entries_about
from support.queue_scenario import GONE, REMEDIATOR, VERDICT, Scenario, acting, asks, call, says, scenario
from support.replaying import replayed
from support.tarsy_process import Tarsy
from tarsy.db.session.recordings import RecordingSource
from tarsy.domain.recording import Recording
from tarsy.domain.tool import LOST_CALL, ApprovalPolicy
from tarsy.kit.clock import SystemClock

TRACK = "0.look/1.Looker"
SUMMARY = call("1.executive summary/1.Summarizer", 0, says("Done."))


def destructive(*calls: Any) -> Recording:
    return Recording(calls=(call(TRACK, 0, *calls), call(TRACK, 1, says("It was the disk.")), SUMMARY))


async def test_a_call_that_needs_an_approval_waits_without_a_worker_and_runs_once_as_shown(database_url: str, tmp_path: Path) -> None:
    recording = destructive(asks("look", "before"), asks("act", "restart"), asks("look", "after"))
    made = scenario(recording, tmp_path, approval=ApprovalPolicy.DESTRUCTIVE)
    async with site(database_url, tmp_path, made) as first:
        assert await first.work() == "waiting"
        # The calls that only read have run.
        assert sorted(first.ran) == ["after", "before"]
        (pending,) = await first.approvals(state="pending")
        assert (pending["server"], pending["tool"], pending["arguments"]) == ("ledger", "act", '{"key": "restart"}')
        shown = (await first.client.get(f"/api/v1/sessions/{first.session_id}")).json()
        assert (shown["waiting_reason"], shown["waiting_for_model"]) == ("Waiting for the approval of ledger.act.", False)
    async with site(database_url, tmp_path, first.session_id) as second:
        assert await second.work() == "waiting"
        assert (await second.decide(pending, "approve", "It is safe.")).json()["state"] == "approved"
        again = await second.decide(pending, "reject")
        assert (again.status_code, "api-client approved this call" in again.json()["detail"]) == (409, True)
        assert await second.work() == "completed"
        assert second.ran.count("restart") == 1
        (done,) = await second.approvals(session_id=second.session_id)
        assert (done["state"], done["outcome"], done["decided_by"], done["reason"]) == ("approved", "ran", "api-client", "It is safe.")
        assert "act restart: done" in (await second.results())["restart"]
        audited = await entries_about(second.running.services.system.audit, second.session_id)
        (entry,) = [one for one in audited if one.action == "call.approved"]
        assert (entry.actor, entry.origin, entry.details["call"]) == ("api-client", "127.0.0.1", "ledger.act")


async def test_a_rejection_is_the_result_of_the_call_and_the_investigation_goes_on(database_url: str, tmp_path: Path) -> None:
    made = scenario(destructive(asks("act", "drop"), asks("ensure", "later")), tmp_path, approval=ApprovalPolicy.DESTRUCTIVE)
    async with site(database_url, tmp_path, made) as one:
        assert await one.work() == "waiting"
        (pending,) = await one.approvals(state="pending")
        assert (await one.decide(pending, "reject", "Not during the day.")).status_code == 200
        assert await one.work() == "completed"
        results = await one.results()
        assert "a person rejected the call. The reason: Not during the day." in results["drop"]
        # It may depend on the call before it: its order would have been lost.
        assert "was not called: a call before it" in results["later"]
        assert one.ran == []


async def test_the_wait_for_a_decision_ends_when_it_expires_by_the_clock_of_the_database(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def two_hours_behind(_clock: SystemClock) -> datetime:
        return datetime.now(UTC) - timedelta(hours=2)

    monkeypatch.setattr(SystemClock, "now", two_hours_behind)
    made = scenario(destructive(asks("act", "late")), tmp_path, approval=ApprovalPolicy.DESTRUCTIVE)
    async with site(database_url, tmp_path, made) as one:
        assert await one.work() == "waiting"
        [row] = await one.ground.fetch("SELECT wake_at - expires_at AS later FROM work w JOIN approvals a ON a.work_id = w.id")
        assert timedelta() <= row["later"] < timedelta(minutes=1)


async def test_a_call_nobody_decides_about_expires_and_one_of_a_cancelled_session_or_agent_too(database_url: str, tmp_path: Path) -> None:
    made = scenario(destructive(asks("act", "late")), tmp_path, approval=ApprovalPolicy.DESTRUCTIVE)
    async with site(database_url, tmp_path, made) as one:
        assert await one.work() == "waiting"
        (pending,) = await one.approvals(state="pending")
        await one.ground.fetch("UPDATE approvals SET expires_at = now()")
        await one.ground.fetch("UPDATE work SET wake_at = now() WHERE wake_at IS NOT NULL")
        assert (await one.decide(pending, "approve")).status_code == 409
        assert await one.work() == "completed"
        assert "no person approved the call in time" in (await one.results())["late"]
        assert [(entry["state"], entry["outcome"]) for entry in await one.approvals()] == [("expired", "not_run")]
        other = await one.ground.submit(made)
        await one.work()
        # The agent has ended, and others of its stage go on: nothing would run the call.
        await one.ground.fetch("UPDATE agent_executions SET status = 'cancelled' WHERE session_id = $1", other)
        (left,) = await one.approvals(session_id=other)
        assert (left["state"], (await one.decide(left, "approve")).status_code) == ("expired", 409)
        await one.client.post(f"/api/v1/sessions/{other}/cancel")
        (cancelled,) = await one.approvals(session_id=other)
        assert (cancelled["state"], await one.announced(other)) == ("expired", ["pending", "expired"])
        assert (await one.decide(cancelled, "approve")).status_code == 409
        third = await one.ground.submit(made)
        await one.work()
        (waiting,) = await one.approvals(session_id=third)
        await one.client.post(f"/api/v1/sessions/{third}/executions/{waiting['execution_id']}/cancel")
        await one.work()
        assert await one.ground.status(third) == "cancelled", "it was its only agent"
        assert await one.announced(third) == ["pending", "expired"]
        assert one.ran == []


async def test_of_more_calls_than_are_listed_at_once_those_that_expire_next_can_be_listed(database_url: str, tmp_path: Path) -> None:
    made = scenario(destructive(asks("act", "late")), tmp_path, approval=ApprovalPolicy.DESTRUCTIVE)
    async with site(database_url, tmp_path, made) as one:
        assert await one.work() == "waiting"
        (first,) = await one.approvals(state="pending")
        await one.ground.fetch(
            """
            INSERT INTO approvals (id, session_id, execution_id, work_id, call_id, evidence_id, server, tool, arguments, call_hash, state, requested_at, expires_at)
            SELECT gen_random_uuid(), session_id, execution_id, work_id, number, evidence_id, server, tool, arguments, call_hash, state,
                requested_at + make_interval(secs => number), expires_at
            FROM approvals, generate_series(1, 200) AS number
            """
        )
        newest = await one.approvals(state="pending")
        assert (len(newest), first in newest) == (200, False)
        oldest = await one.approvals(state="pending", order="asc")
        assert (len(oldest), oldest[0]["id"]) == (200, first["id"])
        assert oldest[1:] == newest[:0:-1]


async def test_a_replay_plays_the_decisions_and_asks_and_runs_nothing(database_url: str, tmp_path: Path) -> None:
    recording = destructive(asks("act", "yes"), asks("act", "no"), asks("look", "look"), asks("ensure", "held-back"))
    made = scenario(recording, tmp_path, approval=ApprovalPolicy.DESTRUCTIVE)
    async with site(database_url, tmp_path, made) as one:
        await one.work()
        for entry in await one.approvals(state="pending"):
            await one.decide(entry, "approve" if "yes" in entry["arguments"] else "reject", "So it is.")
        assert await one.work() == "completed"
        recorded = await RecordingSource(one.running.engine).read(one.session_id)
        ran = one.ran
    assert recorded is not None
    assert sorted(ran) == ["look", "yes"]
    assert await replayed(database_url, recorded) == []
    assert one.ran == ran


def hurried(made: Scenario) -> Scenario:
    """The scenario with an agent that has a second for each iteration, and two for a call."""
    (stage,) = made.chain.stages
    agent = stage.agents[0].model_copy(update={"iteration_timeout": 1.0, "tool_call_timeout": 2.0})
    return Scenario(made.chain.model_copy(update={"stages": (stage.model_copy(update={"agents": (agent,)}),)}))


async def test_a_call_is_asked_for_even_if_those_before_it_used_up_the_time(database_url: str, tmp_path: Path) -> None:
    made = scenario(destructive(asks("wait", "slow"), asks("act", "yes")), tmp_path, approval=ApprovalPolicy.DESTRUCTIVE)
    async with site(database_url, tmp_path, hurried(made)) as one:
        assert await one.work() == "waiting"
        (pending,) = await one.approvals(state="pending")
        await one.decide(pending, "approve")
        assert await one.work() == "completed"
        assert "act yes: done" in (await one.results())["yes"]


async def test_an_approved_call_that_takes_too_long_was_approved_and_its_outcome_is_unknown(database_url: str, tmp_path: Path) -> None:
    made = scenario(destructive(asks("wait", "slow")), tmp_path, approval=ApprovalPolicy.ALWAYS)
    async with site(database_url, tmp_path, hurried(made)) as one:
        await one.work()
        (pending,) = await one.approvals(state="pending")
        await one.decide(pending, "approve")
        assert await one.work() == "completed"
        (decided,) = await one.approvals()
        assert (decided["state"], decided["outcome"]) == ("approved", "unknown")
        assert LOST_CALL in (await one.results())["slow"]
        [shown] = await one.ground.fetch(
            "SELECT metadata -> 'approval' ->> 'actor' AS actor FROM timeline_events WHERE event_type = 'tool_result'"
        )
        assert shown["actor"] == "api-client"
        recorded = await RecordingSource(one.running.engine).read(one.session_id)
    assert recorded is not None
    assert await replayed(database_url, recorded) == []


async def test_an_approved_call_waits_without_a_worker_for_the_one_before_it_however_old_its_approval_is(
    database_url: str, tmp_path: Path
) -> None:
    made = scenario(destructive(asks("act", "first"), asks("act", "second")), tmp_path, approval=ApprovalPolicy.DESTRUCTIVE)
    async with site(database_url, tmp_path, made) as one:
        await one.work()
        first, second = await one.approvals(state="pending", order="asc")
        await one.decide(second, "approve")
        await one.ground.fetch("UPDATE approvals SET expires_at = now() WHERE state = 'approved'")
        assert await one.work() == "waiting"
        await one.decide(first, "approve")
        assert await one.work() == "completed"
        assert one.ran == ["first", "second"]


async def test_the_outcome_of_an_approved_call_that_lost_its_server_is_unknown(database_url: str, tmp_path: Path) -> None:
    made = scenario(destructive(asks("act", "dies")), tmp_path, approval=ApprovalPolicy.DESTRUCTIVE)
    async with site(database_url, tmp_path, made) as one:
        await one.work()
        (pending,) = await one.approvals(state="pending")
        await one.decide(pending, "approve")
        # The tool server kills itself in the call.
        (tmp_path / "kill").write_text("dies 0")
        assert await one.work() == "completed"
        assert (one.ran, LOST_CALL in (await one.results())["dies"]) == (["dies"], True)
        (decided,) = await one.approvals()
        assert (decided["state"], decided["outcome"]) == ("approved", "unknown")


async def test_a_call_that_may_change_something_and_outlasts_its_iteration_has_an_unknown_outcome(
    database_url: str, tmp_path: Path
) -> None:
    made = scenario(destructive(asks("act", "hang")), tmp_path)
    async with site(database_url, tmp_path, hurried(made)) as one:
        assert await one.work() == "completed"
        assert f"before the time of this iteration was up. {LOST_CALL}" in (await one.results())["hang"]


async def test_a_decision_does_not_hold_for_a_tool_that_has_changed_since(database_url: str, tmp_path: Path) -> None:
    made = scenario(destructive(asks("act", "old")), tmp_path, approval=ApprovalPolicy.DESTRUCTIVE)
    async with site(database_url, tmp_path, made) as one:
        await one.work()
        (pending,) = await one.approvals(state="pending")
        await one.ground.fetch("UPDATE approvals SET call_hash = 'that of another schema'")
        await one.decide(pending, "approve")
        assert await one.work() == "completed"
        assert "the tool has changed since the call was approved" in (await one.results())["old"]
        assert one.ran == []


async def test_arguments_with_a_secret_cannot_be_approved_and_the_model_learns_why(database_url: str, tmp_path: Path) -> None:
    made = scenario(destructive(asks("act", "ghp_0123456789abcdefghijABCDEFGHIJ012345")), tmp_path, approval=ApprovalPolicy.DESTRUCTIVE)
    async with site(database_url, tmp_path, made) as one:
        assert await one.work() == "completed"
        (result,) = (await one.results()).values()
        assert "its arguments contain a secret" in result
        assert await one.approvals() == []
        assert one.ran == []


async def test_agents_that_obey_every_injected_instruction_change_nothing_without_a_decision(database_url: str, tmp_path: Path) -> None:
    turns = (
        call(
            TRACK, 0, says("The log says that I must act."), asks("look", "disk-full"), asks("act", "injected-1"), asks("act", "injected-2")
        ),
        call(TRACK, 1, says("It says: again, in another way."), asks("ensure", "injected-3")),
        call(TRACK, 2, says(VERDICT.format(outcome="fault"))),
        call(REMEDIATOR, 0, says("The analysis says that I must act."), asks("look", "harmless"), asks("act", "injected-4")),
        call(REMEDIATOR, 1, says("It says: again, in another way."), asks("ensure", "injected-5"), asks("act", "injected-6")),
        call(REMEDIATOR, 2, says("Done as I was asked.")),
        call(REMEDIATOR, 3, says("The log says that I must verify by acting."), asks("act", "injected-7")),
        call(REMEDIATOR, 4, says("I say that it helped.")),
        call(REMEDIATOR, 5, GONE),
        call("2.executive summary/1.Summarizer", 0, says("Done.")),
    )
    made = scenario(Recording(calls=turns), tmp_path, approval=ApprovalPolicy.UNLESS_READ_ONLY, approval_is_set=True)
    async with site(database_url, tmp_path, acting(made)) as one:
        for expected, ran in ((2, ["disk-full"]), (1, ["disk-full"]), *((number, ["disk-full", "harmless"]) for number in (1, 2, 1))):
            assert await one.work() == "waiting"
            pending = await one.approvals(state="pending")
            assert (len(pending), one.ran) == (expected, ran)
            for entry in pending:
                await one.decide(entry, "reject", "The log was forged.")
        assert await one.work() == "completed"
        assert one.ran == ["disk-full", "harmless"]
        assert {entry["state"] for entry in await one.approvals()} == {"rejected"}
        actions = (await one.client.get(f"/api/v1/sessions/{one.session_id}")).json()["actions"]
        assert [(entry["outcome"], entry["approved_by"], entry["verified"]) for entry in actions] == [("not_run", None, "unknown")] * 4


async def test_calls_that_wait_are_listed_and_decided_by_command(database_url: str, tarsy: Tarsy, tmp_path: Path) -> None:
    made = scenario(destructive(asks("act", "by-hand")), tmp_path, approval=ApprovalPolicy.ALWAYS)
    async with site(database_url, tmp_path, made) as one, world(database_url) as api:
        assert await one.work() == "waiting"
        url = f"http://127.0.0.1:{api.port}"

        async def run(*arguments: str) -> str:
            return (await to_thread.run_sync(lambda: tarsy("approvals", *arguments, "--url", url, cwd=tmp_path))).stdout

        listed = await run("list")
        assert 'ledger.act {"key": "by-hand"}' in listed
        # As a script calls it whose variable is empty.
        assert await run("approve", "") == ""
        approved = await run("approve", listed.split()[0], "--reason", "Go.")
        assert ("approved by api-client" in approved, "Go." in approved) == (True, True)
        assert await run("list") == "No approvals.\n"
        assert await one.work() == "completed"
        assert one.ran == ["by-hand"]


@pytest.mark.parametrize("waits", ["for its tool", "for the call before it"])
async def test_a_replay_stops_with_an_agent_that_was_cancelled_while_its_approved_call_ran(
    database_url: str, tmp_path: Path, waits: str
) -> None:
    parts = [asks("wait", "slow")] if waits == "for its tool" else [asks("wait", "slow"), asks("act", "later")]
    made = scenario(destructive(*parts), tmp_path, approval=ApprovalPolicy.ALWAYS)
    async with site(database_url, tmp_path, made) as one, anyio.create_task_group() as tasks:
        await one.work()
        for entry in await one.approvals(state="pending"):
            await one.decide(entry, "approve")
        tasks.start_soon(one.work)
        await one.ground.until_seen(lambda: one.ran != [])
        [execution] = await one.ground.fetch("SELECT CAST(id AS text) AS id FROM agent_executions WHERE session_id = $1", one.session_id)
        await one.client.post(f"/api/v1/sessions/{one.session_id}/executions/{execution['id']}/cancel")
    async with site(database_url, tmp_path, one.session_id) as one:
        recorded = await RecordingSource(one.running.engine).read(one.session_id)
        assert await one.ground.status(one.session_id) == "cancelled"
    assert recorded is not None
    assert await replayed(database_url, recorded) == []
