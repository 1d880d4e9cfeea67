"""Stages that act: begun on a sure verdict only, under approval, verified afterwards; with a real worker and a tool server that counts."""

import json
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from pydantic import TypeAdapter

from support.approving import Site, site
from support.queue_scenario import GONE, REMEDIATOR, SERVER, VERDICT, Scenario, acting, asks, call, says, scenario
from support.replaying import replayed
from tarsy.cli.sessions import action_lines
from tarsy.config.load.loader import load_config
from tarsy.config.resolve.resolver import resolve_chain
from tarsy.db.session.recordings import RecordingSource
from tarsy.domain.notification import EventKind, NotificationEvent
from tarsy.domain.notification_text import Markup, render
from tarsy.domain.recording import RecordedCall, Recording
from tarsy.domain.tool import ApprovalPolicy
from tarsy.domain.verdict import Confidence
from tarsy.notify.events import read_event

LOOKER = "0.look/1.Looker"


def remediating(
    directory: Path,
    *turns: RecordedCall,
    outcome: str = "fault",
    needs: Confidence = Confidence.LOW,
    dry_run: bool = False,
    approval: ApprovalPolicy | None = None,
) -> Scenario:
    """A session that concludes with low confidence, and a stage that acts on it."""
    looked = (call(LOOKER, 0, asks("look", "disk-full")), call(LOOKER, 1, says(VERDICT.format(outcome=outcome))))
    summary = call("2.executive summary/1.Summarizer", 0, says("The disk was full."))
    server: dict[str, Any] = {"approval": approval, "approval_is_set": True} if approval else {}
    return acting(scenario(Recording(calls=(*looked, *turns, summary)), directory, **server), needs=needs, dry_run=dry_run)


async def detail(one: Site) -> dict[str, Any]:
    return (await one.client.get(f"/api/v1/sessions/{one.session_id}")).json()


async def test_an_approved_action_runs_once_is_verified_shown_and_replayed(database_url: str, tmp_path: Path) -> None:
    made = remediating(
        tmp_path,
        call(REMEDIATOR, 0, asks("act", "restart")),
        call(REMEDIATOR, 1, says("Restarted.")),
        call(REMEDIATOR, 2, asks("look", "after")),
        call(REMEDIATOR, 3, GONE),
        approval=ApprovalPolicy.UNLESS_READ_ONLY,
    )
    async with site(database_url, tmp_path, made) as one:
        assert await one.work() == "waiting"
        waiting = await detail(one)
        # Who decides reads the conclusion before the session has ended.
        assert (waiting["verdict"]["outcome"], waiting["final_analysis"][:9]) == ("fault", "## Do now")
        action = {"evidence_id": "B1", "call": 'ledger.act {"key": "restart"}', "approved_by": None}
        assert waiting["actions"] == [{**action, "outcome": "pending", "verified": "unknown"}]
        (pending,) = await one.approvals(state="pending")
        await one.decide(pending, "approve")
        assert await one.work() == "completed"
        assert one.ran == ["disk-full", "restart", "after"]
        done = await detail(one)
        shown = {**action, "approved_by": "api-client", "outcome": "succeeded", "verified": "yes"}
        assert (done["actions"], done["actions_left_out"]) == ([shown], [])
        assert done["final_analysis"].startswith("## Do now")
        assert [stage["stage_type"] for stage in done["stages"]] == ["investigation", "action", "exec_summary"]
        report = (await one.client.get(f"/api/v1/sessions/{one.session_id}/report", params={"format": "md"})).text
        assert "approved by api-client, the symptom is gone" in report
        assert [*action_lines(done)] == [f"action: {action['call']}  (succeeded, approved by api-client, verified: yes)"]
        ended = {"session_id": one.session_id, "at": done["completed_at"]}
        async with one.running.engine.connect() as connection:
            event = await read_event(connection, EventKind.VERDICT, ended, dashboard_url=None)
        assert event
        assert json.loads(TypeAdapter(NotificationEvent).dump_json(event))["actions"] == [shown]
        assert f"{action['call']}: succeeded, approved by api-client, the symptom is gone" in render(event, Markup.NONE)
        asked = await one.ground.fetch(
            "SELECT m.content FROM messages m JOIN agent_executions e ON e.id = m.execution_id "
            "WHERE e.agent_name = 'Remediator' AND m.role = 'user' ORDER BY m.sequence_number"
        )
        opening, verification = (row["content"] for row in asked)
        assert ("Restart the cart." in opening, "confidence: low" in opening) == (True, True)
        assert verification.startswith("Before you end: find out whether the symptom")
        recorded = await RecordingSource(one.running.engine).read(one.session_id)
    assert recorded is not None
    assert await replayed(database_url, recorded) == []
    assert one.ran == ["disk-full", "restart", "after"]


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [("fault", "it needs high confidence, and the verdict has low"), ("no_fault", "the verdict is no fault")],
)
async def test_an_action_never_starts_on_a_verdict_below_what_its_stage_needs(
    database_url: str, tmp_path: Path, outcome: str, reason: str
) -> None:
    made = remediating(tmp_path, outcome=outcome, needs=Confidence.HIGH)
    async with site(database_url, tmp_path, made) as one:
        assert await one.work() == "completed"
        done = await detail(one)
        assert one.ran == ["disk-full"]
        assert done["actions"] == []
        (sentence,) = done["actions_left_out"]
        assert sentence.startswith(f'Stage "act" was not begun: {reason}')
        warned = await one.ground.fetch(
            "SELECT content FROM timeline_events WHERE session_id = $1 AND event_type = 'warning' AND stage_id IS NULL", one.session_id
        )
        assert [row["content"] for row in warned] == [sentence]


