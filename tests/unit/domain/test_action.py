"""What became of calls that may change something, as their timeline and their approvals tell it."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tarsy.agent.prompt.nudges import unknown_outcome_result
from tarsy.domain.action import ActionOutcome, Verified, actions_of
from tarsy.domain.approval import Approval, ApprovalState
from tarsy.domain.execution import AgentExecution
from tarsy.domain.history import ExecutionRecord, StageRecord
from tarsy.domain.notification import EventKind, NotificationEvent
from tarsy.domain.notification_text import Markup, render
from tarsy.domain.stage import Stage, StageType
from tarsy.domain.status import RunStatus, TimelineStatus
from tarsy.domain.timeline import TimelineEvent, TimelineEventType

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DONE, FAILED, STREAMING = TimelineStatus.COMPLETED, TimelineStatus.FAILED, TimelineStatus.STREAMING
CALL = {"call_id": "c", "server_name": "cluster", "tool_name": "restart", "evidence_id": "B1", "action": "call"}
READ = {"call_id": "r", "server_name": "cluster", "tool_name": "get", "evidence_id": "B2"}
GONE = "It answers.\n\n```symptom\nsymptom: gone\n```"


def event(number: int, kind: TimelineEventType, text: str, status: TimelineStatus = DONE, /, **metadata: Any) -> TimelineEvent:
    return TimelineEvent(
        id=str(number),
        session_id="x",
        stage_id="s",
        execution_id="e",
        sequence_number=number,
        event_type=kind,
        status=status,
        content=text,
        created_at=NOW,
        metadata=metadata,
    )


def result(number: int, text: str = "done", status: TimelineStatus = DONE, /, **metadata: Any) -> TimelineEvent:
    return event(number, TimelineEventType.TOOL_RESULT, text, status, **{**CALL, "is_error": status is not DONE, **metadata})


def acted(*after: TimelineEvent, status: RunStatus = RunStatus.COMPLETED, kind: StageType = StageType.ACTION) -> list[StageRecord]:
    called = event(1, TimelineEventType.LLM_TOOL_CALL, '{"name": "cart"}', **CALL)
    stage = Stage(id="s", session_id="x", stage_name="act", stage_index=1, stage_type=kind, expected_agent_count=1, status=status)
    execution = AgentExecution(
        id="e",
        session_id="x",
        stage_id="s",
        agent_name="A",
        agent_index=1,
        llm_backend="langchain",
        llm_provider="p",
        model_name="m",
        tool_calling="native",
        status=status,
    )
    return [StageRecord(stage, (ExecutionRecord(execution, (called, *after)),))]


def approval(state: ApprovalState, started_at: datetime | None = None) -> Approval:
    return Approval(
        id="a",
        session_id="x",
        execution_id="e",
        call_id="c",
        evidence_id="B1",
        server="cluster",
        tool="restart",
        arguments="{}",
        call_hash="h",
        state=state,
        requested_at=NOW,
        expires_at=NOW,
        decided_by="ada" if state is ApprovalState.APPROVED else None,
        started_at=started_at,
    )


@pytest.mark.parametrize(
    ("after", "outcome"),
    [
        (result(2), ActionOutcome.SUCCEEDED),
        (result(2, "no such pod", FAILED), ActionOutcome.FAILED),
        (result(2, "a person rejected the call", FAILED, refused=True), ActionOutcome.NOT_RUN),
        (result(2, unknown_outcome_result("cluster.restart"), FAILED, refused=True), ActionOutcome.UNKNOWN),
        (result(2, "Lost. Whether it took effect is unknown: check before calling it again.", FAILED), ActionOutcome.UNKNOWN),
        (result(2, "too slow", TimelineStatus.TIMED_OUT), ActionOutcome.UNKNOWN),
        (result(2, "", TimelineStatus.CANCELLED), ActionOutcome.UNKNOWN),
    ],
)
def test_a_result_tells_what_became_of_a_call(after: TimelineEvent, outcome: ActionOutcome) -> None:
    (action,) = actions_of(acted(after))
    assert (action.call, action.outcome) == ('cluster.restart {"name": "cart"}', outcome)


def test_of_a_call_without_a_result_its_approval_tells_whether_it_began() -> None:
    cancelled = acted(status=RunStatus.CANCELLED)
    (waited,) = actions_of(cancelled, [approval(ApprovalState.EXPIRED)])
    assert (waited.outcome, waited.approved_by) == (ActionOutcome.NOT_RUN, None)
    (began,) = actions_of(cancelled, [approval(ApprovalState.APPROVED, NOW)])
    assert (began.outcome, began.approved_by) == (ActionOutcome.UNKNOWN, "ada")
    (waits,) = actions_of(acted(status=RunStatus.ACTIVE), [approval(ApprovalState.PENDING)])
    assert waits.outcome is ActionOutcome.PENDING


def test_the_symptom_is_gone_only_if_something_was_read_after_the_call() -> None:
    read, ended = event(3, TimelineEventType.TOOL_RESULT, "ready", **READ), event(4, TimelineEventType.FINAL_ANALYSIS, GONE)
    failed = event(3, TimelineEventType.TOOL_RESULT, "ready", FAILED, **READ)
    before = event(1, TimelineEventType.TOOL_RESULT, "ready", **READ)
    found = [
        actions_of(acted(result(2), *more))[0].verified for more in ((read, ended), (ended,), (failed, ended), (before, ended), (read,))
    ]
    assert found == [Verified.YES, Verified.UNKNOWN, Verified.UNKNOWN, Verified.UNKNOWN, Verified.UNKNOWN]
    assert actions_of(acted(result(2), read, ended, kind=StageType.INVESTIGATION)) == ()


def test_a_notification_shows_each_action_in_a_line_of_its_own() -> None:
    approved = {"approval": {"decision": "approved", "actor": "ada", "reason": ""}}
    actions = actions_of(acted(result(2, **approved)))
    text = render(NotificationEvent(kind=EventKind.VERDICT, at=NOW, title="Down", actions=actions), Markup.NONE)
    assert text.splitlines()[-1] == 'cluster.restart {"name": "cart"}: succeeded, approved by ada'
    mentions = NotificationEvent(kind=EventKind.VERDICT, at=NOW, title="Down", actions=(replace(actions[0], call="c.d <!channel> @ada"),))
    assert not {"<!channel>", "@ada"} & set(render(mentions, Markup.SLACK).split())
