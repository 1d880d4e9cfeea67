"""Runs one agent on a recorded model with its record in memory, and lets it die after any step."""

from collections import Counter
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from anyio.lowlevel import checkpoint

from support.agent_scenario import NONCE, SERVER, Scenario
from tarsy.agent.agent import execute
from tarsy.agent.budget.ceilings import Ceilings
from tarsy.agent.budget.ledger import SESSION, Ledger
from tarsy.agent.execution import AgentServices, EvidenceIds, ExecutionContext, ExecutionResult, RecordedCut, SessionOverrides, StopState
from tarsy.agent.ports import Prices, ToolExecutor
from tarsy.agent.prompt.builder import PromptBuilder, PromptContext
from tarsy.agent.toolbox.read_result import ReadResult
from tarsy.agent.toolbox.toolbox import toolbox
from tarsy.config.schema.budget import CostEstimationConfig
from tarsy.domain.budget import Reservation, SpentBy
from tarsy.domain.citation import CheckedCitation
from tarsy.domain.claim import INVESTIGATION, Claim
from tarsy.domain.conversation import Message, ToolCall
from tarsy.domain.evidence import ALERT, AnsweredCall, Evidence
from tarsy.domain.execution import ExecutionPlace
from tarsy.domain.interaction import LLMInteraction, MCPInteraction
from tarsy.domain.live_events import StreamDelta
from tarsy.domain.note import Note
from tarsy.domain.period_budget import PeriodBudget, PeriodState
from tarsy.domain.run_input import AnyInput, CutShort, InputPlace, place_of
from tarsy.domain.status import RunStatus
from tarsy.domain.step import Committed, Step, StoredCall, StoredRun
from tarsy.domain.timeline import TimelineEvent, TimelineEventType
from tarsy.domain.tool import ToolCatalog, ToolOutcome, ToolResult
from tarsy.kit.clock import Clock, FixedClock
from tarsy.llm.in_process import in_process_client
from tarsy.llm.prices import PriceList
from tarsy.session.agent_runner import continued_with
from tarsy.tools.masking.masker import Unmasked
from tarsy.tools.recorded import RecordedTools, RecordedToolServers

EXECUTION = "execution"


class MemorySpending:
    """A spending store in memory: keeps what is reserved; nothing was spent before."""

    def __init__(self) -> None:
        self.reserved: list[Reservation] = []

    async def spent(self, session_id: str) -> Sequence[SpentBy]:
        del session_id
        return ()

    async def is_critical(self, session_id: str) -> bool:
        del session_id
        return False

    async def reserve(self, reservation: Reservation, periods: Sequence[PeriodBudget]) -> PeriodState | None:
        needed = sum((one.wanted.usd for one in self.reserved), Decimal(0)) + reservation.wanted.usd + reservation.kept.usd
        for budget in periods:
            if needed > budget.usd:
                return PeriodState(budget=budget, spent=needed - reservation.wanted.usd - reservation.kept.usd)
        self.reserved.append(reservation)
        return None

    async def mark_sent(self, reservation: Reservation) -> None:
        assert reservation in self.reserved


class DiedError(BaseException):
    """The process is gone: nothing of it may write any more, least of all that it failed."""