async def test_without_a_policy_every_call_of_an_agent_that_acts_waits_and_a_rejected_one_is_no_action(
    database_url: str, tmp_path: Path
) -> None:
    made = remediating(
        tmp_path,
        call(REMEDIATOR, 0, asks("look", "first"), asks("act", "restart")),
        call(REMEDIATOR, 1, says("I changed nothing.")),
        call(REMEDIATOR, 2, says("Nothing was changed.\n\n```symptom\nsymptom: gone\n```")),
    )
    async with site(database_url, tmp_path, made) as one:
        assert await one.work() == "waiting"
        # Those of the agents before it run under the policy of their server.
        assert one.ran == ["disk-full"]
        pending = await one.approvals(state="pending")
        assert {entry["tool"] for entry in pending} == {"look", "act"}
        for entry in pending:
            await one.decide(entry, "reject", "Not now.")
        assert await one.work() == "completed"
        assert one.ran == ["disk-full"]
        (action,) = (await detail(one))["actions"]
        assert (action["outcome"], action["approved_by"], action["verified"]) == ("not_run", None, "unknown")


async def test_an_approved_action_that_is_cancelled_while_it_runs_has_an_unknown_outcome_everywhere(
    database_url: str, tmp_path: Path
) -> None:
    made = remediating(tmp_path, call(REMEDIATOR, 0, asks("act", "hang")))
    async with site(database_url, tmp_path, made) as one:
        await one.work()
        (pending,) = await one.approvals(state="pending")
        await one.decide(pending, "approve")

        async def cancel() -> None:
            await one.ground.until("SELECT 1 FROM approvals WHERE session_id = $1 AND started_at IS NOT NULL", one.session_id)
            await one.client.post(f"/api/v1/sessions/{one.session_id}/executions/{pending['execution_id']}/cancel")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(cancel)
            assert await one.work() == "completed"
        (action,) = (await detail(one))["actions"]
        assert (action["outcome"], action["approved_by"]) == ("unknown", "api-client")
        [summed_up] = await one.ground.fetch(
            "SELECT m.content FROM messages m JOIN agent_executions e ON e.id = m.execution_id "
            "WHERE m.session_id = $1 AND e.agent_name = 'Summarizer' AND m.content LIKE '%Actions:%'",
            one.session_id,
        )
        assert 'ledger.act {"key": "hang"}: unknown, approved by api-client' in summed_up["content"]


async def test_a_dry_run_shows_what_it_would_do_and_asks_and_changes_nothing(database_url: str, tmp_path: Path) -> None:
    made = remediating(
        tmp_path,
        call(REMEDIATOR, 0, asks("act", "restart"), asks("look", "beside")),
        call(REMEDIATOR, 1, says("I would restart it.\n\n```symptom\nsymptom: unknown\n```")),
        dry_run=True,
        approval=ApprovalPolicy.UNLESS_READ_ONLY,
    )
    async with site(database_url, tmp_path, made) as one:
        assert await one.work() == "completed"
        assert one.ran == ["disk-full", "beside"]
        assert await one.approvals() == []
        (action,) = (await detail(one))["actions"]
        assert (action["call"], action["outcome"]) == ('ledger.act {"key": "restart"}', "dry_run")


