"""The documented shapes are the ones that are sent."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from tarsy.domain import live_events
from tarsy.domain.alert import Severity
from tarsy.domain.approval import Approval, ApprovalState
from tarsy.domain.claim import CHAT_ANSWER
from tarsy.domain.execution import ExecutionChange
from tarsy.domain.followup import ChatUserMessage
from tarsy.domain.incident import Incident
from tarsy.domain.interaction import MCPInteraction, MCPInteractionKind
from tarsy.domain.live_events import LiveEvent, LiveEventType, StreamDelta
from tarsy.domain.note import Note, NoteKind
from tarsy.domain.session import SessionClose
from tarsy.domain.stage import Stage, StageClose, StageType
from tarsy.domain.status import RunStatus, SessionStatus, TimelineStatus
from tarsy.domain.step import WorkClose
from tarsy.domain.timeline import TimelineClose, TimelineEvent, TimelineEventType
from tarsy.domain.verdict import AffectedObject, Confidence, JudgedVerdict, RuledOut, Verdict, VerdictOutcome
from tarsy.domain.work import Pause
from tarsy.events.live_state import OpenStream, Progress
from tarsy.events.schema import SERVER_MESSAGE, json_schema

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SESSION = "0b6f8f3e-9f6a-4d8e-8a75-3f3c6f0a1b2c"
VERDICT = Verdict(
    outcome=VerdictOutcome.FAULT,
    object=AffectedObject(kind="Pod", namespace="shop", name="web-1"),
    mechanism="Its disk is full.",
    evidence=("A1",),
    ruled_out=(RuledOut("the node is full", ("A2",)),),
)
EXPORTED = Path(__file__).parents[3] / "docs" / "live-events.schema.json"


def announced() -> Iterator[LiveEvent]:
    yield live_events.timeline_created(
        TimelineEvent(
            id="e",
            session_id=SESSION,
            stage_id="s",
            execution_id="x",
            sequence_number=1,
            event_type=TimelineEventType.LLM_RESPONSE,
            status=TimelineStatus.STREAMING,
            content="",
            created_at=AT,
        )
    )
    yield live_events.timeline_completed(
        SESSION, TimelineClose(event_id="e", status=TimelineStatus.COMPLETED, content="text", completed_at=AT)
    )
    yield live_events.note_created(SESSION, Note(number=1, kind=NoteKind.HINT, author="ada", text="Look at the disk.", at=AT))
    approval = Approval(
        id="p",
        session_id=SESSION,
        execution_id="x",
        call_id="c",
        evidence_id="A1",
        server="k",
        tool="t",
        arguments="{}",
        call_hash="h",
        state=ApprovalState.PENDING,
        requested_at=AT,
        expires_at=AT,
    )
    yield from live_events.approval_changed(approval)
    yield from live_events.session_status(SESSION, SessionStatus.IN_PROGRESS, alert_type="kubernetes", at=AT)
    for verdict in (None, JudgedVerdict(VERDICT, Confidence.MEDIUM, "no citation could be verified")):
        close = SessionClose(status=SessionStatus.COMPLETED, completed_at=AT, final_analysis="so", verdict=verdict)
        yield live_events.session_concluded(SESSION, close)
        yield from live_events.session_completed(SESSION, close, alert_type="kubernetes")
    yield from live_events.stage_started(
        Stage(
            id="s",
            session_id=SESSION,
            stage_name="look",
            stage_index=0,
            stage_type=StageType.INVESTIGATION,
            expected_agent_count=1,
            status=RunStatus.ACTIVE,
            started_at=AT,
        )
    )
    yield live_events.stage_completed(SESSION, StageClose(stage_id="s", status=RunStatus.COMPLETED, completed_at=AT))
    yield live_events.execution_status(SESSION, ExecutionChange(execution_id="x", at=AT, status=RunStatus.ACTIVE))
    yield live_events.interaction_created(
        MCPInteraction(
            id="i",
            session_id=SESSION,
            stage_id="s",
            execution_id="x",
            kind=MCPInteractionKind.TOOL_CALL,
            server="k",
            tool="t",
            call_id="c",
            arguments="{}",
            result=None,
            is_error=False,
            error_message=None,
            started_at=AT,
            duration_ms=3,
        )
    )
    yield live_events.chat_message(
        ChatUserMessage(id="m", chat_id="c", session_id=SESSION, content="?", author="me", status=RunStatus.PENDING, created_at=AT)
    )
    yield live_events.pauses_changed([Pause("kubernetes", AT, "alice", "costs", parks_running=True)])
    yield live_events.incident_changed(
        Incident(
            id="i",
            key="k",
            route="r",
            title="Disk full",
            severity=Severity.HIGH,
            source="alertmanager",
            alert_type="kubernetes",
            opened_at=AT,
            heard_at=AT,
        ),
        AT,
    )
    yield from live_events.work_completed(SESSION, CHAT_ANSWER, "m", WorkClose(status=RunStatus.COMPLETED, completed_at=AT))


@pytest.mark.parametrize("event", list(announced()), ids=lambda event: f"{event.type} on {event.channel[:8]}")
def test_every_announcement_has_its_documented_shape(event: LiveEvent) -> None:
    sent: dict[str, Any] = {"type": event.type.value, "id": 1, "channel": event.channel, **event.payload}
    assert SERVER_MESSAGE.validate_json(orjson.dumps(sent)).type == event.type


def test_every_type_of_event_is_documented() -> None:
    assert {event.type for event in announced()} == set(LiveEventType)


def test_text_and_progress_have_their_documented_shape() -> None:
    progress = Progress(SESSION, own=True)
    progress.update({"session_id": SESSION, "stage_name": "look", "stage_index": 0, "stage_count": 1})
    stream = OpenStream(StreamDelta(SESSION, "e", 0, ""), own=True)
    stream.write(0, "x")
    for topic in (stream, progress):
        update = topic.since(0)
        assert update is not None
        SERVER_MESSAGE.validate_json(update[0])


def test_the_exported_schema_is_the_current_one() -> None:
    assert json.loads(EXPORTED.read_text()) == json_schema(), "run: python -m tarsy.events.schema > docs/live-events.schema.json"