@dataclass(slots=True)
class MemoryJournal:
    """A journal and result store that keeps what it is given, and dies after `dies_after` steps."""

    dies_after: int | None = None
    steps: int = 0
    messages: dict[str, Message] = field(default_factory=dict[str, Message])
    events: dict[str, TimelineEvent] = field(default_factory=dict[str, TimelineEvent])
    llm: list[LLMInteraction] = field(default_factory=list[LLMInteraction])
    mcp: list[MCPInteraction] = field(default_factory=list[MCPInteraction])
    inputs: dict[InputPlace, AnyInput] = field(default_factory=dict[InputPlace, AnyInput])
    citations: list[CheckedCitation] = field(default_factory=list[CheckedCitation])
    # Notes, each with when it is there: asked of the record and the step that is being written.
    notes: Sequence[tuple[Note, Callable[["MemoryJournal", Step], bool]]] = ()
    begun: bool = False
    provider: str = ""
    backend: str = ""
    status: RunStatus | None = None

    async def commit(self, step: Step) -> Committed:
        if step.unless_notes and (unread := self._unread(step)):
            return Committed(unread, refused=True)
        self.write(step)
        return Committed(self._unread(step))

    def write(self, step: Step) -> None:
        if self.dies_after is not None and self.steps >= self.dies_after:
            raise DiedError
        self._keep(step)

    def _unread(self, step: Step) -> tuple[Note, ...]:
        if step.notes_after is None:
            return ()
        return tuple(note for note, there in self.notes if note.number > step.notes_after and there(self, step))

    def _keep(self, step: Step) -> None:
        self.steps += 1
        self.messages |= {message.id: message for message in step.messages}
        for change in step.compacted:
            old = self.messages[change.message_id]
            self.messages[old.id] = replace(old, body=replace(old.body, content=change.content))
        self.events |= {event.id: event for event in step.opened}
        for close in step.closed:
            self.events[close.event_id] = close.of(self.events[close.event_id])
        self.llm += step.llm_interactions
        self.mcp += step.mcp_interactions
        self.citations += [made.checked for made in step.citations]
        for given in step.inputs:
            self.inputs.setdefault(place_of(given.placed.turn, given.placed.value), given.placed)
        for moved in step.execution_changes:
            self.begun = True
            self.provider = moved.llm_provider or self.provider
            self.backend = moved.llm_backend or self.backend
            self.status = moved.status or self.status

    async def load(self, execution_id: str) -> StoredRun:
        del execution_id  # there is one
        return StoredRun(
            begun=self.begun,
            messages=tuple(sorted(self.messages.values(), key=lambda message: message.sequence_number)),
            calls=tuple(StoredCall(call.kind, call.turn, call.error_code, call.error_message, call.provider) for call in self.llm),
            next_timeline_sequence=max((event.sequence_number for event in self.events.values()), default=0) + 1,
            timed_out_tools=frozenset(call.call_id or "" for call in self.mcp if call.result and call.result.get("is_timeout")),
            inputs=tuple(self.inputs.values()),
        )

    async def read(self, execution_id: str, call_id: str) -> ToolOutcome | None:
        found = next((call for call in self.mcp if (call.execution_id, call.call_id) == (execution_id, call_id)), None)
        return ToolOutcome(found.result["content"], found.is_error) if found and found.result else None

    async def cited(self, execution_id: str, ids: Collection[str] | None = None) -> list[Evidence]:
        del execution_id
        # Asking a database takes a moment, in which a run can be stopped.
        await checkpoint()
        seen = {TimelineEventType.TOOL_RESULT: "read_at", TimelineEventType.NOTE: "noted_at"}
        results = [one for one in self.events.values() if one.metadata.get(seen.get(one.event_type, ""))]
        return [
            Evidence(
                id=str(one.metadata["evidence_id"]),
                text=one.content,
                tool=f"{one.metadata.get('server_name', '')}.{one.metadata.get('tool_name', '')}",
                refused=bool(one.metadata.get("refused")),
                failed=bool(one.metadata.get("is_error")),
            )
            for one in results
            if ids is None or one.metadata["evidence_id"] in ids
        ]

    async def answered(self, execution_id: str) -> list[AnsweredCall]:
        made = [call for call in self.mcp if call.execution_id == execution_id and call.evidence_id]
        return [AnsweredCall(call.evidence_id or "", f"{call.server}.{call.tool}", call.arguments or "") for call in made]

    def publish(self, delta: StreamDelta) -> None:
        """Nobody watches."""

    def conversation(self) -> list[tuple[int, str, str, tuple[ToolCall, ...]]]:
        ordered = sorted(self.messages.values(), key=lambda message: message.sequence_number)
        return [(message.sequence_number, message.body.role.value, message.body.content, message.body.tool_calls) for message in ordered]

    def timeline(self) -> list[tuple[str, str, str]]:
        """What was shown in the end; what a dead predecessor left open is not ours to tell."""
        ordered = sorted(self.events.values(), key=lambda event: event.sequence_number)
        return [(event.event_type.value, event.status.value, event.content) for event in ordered if event.status.value != "streaming"]


