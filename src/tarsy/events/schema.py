"""The shape of every message a client may get, as models that yield JSON Schema. `python -m tarsy.events.schema` prints it.

The events are made in `tarsy.domain.live_events`; a test holds both against each other.
"""

import json
import sys
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter

from tarsy.domain.alert import Severity
from tarsy.domain.approval import ApprovalState
from tarsy.domain.incident import IncidentState
from tarsy.domain.note import NoteKind
from tarsy.domain.stage import StageType
from tarsy.domain.status import RunStatus, SessionStatus, TimelineStatus
from tarsy.domain.timeline import TimelineEventType
from tarsy.domain.verdict import Confidence, StillHappening, VerdictOutcome
from tarsy.events.messages import ControlMessage


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Stored(_Message):
    """A stored event: `id` grows by one per event of its channel."""

    id: int
    channel: str
    session_id: str


class TimelineEntry(_Message):
    """What a person sees as one entry of the timeline."""

    id: str
    stage_id: str | None
    execution_id: str | None
    sequence_number: int
    event_type: TimelineEventType
    status: TimelineStatus
    content: str
    metadata: dict[str, Any]
    created_at: AwareDatetime
    completed_at: AwareDatetime | None


class TimelineEventCreated(_Stored):
    """A new entry. With status `streaming`, its text follows in `stream.chunk` and whole in `timeline_event.completed`."""

    type: Literal["timeline_event.created"]
    event: TimelineEntry


class TimelineEventCompleted(_Stored):
    """The end of a streaming entry. `event_type` is set when the entry turned out to be something else than announced."""

    type: Literal["timeline_event.completed"]
    event_id: str
    event_type: TimelineEventType | None
    status: TimelineStatus
    content: str
    metadata: dict[str, Any]
    completed_at: AwareDatetime


class SessionStatusChanged(_Stored):
    """A session moved to another status; also on `sessions`. With status `waiting`, `waiting_reason` says what for."""

    type: Literal["session.status"]
    status: SessionStatus
    alert_type: str
    at: AwareDatetime
    waiting_reason: str | None = None


class AffectedObjectEntry(_Message):
    kind: str
    namespace: str
    name: str


class RuledOutEntry(_Message):
    hypothesis: str
    evidence: list[str]


class VerdictEntry(_Message):
    """What the analysis comes to. `confidence` is the one to show; where it is less than was claimed, `confidence_reason` says why."""

    outcome: VerdictOutcome
    object: AffectedObjectEntry | None
    mechanism: str
    confidence_object: Confidence
    confidence_mechanism: Confidence
    confidence: Confidence
    confidence_reason: str
    since: str
    still_happening: StillHappening
    evidence: list[str]
    ruled_out: list[RuledOutEntry]
    category: str


class SessionConcluded(_Stored):
    """A session has its analysis; the executive summary is being written. Null: the analysis came without a verdict."""

    type: Literal["session.concluded"]
    final_analysis: str | None
    analysis_is_partial: bool
    analysis_partial_reason: str | None
    verdict: VerdictEntry | None


class SessionCompleted(_Stored):
    """A session ended; also on `sessions`, there without the texts. Null: its analysis came without a verdict."""

    type: Literal["session.completed"]
    status: SessionStatus
    alert_type: str
    at: AwareDatetime
    error_message: str | None
    analysis_is_partial: bool
    analysis_partial_reason: str | None = None
    final_analysis: str | None = None
    executive_summary: str | None = None
    verdict: VerdictEntry | None = None


class PauseEntry(_Message):
    """Something that a person holds back; without `chain_id`, everything."""

    chain_id: str | None
    since: AwareDatetime
    actor: str
    reason: str
    parks_running: bool


class PausesChanged(_Message):
    """A pause began or ended, on `sessions`: all that is paused now."""

    id: int
    channel: str
    type: Literal["pauses.changed"]
    pauses: list[PauseEntry]


