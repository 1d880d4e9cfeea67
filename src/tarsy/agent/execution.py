"""One execution of an agent: what it is given, why it is stopped, which recorded inputs it replays, and how it ends."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Never, TypeVar

import anyio

from tarsy.agent.budget.ceilings import Ceilings
from tarsy.agent.executive_summary import SummarySource
from tarsy.agent.ports import (
    ApprovalStore,
    ChangeLog,
    Journal,
    LiveText,
    LLMClient,
    Mask,
    Prices,
    ResultStore,
    SkillTexts,
    ToolExecutor,
    ToolServers,
)
from tarsy.agent.prompt.builder import ChatPrompt, PromptBuilder
from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedMcpServer
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.conversation import ToolCall
from tarsy.domain.evidence import Evidence, call_id
from tarsy.domain.execution import AgentType, ExecutionPlace, Wait
from tarsy.domain.run_input import AnyInput, CutShort, InputPlace, Now, PlacedInput, ReadAt, RunInput, ToolsChanged, Unfinished, place_of
from tarsy.domain.status import RunStatus
from tarsy.domain.tool import Tag
from tarsy.kit.clock import Clock

_Input = TypeVar("_Input", bound=RunInput)


class StopReason(StrEnum):
    # Another worker will continue the run: this process shuts down.
    HANDED_OVER = "handed_over"
    # The run continues when the event it waits for has happened.
    PARKED = "parked"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    # Another worker has already taken the work over: every write would be rejected.
    LOST = "lost"


@dataclass(slots=True)
class StopState:
    """Why a session, stage or execution is stopped. The reason is set before the scope is cancelled, and read for the last write.

    A part without a reason of its own has that of its `parent`.
    """

    parent: "StopState | None" = None
    own_reason: StopReason | None = None
    # The error message of a run that timed out.
    timeout_message: str = "the session ran out of time"
    # Whether the agent has begun, and so writes its last step itself.
    ends_itself: bool = False

    @property
    def reason(self) -> StopReason:
        if self.own_reason is not None:
            return self.own_reason
        return self.parent.reason if self.parent else StopReason.HANDED_OVER

    @property
    def is_partial(self) -> bool:
        """Whether only a part of the session is stopped."""
        return self.parent is not None and (self.own_reason is not None or self.parent.is_partial)

    @property
    def message(self) -> str:
        """The error message of the part whose time was up."""
        return self.timeout_message if self.own_reason is not None or self.parent is None else self.parent.message


@dataclass(frozen=True, slots=True)
class RecordedCut:
    """The point at which a recorded execution was stopped: before the end of its call `turn`. A replay stops at the same point.

    `stop` stops the execution for the recorded reason.
    """

    turn: int
    cut: CutShort
    stop: Callable[[], None]

    @classmethod
    def find(cls, inputs: Sequence[AnyInput], track: str, stop: Callable[[CutShort], None]) -> "RecordedCut | None":
        """Return where the conversation on `track` was cut short; None if it was not."""
        cuts = (
            cls(one.turn, one.value, partial(stop, one.value)) for one in inputs if one.track == track and isinstance(one.value, CutShort)
        )
        return next(cuts, None)

    def is_at_call(self, turn: int) -> bool:
        """Whether the model call `turn` was not made, or not completed."""
        return turn == self.turn and not self.cut.waiting

    def is_within(self, tool_call_id: str, turn: int) -> bool:
        """Whether the result of a tool call was not yet in the conversation whose next model call is `turn`."""
        return turn == self.turn and tool_call_id in self.cut.waiting

    def output_of(self, tool_call_id: str) -> str | None:
        """Return the output of a tool so far; None if it had returned, and its result was being summarised, or if the call needs an approval."""
        return next((one.content for one in self.cut.unfinished if one.call_id == tool_call_id), None)

    @property
    def streaming_texts(self) -> tuple[Unfinished, ...]:
        """The texts that models were writing."""
        return tuple(one for one in self.cut.unfinished if one.call_id is None)

    async def reach(self) -> Never:
        """Stop the execution and wait for its cancellation."""
        self.stop()
        await anyio.sleep_forever()
        raise AssertionError("an execution that was stopped does not wake up")


class Inputs:
    """The inputs of one execution. Those it had before, or when it was recorded, are replayed; only new ones are taken from the clock.

    Each comes with its place, to be stored in the step it leads to; storing one twice changes nothing.
    """

    def __init__(self, track: str, known: Sequence[AnyInput], clock: Clock, *, is_replay: bool) -> None:
        self._track = track
        self._is_replay = is_replay
        self._known: dict[InputPlace, RunInput] = {place_of(one.turn, one.value): one.value for one in known if one.track == track}
        self._clock = clock

    def now(self, turn: int) -> PlacedInput[Now]:
        """Return the time that the request of this turn states."""
        return self._replayed(turn, Now(self._clock.now()))

    def read_at(self, turn: int, evidence_id: str) -> PlacedInput[ReadAt]:
        """Return when the result of this call was read: the moment of the first call of this method."""
        return self._replayed(turn, ReadAt(evidence_id, self._clock.now()))

    def first_tools(self, listed: Sequence[str]) -> Sequence[str]:
        """Return the names of the tools to begin with: of a recording that lists those of the whole run, the ones before the first change."""
        changes = sorted((turn, change.before) for (turn, _, _), change in self._known.items() if isinstance(change, ToolsChanged))
        return changes[0][1] if self._is_replay and changes else listed

    def tools_changed(self, turn: int, offered: Sequence[str], listed: Sequence[str]) -> PlacedInput[ToolsChanged] | None:
        """Return the change of the tools before the request of this turn, if any. A replay has those of its recording and no others."""
        fresh = ToolsChanged(tuple(offered), tuple(listed))
        if place_of(turn, fresh) not in self._known and (self._is_replay or {*offered} == {*listed}):
            return None
        change = self._replayed(turn, fresh)
        # The model of a resumed run has been informed already.
        return change if {*change.value.after} != {*offered} else None

    def _replayed(self, turn: int, fresh: _Input) -> PlacedInput[_Input]:
        known = self._known.setdefault(place_of(turn, fresh), fresh)
        # Two inputs of one place are of one kind.
        return PlacedInput(self._track, turn, known if isinstance(known, type(fresh)) else fresh)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentServices:
    """The models, tools and stores that all executions of a process share."""

    llm: LLMClient
    prices: Prices
    tools: ToolServers
    journal: Journal
    results: ResultStore
    changes: ChangeLog
    skills: SkillTexts
    live: LiveText
    # None: no person can be asked.
    approvals: ApprovalStore | None = None
    mask: Mask
    # Returns the tags of a session's secrets by its nonce.
    tags: Callable[[str], Tag] | None = None
    clock: Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOverrides:
    """The clock and the recorded inputs of a session that is replayed or simulated."""

    clock: Clock
    recorded_inputs: Sequence[AnyInput] = ()
    # Whether it was recorded under older rules: what an answer became then is not decided again.
    older_rules: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceIds:
    """The ids under which an execution may cite: its tool calls are numbered after `prefix`, its documents are cited by name."""

    prefix: str
    documents: tuple[Evidence, ...] = ()
    # Evidence ids by the ids of tool calls.
    of_calls: dict[str, str] = field(default_factory=dict[str, str])

    def assign(self, calls: Iterable[ToolCall]) -> None:
        """Give the next ids to calls, in the order in which the model made them."""
        for call in calls:
            self.of_calls[call.id] = call_id(self.prefix, len(self.of_calls) + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionContext:
    """The parts that one execution works with. `previous` holds the findings of earlier stages, as its agent reads them."""

    place: ExecutionPlace
    services: AgentServices
    overrides: SessionOverrides
    config: ResolvedAgentConfig
    servers: Mapping[str, ResolvedMcpServer]
    prompts: PromptBuilder
    previous: str = ""
    # What an executive summary is written from.
    summarised: SummarySource | None = None
    chat: ChatPrompt | None = None
    tools: ToolExecutor
    ceilings: Ceilings
    evidence: EvidenceIds
    cut: RecordedCut | None = None

    @property
    def receives_notes(self) -> bool:
        """Whether notes on the session are delivered to this agent: only to those that investigate, synthesise or act."""
        return self.place.claim.kind == INVESTIGATION and self.config.type in {AgentType.DEFAULT, AgentType.SYNTHESIS, AgentType.ACTION}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionResult:
    """The end of an execution, or with `waits`, the reason to continue it later. All earlier steps are stored."""

    status: RunStatus
    final_analysis: str = ""
    error: str | None = None
    waits: Wait | None = None