@dataclass(slots=True)
class CountingTools:
    """Counts what the recorded tools are asked to do."""

    inner: RecordedTools
    asked: Counter[str]

    async def list_tools(self) -> ToolCatalog:
        return await self.inner.list_tools()

    async def execute(self, call: ToolCall, on_output: Callable[[str], None]) -> ToolResult:
        self.asked[call.id] += 1
        return await self.inner.execute(call, on_output)


@dataclass(slots=True)
class MemoryRun:
    """The first agent of a scenario, run as often as need be on the same record."""

    scenario: Scenario
    track: str
    journal: MemoryJournal = field(default_factory=MemoryJournal)
    asked: Counter[str] = field(default_factory=Counter[str])
    tools: ToolExecutor | None = None
    clock: Clock = field(default_factory=FixedClock)
    recorded_inputs: Sequence[AnyInput] = ()
    prices: Prices = field(default_factory=lambda: PriceList(CostEstimationConfig(), {}))
    # Shared with the agents that run beside this one, under another name each.
    ledger: Ledger | None = None
    name: str = EXECUTION
    # Ends a run that was cut short when it was recorded.
    end: Callable[[CutShort], None] = field(default=lambda _: None)

    async def go_on(self) -> ExecutionResult:
        """Run it to its end; when it waits for something, that has happened at once."""
        while (result := await self._run()).waits:
            pass
        return result

    async def _run(self) -> ExecutionResult:
        return await self.run_until_stopped(StopState())

    async def run_until_stopped(self, stopping: StopState) -> ExecutionResult:
        async with self._context() as context:
            return await execute(context, stopping)

    @asynccontextmanager
    async def _context(self) -> AsyncGenerator[ExecutionContext]:
        recording = self.scenario.recording
        stored: Any = type("Execution", (), {"llm_provider": self.journal.provider, "llm_backend": self.journal.backend})()
        config = continued_with(self.scenario.chain.stages[0].agents[0], stored)
        llm = self.scenario.llm or in_process_client(env={}, recordings=lambda _: recording)
        claim = Claim(INVESTIGATION, "work", "session", "token", "session")
        ledger = self.ledger or Ledger(MemorySpending(), self.clock)
        ledger.open(SESSION, "session", self.scenario.chain.budget)
        path = ledger.open_execution(SESSION, self.name, config.budget)
        place = ExecutionPlace(claim=claim, stage_id="stage", execution_id=EXECUTION, track=self.track)
        unused: Any = None
        services = AgentServices(
            llm=llm,
            prices=self.prices,
            tools=unused,
            journal=self.journal,
            results=self.journal,
            changes=unused,
            skills=unused,
            live=self.journal,
            mask=Unmasked(),
            clock=self.clock,
        )
        ceilings = Ceilings(ledger, place, path, services.prices, recorded=self.recorded_inputs)
        yield ExecutionContext(
            place=place,
            services=services,
            overrides=SessionOverrides(clock=self.clock, recorded_inputs=self.recorded_inputs),
            config=config,
            servers={"k8s": SERVER},
            prompts=PromptBuilder(
                PromptContext(
                    agent_name=config.agent_name, alert_type="test", alert_data=self.scenario.alert, nonce=NONCE, received_at="2026-01-02"
                )
            ),
            tools=toolbox(
                self.tools or CountingTools(RecordedToolServers(recording).tools(self.track, {}), self.asked),
                (ReadResult(self.journal, execution_id=EXECUTION, documents={}, in_part=False),),
                tool_calling=config.tool_calling,
                ceilings=ceilings,
                mask=Unmasked(),
                clock=self.clock,
            ),
            ceilings=ceilings,
            evidence=EvidenceIds(prefix="A", documents=(Evidence(id=ALERT, text=self.scenario.alert),)),
            cut=RecordedCut.find(self.recorded_inputs, self.track, self.end),
        )
        await llm.aclose()
