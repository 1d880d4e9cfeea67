"""One durable step of a run, as a value: everything in it is written in one transaction, or nothing is.

Every write of a worker is a Step. It is fenced by the claim it names, and whatever in it a person should see is published
with it.
"""

from dataclasses import dataclass, fields, replace
from datetime import datetime

from tarsy.domain.citation import CheckedCitation
from tarsy.domain.claim import Claim
from tarsy.domain.conversation import Message
from tarsy.domain.execution import AgentExecution, ExecutionChange
from tarsy.domain.followup import Judgement, SessionScore
from tarsy.domain.interaction import LLMInteraction, MCPInteraction
from tarsy.domain.note import Note
from tarsy.domain.run_input import AnyInput
from tarsy.domain.session import SessionClose
from tarsy.domain.stage import Stage, StageClose
from tarsy.domain.status import RunStatus
from tarsy.domain.timeline import TimelineClose, TimelineEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkClose:
    """How a chat answer or a scoring ends; a scoring that succeeded brings its judgement."""

    status: RunStatus
    completed_at: datetime
    error_message: str | None = None
    judgement: Judgement | None = None


@dataclass(frozen=True, slots=True)
class Compacted:
    """A message's new, shorter content, and the first model call that is sent it."""

    message_id: str
    content: str
    before_turn: int


@dataclass(frozen=True, slots=True)
class ExecutionInput:
    execution_id: str
    placed: AnyInput


@dataclass(frozen=True, slots=True)
class ExecutionCitation:
    """A citation of an execution's analysis, by its number there, counted from 0."""

    execution_id: str
    number: int
    checked: CheckedCitation


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    claim: Claim
    stages: tuple[Stage, ...] = ()
    executions: tuple[AgentExecution, ...] = ()
    messages: tuple[Message, ...] = ()
    # Messages whose content is replaced because the conversation outgrew the model's window.
    compacted: tuple["Compacted", ...] = ()
    opened: tuple[TimelineEvent, ...] = ()
    closed: tuple[TimelineClose, ...] = ()
    llm_interactions: tuple[LLMInteraction, ...] = ()
    mcp_interactions: tuple[MCPInteraction, ...] = ()
    # What else reached an execution, which it names.
    inputs: tuple["ExecutionInput", ...] = ()
    citations: tuple["ExecutionCitation", ...] = ()
    execution_changes: tuple[ExecutionChange, ...] = ()
    stage_closes: tuple[StageClose, ...] = ()
    session_close: SessionClose | None = None
    work_close: WorkClose | None = None
    # A judgement of the session that this step ends.
    score: SessionScore | None = None
    # The runbook that the session's agents are given.
    runbook: str | None = None
    # The last note that the writer knows of: the statement that writes the step answers with those after it. None: it wants none.
    notes_after: int | None = None
    # Written only if there are none.
    unless_notes: bool = False

    @property
    def session_id(self) -> str:
        return self.claim.session_id

    def then(self, later: "Step") -> "Step":
        """One step that does what both do, in this order; `later` says whether it ends something and what is to be known of notes."""
        return replace(later, **{name: (*first, *getattr(later, name)) for name in _SEVERAL if (first := getattr(self, name))})


_SEVERAL = tuple(one.name for one in fields(Step) if one.default == ())


@dataclass(frozen=True, slots=True)
class Committed:
    """What the writer of a step learns from writing it; `refused`: it was not written, because of these notes."""

    notes: tuple[Note, ...] = ()
    refused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """All that an execution has stored: what a controller needs to go on, or to begin."""

    # Whether it was marked active before.
    begun: bool = False
    messages: tuple[Message, ...] = ()
    # One row per model call made so far, failed ones included, oldest first, without their bodies.
    calls: tuple["StoredCall", ...] = ()
    next_timeline_sequence: int = 1
    # The ids of tool calls that ended with a timeout.
    timed_out_tools: frozenset[str] = frozenset()
    inputs: tuple[AnyInput, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredCall:
    """What counts about an earlier model call of the same execution."""

    kind: str
    turn: int
    error_code: str | None
    error_message: str | None = None
    provider: str = ""