async def test_a_symptom_that_nothing_shows_to_be_gone_is_not_verified_and_a_failed_stage_leaves_the_analysis(
    database_url: str, tmp_path: Path
) -> None:
    turns = (
        call(REMEDIATOR, 0, asks("act", "restart")),
        call(REMEDIATOR, 1, says("Restarted.")),
        call(REMEDIATOR, 2, says("It is surely gone.\n\n```symptom\nsymptom: gone\n```")),
    )
    async with site(database_url, tmp_path, remediating(tmp_path, *turns, approval=ApprovalPolicy.NEVER)) as one:
        assert await one.work() == "completed"
        (action,) = (await detail(one))["actions"]
        assert (action["outcome"], action["approved_by"], action["verified"]) == ("succeeded", None, "unknown")
    # The model of the second one has nothing to say after the call.
    async with site(database_url, tmp_path, remediating(tmp_path, *turns[:1], approval=ApprovalPolicy.NEVER)) as one:
        assert await one.work() == "completed"
        failed = await detail(one)
        assert [stage["status"] for stage in failed["stages"]] == ["completed", "failed", "completed"]
        assert (failed["verdict"]["outcome"], failed["analysis_is_partial"]) == ("fault", False)
        assert failed["actions"][0]["outcome"] == "succeeded"


PROVIDERS = "llm_providers: {{test-provider: {{type: replay, model: recorded, recording: {recording}}}}}"
GO = """
defaults: {{llm_provider: test-provider, llm_backend: langchain}}
mcp_servers:
  ledger:
    transport: {{type: stdio, command: {python}, args: [-I, -S, {server}], env: {{LEDGER: {ledger}}}}}
agents:
  Looker: {{mcp_servers: [ledger], custom_instructions: Gather evidence about the alert.}}
  Remediator: {{{definition}custom_instructions: Execute justified remediation actions.}}
agent_chains:
  action-chain:
    alert_types: [test-action]
    executive_summary_provider: test-provider
    stages:
      - {{name: look, agents: [{{name: Looker}}]}}
      - {{name: act, agents: [{{name: Remediator{entry}}}]}}
"""


@pytest.mark.parametrize(
    ("definition", "entry"),
    [("type: action, mcp_servers: [ledger], ", ""), ("", ", type: action, mcp_servers: [ledger]")],
    ids=["at the agent", "at the agent of a stage"],
)
async def test_both_ways_in_which_the_go_version_configures_actions_load_and_run(
    database_url: str, tmp_path: Path, definition: str, entry: str
) -> None:
    turns = (call(REMEDIATOR, 0, asks("act", "restart")), call(REMEDIATOR, 1, says("Restarted.")), call(REMEDIATOR, 2, GONE))
    remediating(tmp_path, *turns)
    values = {"python": sys.executable, "server": SERVER, "ledger": tmp_path / "ledger", "definition": definition, "entry": entry}
    (tmp_path / "tarsy.yaml").write_text(GO.format(**values))
    (tmp_path / "llm-providers.yaml").write_text(PROVIDERS.format(recording=tmp_path / "recording.json"))
    loaded = load_config(tmp_path, {})
    assert loaded.warnings == ()
    chain = resolve_chain(loaded.config, "action-chain", None)
    # What the Go version has no key for: its verdict is of low confidence.
    stages = (*chain.investigating, *(stage.model_copy(update={"min_confidence": Confidence.LOW}) for stage in chain.acting))
    async with site(database_url, tmp_path, Scenario(chain.model_copy(update={"stages": stages}))) as one:
        assert await one.work() == "waiting"
        (pending,) = await one.approvals(state="pending")
        await one.decide(pending, "approve")
        assert await one.work() == "completed"
        assert one.ran == ["disk-full", "restart"]
        (action,) = (await detail(one))["actions"]
        assert (action["outcome"], action["approved_by"]) == ("succeeded", "api-client")
