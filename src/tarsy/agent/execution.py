"""One agent execution: what it is given, how it is stopped, which recorded inputs it replays, and its result."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Never, TypeVar

import anyio

from tarsy.agent.budget.ceilings import Ceilings
from tarsy.agent.ports import LiveText, LLMClient, Mask, Prices, ResultStore, RunJournal, ToolExecutor
from tarsy.agent.prompt.builder import ChatPrompt, PromptBuilder
from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedMcpServer
from tarsy.domain.claim import INVESTIGATION, Claim
from tarsy.domain.execution import AgentType, Wait
from tarsy.domain.run_input import AnyInput, CutShort, InputPlace, Now, PlacedInput, ReadAt, RunInput, Unfinished, place_of
from tarsy.domain.status import RunStatus
from tarsy.kit.clock import Clock


class StopReason(StrEnum):
    # Another worker will go on with it: a shutdown, or the end of this process.
    HANDED_OVER = "handed_over"
    # It goes on when what it waits for has happened.
    PARKED = "parked"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    # Another worker already does: every write would be refused.
    LOST = "lost"


@dataclass(slots=True)
class Stopping:
    """The reason for one thing; without one of its own, that of the whole it is part of."""

    whole: "Stopping | None" = None
    own: StopReason | None = None
    # What is said of a run whose time was up.
    out_of_time: str = "the session ran out of time"
    # Whether the agent that is stopped is there to write its last words itself.
    attended: bool = False

    @property
    def reason(self) -> StopReason:
        if self.own is not None:
            return self.own
        return self.whole.reason if self.whole else StopReason.HANDED_OVER

    @property
    def alone(self) -> bool:
        """Whether only a part of the whole is stopped."""
        return self.whole is not None and (self.own is not None or self.whole.alone)

    @property
    def told(self) -> str:
        """Whose time was up, in words for people."""
        return self.out_of_time if self.own is not None or self.whole is None else self.whole.told


@dataclass(frozen=True, slots=True)
class CutPlace:
    """The `turn` before whose end it was cut; `end` stops the execution for the reason that was recorded."""

    turn: int
    cut: CutShort
    end: Callable[[], None]

    @classmethod
    def recorded(cls, inputs: Sequence[AnyInput], track: str, end: Callable[[CutShort], None]) -> "CutPlace | None":
        """Where the conversation on `track` was cut short; None: it was not."""
        places = (
            cls(one.turn, one.value, partial(end, one.value)) for one in inputs if one.track == track and isinstance(one.value, CutShort)
        )
        return next(places, None)

    def is_at_call(self, turn: int) -> bool:
        """Whether the model call `turn` is the one that was not made, or not to its end."""
        return turn == self.turn and not self.cut.waiting

    def is_within(self, call_id: str, turn: int) -> bool:
        """Whether the result of a tool call had not reached the conversation when its next model call was to be `turn`."""
        return turn == self.turn and call_id in self.cut.waiting

    def output_of(self, call_id: str) -> str | None:
        """What a tool had said so far; None: it had answered, and its result was being summarised."""
        return next((one.content for one in self.cut.unfinished if one.call_id == call_id), None)

    @property
    def being_said(self) -> tuple[Unfinished, ...]:
        """What models were saying."""
        return tuple(one for one in self.cut.unfinished if one.call_id is None)

    async def come(self) -> Never:
        """End here: what waits is woken by being cancelled."""
        self.end()
        await anyio.sleep_forever()
        raise AssertionError("an execution that has been ended does not wake up")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionContext:
    """Identity, configuration and dependencies of an execution. `previous` is what earlier stages found, as its agent should read it."""

    claim: Claim
    stage_id: str
    execution_id: str
    track: str
    config: ResolvedAgentConfig
    servers: Mapping[str, ResolvedMcpServer]
    prompts: PromptBuilder
    llm: LLMClient
    tools: ToolExecutor
    journal: RunJournal
    live: LiveText
    results: ResultStore
    prices: Prices
    ceilings: Ceilings
    mask: Mask
    clock: Clock
    # What the ids of its tool calls begin with: its letter in the plan, or what a question gives.
    evidence_prefix: str
    # The id under which the result of each of its tool calls may be cited, by call id; the run fills it.
    evidence_ids: dict[str, str] = field(default_factory=dict[str, str])
    # What its agent was given, by the ids under which it may be cited, whole.
    documents: Mapping[str, str] = field(default_factory=dict[str, str])
    # What its agent is told the time by, where that is not the time at which its steps are stored.
    told_clock: Clock | None = None
    # Inputs that it had when it was recorded.
    recorded_inputs: Sequence[AnyInput] = ()
    # Where it was cut short when it was recorded.
    cut: CutPlace | None = None
    previous: str = ""
    chat: ChatPrompt | None = None

    @property
    def session_id(self) -> str:
        return self.claim.session_id

    @property
    def takes_notes(self) -> bool:
        """Whether its agent is told what reaches the session meanwhile: those that investigate are, or that bring their findings together."""
        return self.claim.kind == INVESTIGATION and self.config.type in {AgentType.DEFAULT, AgentType.SYNTHESIS}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionResult:
    """How an execution ended, or that it `waits` to be continued; everything in between is already stored."""

    status: RunStatus
    final_analysis: str = ""
    error: str | None = None
    waits: Wait | None = None


_Input = TypeVar("_Input", bound=RunInput)


class Inputs:
    """Gives each input with its place, to be stored in the step that it leads to; storing one again changes nothing."""

    def __init__(self, track: str, known: Sequence[AnyInput], clock: Clock) -> None:
        self._track = track
        self._known: dict[InputPlace, RunInput] = {place_of(one.turn, one.value): one.value for one in known if one.track == track}
        self._clock = clock

    def now(self, turn: int) -> PlacedInput[Now]:
        """The time that the request of this turn states."""
        return self._played(turn, Now(self._clock.now()))

    def read_at(self, turn: int, evidence_id: str) -> PlacedInput[ReadAt]:
        """When the result of this call was read: at the moment it is first asked for."""
        return self._played(turn, ReadAt(evidence_id, self._clock.now()))

    def _played(self, turn: int, fresh: _Input) -> PlacedInput[_Input]:
        known = self._known.setdefault(place_of(turn, fresh), fresh)
        # Two inputs of one place are of one kind.
        return PlacedInput(self._track, turn, known if isinstance(known, type(fresh)) else fresh)