class IncidentChanged(_Message):
    """An incident was opened, or something of it is different; on `incidents`."""

    id: int
    channel: str
    type: Literal["incident.changed"]
    incident_id: str
    state: IncidentState
    title: str
    severity: Severity
    source: str
    firing: int
    alerts: int
    deliveries: int
    opened_at: AwareDatetime
    resolved_at: AwareDatetime | None
    # The last investigation.
    last_session_id: str | None
    at: AwareDatetime


class NoteEntry(_Message):
    """What an engineer said to the agents, or what became of the incident's alerts."""

    number: int
    kind: NoteKind
    author: str
    text: str
    at: AwareDatetime


class ApprovalChanged(_Stored):
    """A tool call waits for a person's approval, was decided about, or has expired; also on `sessions`. `GET /approvals` has its arguments."""

    type: Literal["approval.changed"]
    approval_id: str
    server: str
    tool: str
    state: ApprovalState
    expires_at: AwareDatetime
    decided_by: str | None


class NoteCreated(_Stored):
    """Something reached a running investigation. Each agent is told before its next call, which makes an entry of its timeline."""

    type: Literal["note.created"]
    note: NoteEntry


class StageStarted(_Stored):
    """A stage began; also on `sessions`."""

    type: Literal["stage.started"]
    stage_id: str
    stage_name: str
    stage_index: int
    stage_type: StageType
    expected_agent_count: int
    referenced_stage_id: str | None
    status: RunStatus
    started_at: AwareDatetime | None


class StageCompleted(_Stored):
    type: Literal["stage.completed"]
    stage_id: str
    status: RunStatus
    error_message: str | None
    completed_at: AwareDatetime


class ExecutionStatusChanged(_Stored):
    """An agent's work moved on: another status, or another model took over. What is null stays as it was."""

    type: Literal["execution.status"]
    execution_id: str
    status: RunStatus | None
    error_message: str | None
    llm_provider: str | None
    model_name: str | None
    at: AwareDatetime


class InteractionCreated(_Stored):
    """A model or tool call is on record."""

    type: Literal["interaction.created"]
    interaction_id: str
    execution_id: str
    interaction_type: Literal["llm", "mcp"]
    duration_ms: int
    failed: bool


class ChatMessage(_Stored):
    """A question was asked or moved on; with `work`, the end of an answer or of a scoring."""

    type: Literal["chat.message"]
    message_id: str
    status: RunStatus
    error_message: str | None
    content: str | None = None
    author: str | None = None
    stage_id: str | None = None
    created_at: AwareDatetime | None = None
    work: str | None = None
    at: AwareDatetime | None = None


class StreamChunk(_Message):
    """Text of a streaming entry. The client keeps its first `offset` characters and puts `delta` after them."""

    type: Literal["stream.chunk"]
    channel: str
    session_id: str
    event_id: str
    offset: int
    delta: str


class SessionProgress(_Message):
    """Where a running session is, on `sessions`."""

    type: Literal["session.progress"]
    channel: str
    session_id: str
    stage_name: str
    stage_index: int
    stage_count: int


StoredEvent = (
    TimelineEventCreated
    | TimelineEventCompleted
    | SessionStatusChanged
    | SessionConcluded
    | SessionCompleted
    | PausesChanged
    | IncidentChanged
    | NoteCreated
    | ApprovalChanged
    | StageStarted
    | StageCompleted
    | ExecutionStatusChanged
    | InteractionCreated
    | ChatMessage
)
ServerMessage = Annotated[StoredEvent | StreamChunk | SessionProgress | ControlMessage, Field(discriminator="type")]

SERVER_MESSAGE: TypeAdapter[Any] = TypeAdapter(ServerMessage)


def json_schema() -> dict[str, Any]:
    """One schema for everything a client may get; each type is a definition of its own."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "TARSy live messages",
        **SERVER_MESSAGE.json_schema(mode="serialization", ref_template="#/$defs/{model}"),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(json_schema(), indent=2, sort_keys=True) + "\n")
