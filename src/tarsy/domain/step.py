"""Steps: what a worker writes about a session is a Step, which is stored whole in one transaction or not at all.

A step is fenced by its claim, and the live events about its contents are published in the same transaction.
"""

from dataclasses import dataclass
from datetime import datetime

from tarsy.domain.citation import CheckedCitation
from tarsy.domain.claim import Claim
from tarsy.domain.conversation import Message
from tarsy.domain.execution import AgentExecution, ExecutionChange
from tarsy.domain.followup import Judgement, SessionScore
from tarsy.domain.interaction import LLMInteraction, MCPInteraction
from tarsy.domain.note import Note
from tarsy.domain.run_input import AnyInput
from tarsy.domain.session import SessionClose, SessionConclusion
from tarsy.domain.stage import Stage, StageClose
from tarsy.domain.status import RunStatus
from tarsy.domain.timeline import TimelineClose, TimelineEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkClose:
    """How a chat answer or a scoring ends; a successful scoring has a judgement."""

    status: RunStatus
    completed_at: datetime
    error_message: str | None = None
    judgement: Judgement | None = None


@dataclass(frozen=True, slots=True)
class Compacted:
    """A message's new, shorter content, and the first model call that receives it."""

    message_id: str
    content: str
    before_turn: int


@dataclass(frozen=True, slots=True)
class ExecutionInput:
    execution_id: str
    placed: AnyInput


@dataclass(frozen=True, slots=True)
class ExecutionCitation:
    """A citation of an execution's analysis; `number` is its position there, counted from 0."""

    execution_id: str
    number: int
    checked: CheckedCitation


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    claim: Claim
    stages: tuple[Stage, ...] = ()
    executions: tuple[AgentExecution, ...] = ()
    messages: tuple[Message, ...] = ()
    # Messages whose content is replaced because the conversation exceeds the model's context window.
    compacted: tuple[Compacted, ...] = ()
    opened: tuple[TimelineEvent, ...] = ()
    closed: tuple[TimelineClose, ...] = ()
    llm_interactions: tuple[LLMInteraction, ...] = ()
    mcp_interactions: tuple[MCPInteraction, ...] = ()
    inputs: tuple[ExecutionInput, ...] = ()
    citations: tuple[ExecutionCitation, ...] = ()
    execution_changes: tuple[ExecutionChange, ...] = ()
    stage_closes: tuple[StageClose, ...] = ()
    # What the session has found, before it ends.
    conclusion: SessionConclusion | None = None
    session_close: SessionClose | None = None
    work_close: WorkClose | None = None
    # A scoring to be requested for the session that this step ends.
    score: SessionScore | None = None
    # The runbook of the session's agents.
    runbook: str | None = None
    # The last note that the writer knows: storing the step returns the notes after it. None: no notes are returned.
    notes_after: int | None = None
    # Store the step only if there are no such notes.
    unless_notes: bool = False

    @property
    def session_id(self) -> str:
        return self.claim.session_id


@dataclass(frozen=True, slots=True)
class Committed:
    """The result of storing a step; `refused`: it was not stored because of these notes."""

    notes: tuple[Note, ...] = ()
    refused: bool = False


@dataclass(frozen=True, slots=True)
class StoredCall:
    """An earlier model call of the same execution, without its body."""

    kind: str
    turn: int
    error_code: str | None
    error_message: str | None = None
    provider: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """The stored state of an execution, from which a controller starts or resumes."""

    # Whether the execution was active before.
    begun: bool = False
    messages: tuple[Message, ...] = ()
    # All model calls so far, failed ones included, oldest first.
    calls: tuple[StoredCall, ...] = ()
    next_timeline_sequence: int = 1
    # The ids of tool calls that timed out.
    timed_out_tools: frozenset[str] = frozenset()
    inputs: tuple[AnyInput, ...] = ()
