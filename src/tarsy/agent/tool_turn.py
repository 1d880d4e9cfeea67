"""The tool calls of one answer: made in order where the order matters, each stored the moment it is done, in the places reserved for them."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from uuid import uuid4

import anyio

from tarsy.agent.execution import CutPlace
from tarsy.agent.iteration_state import tools_timed_out
from tarsy.agent.prompt.builder import SeenResult
from tarsy.agent.prompt.nudges import unknown_outcome_note
from tarsy.agent.recorder import StepParts
from tarsy.agent.run import Run
from tarsy.agent.tool_calls import PendingCall, ToolSpeech
from tarsy.agent.tool_results import Sized, Summarizer
from tarsy.domain.conversation import Message, ToolCall
from tarsy.domain.execution import Wait
from tarsy.domain.interaction import MCPInteraction, MCPInteractionKind
from tarsy.domain.status import TimelineStatus
from tarsy.domain.step import ExecutionInput
from tarsy.domain.timeline import TimelineClose, TimelineEvent, TimelineEventType
from tarsy.domain.tool import ToolName, ToolOutcome, ToolResult, is_masked
from tarsy.kit.clock import milliseconds_since
from tarsy.kit.groups import for_each


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    """What the tools of a turn came to, as far as the loop cares. A tool that answers with an error has answered."""

    timed_out: frozenset[str] = frozenset()
    # Set when nothing came but timeouts.
    error: str | None = None


class RunWaitsError(Exception):
    """A call of the run has to wait, and so has the run; what is done is stored."""

    def __init__(self, waits: Wait) -> None:
        super().__init__(waits.reason)
        self.waits = waits


class ToolTurn:
    """Runs the calls of one answer. `announce` first: its events belong into the step that stores the answer.

    `known` makes it the continuation of a turn that was interrupted: what its calls had come to by then, by their ids.
    """

    def __init__(
        self, run: Run, speech: ToolSpeech, calls: Sequence[PendingCall], *, question: str, known: Mapping[str, ToolOutcome] | None = None
    ) -> None:
        self._run = run
        self._speech = speech
        self._calls = calls
        self._question = question
        self._resumed = known is not None
        self._known = known or {}
        self._events: dict[str, str] = {}
        self._summarizer = Summarizer(run)
        # The model call that asked for these.
        self._turn = run.turn - 1

    def announce(self) -> tuple[TimelineEvent, ...]:
        """One event per call and one, still open, for each result to come; nothing that was told before."""
        opened: list[TimelineEvent] = []
        for pending in self._calls:
            if pending.call.id in self._known:
                continue
            metadata = {**_metadata(pending.call), "evidence_id": self._run.evidence[pending.call.id]}
            if not self._resumed:
                arguments = self._run.context.mask(pending.call.arguments)
                opened.append(self._run.recorder.event(TimelineEventType.LLM_TOOL_CALL, arguments, metadata=metadata))
            result = self._run.recorder.open(TimelineEventType.TOOL_RESULT, metadata)
            self._events[pending.call.id] = result.id
            opened.append(result)
        return tuple(opened)

    async def run(self, *, deadline: float) -> TurnOutcome:
        """Make all calls until they are done or the iteration's time (`deadline`, in loop time) is up.

        Calls that only read are made at the same time. One that may change something waits for those before it, and those after it wait for it.
        """
        results: list[ToolResult] = []
        stored: list[Message] = []
        waiting: list[Wait] = []

        async def one(pending: PendingCall) -> None:
            if cut and cut.is_within(pending.call.id, self._run.turn):
                await self._leave_where_cut(pending.call, cut, deadline)
                return
            result = self._masked(await self._result(pending.call, deadline))
            if result.waits:
                waiting.append(await self._leave_open(result, result.waits))
                return
            stored.append(await self._store(pending, result))
            results.append(result)

        cut = self._run.context.cut
        self._run.recorder.awaited.update(pending.call.id for pending in self._calls)
        for _, together in groupby(self._calls, key=self._place_in_order()):
            group = list(together)
            await for_each(group, one, name=lambda pending: f"tool {pending.call.name}")
            if cut and any(cut.is_within(pending.call.id, self._run.turn) for pending in group):
                await self._run.end_where_cut(cut)
            if waiting:
                raise RunWaitsError(max(waiting, key=lambda wait: wait.seconds))
        # Some of a turn that was interrupted may be there already.
        self._run.messages = sorted([*self._run.messages, *stored], key=lambda message: message.sequence_number)
        order = {pending.call.id: place for place, pending in enumerate(self._calls)}
        return _outcome(sorted(results, key=lambda result: order[result.call.id]))

    async def _leave_where_cut(self, call: ToolCall, cut: CutPlace, deadline: float) -> None:
        """Bring a call as far as it had come when the run was cut short."""
        definition, said = self._run.catalog.find(call.name), cut.output_of(call.id)
        if said is not None and not (definition and definition.dispatches_agent):
            self._run.recorder.append(self._events[call.id], said)
            return
        # An agent that it had sent was cut short with it.
        result = self._masked(await self._result(call, deadline))
        if said is None:
            # The result had come, and was stored before it was summarised.
            await self._run.recorder.commit(**self._outcome(self._seen(result), await self._summarizer.sized(result)))

    async def _result(self, call: ToolCall, deadline: float) -> ToolResult:
        """What the call comes to, or came to before a crash."""
        now = self._run.context.clock.now()
        if known := self._known.get(call.id):
            return ToolResult(call=call, content=known.content, is_error=known.is_error, started_at=now)
        if self._resumed and not self._can_repeat(call):
            return ToolResult(call=call, content=unknown_outcome_note(call.name), is_error=True, refused=True, started_at=now)
        return await self._execute(call, deadline)

    def _masked(self, result: ToolResult) -> ToolResult:
        """The result as it may be stored and told: a call that was refused or cut short comes back with the arguments as the model made them.

        What a server's masker has been over does not change.
        """
        arguments = self._run.context.mask(result.call.arguments)
        return result if arguments == result.call.arguments else replace(result, call=replace(result.call, arguments=arguments))

    def _can_repeat(self, call: ToolCall) -> bool:
        """Whether a call whose outcome is unknown may be made again; of a tool that does not exist the toolbox says so again."""
        definition = self._run.catalog.find(call.name)
        # Arguments are stored masked: with a secret among them, the same call cannot be made again.
        return definition is None or definition.dispatches_agent or (definition.safe_to_repeat and not is_masked(call.arguments))

    def _place_in_order(self) -> Callable[[PendingCall], int]:
        """Numbers the groups of calls that may be made at the same time."""
        group, alone = 0, False

        def place(pending: PendingCall) -> int:
            nonlocal group, alone
            definition = self._run.catalog.find(pending.call.name)
            changes = definition is not None and definition.may_change
            if changes or alone:
                group += 1
            alone = changes
            return group

        return place

    async def _execute(self, call: ToolCall, deadline: float) -> ToolResult:
        context = self._run.context
        started_at, started = context.clock.now(), context.clock.monotonic()
        event_id = self._events[call.id]
        definition = self._run.catalog.find(call.name)
        with anyio.move_on_at(math.inf if definition and definition.dispatches_agent else deadline):
            return await context.tools.execute(call, lambda output: self._run.recorder.append(event_id, output))
        content = f"{call.name} did not answer before the time of this iteration was up."
        waited = milliseconds_since(started, context.clock)
        return ToolResult(call=call, content=content, is_error=True, is_timeout=True, started_at=started_at, duration_ms=waited)

    async def _store(self, pending: PendingCall, result: ToolResult) -> Message:
        """Store a result. A large one is stored before it is summarised: its outcome must survive whatever happens meanwhile."""
        recorder = self._run.recorder
        seen = self._seen(result)
        sized = await self._summarizer.sized(result)
        first: StepParts = {} if pending.call.id in self._known else self._outcome(seen, sized)
        if first and sized.settings:
            await recorder.commit(**first)
            first = {}
        shown = await self._summarizer.shown(seen, sized, self._question)
        content = self._run.context.prompts.tool_result(seen, shown.text, shown.note)
        message = recorder.message(self._speech.result_message(result.call, content), pending.sequence_number)
        # A summary is stored with the message it is for: one that no agent was shown would have to be paid for again.
        await recorder.commit(
            closed=(*first.get("closed", ()), *shown.closed),
            mcp_interactions=first.get("mcp_interactions", ()),
            llm_interactions=shown.interactions,
            messages=(message,),
            inputs=self._read(seen),
        )
        recorder.awaited.discard(pending.call.id)
        return message

    def _seen(self, result: ToolResult) -> SeenResult:
        evidence_id = self._run.evidence[result.call.id]
        read = self._run.inputs.read_at(self._turn, evidence_id)
        return SeenResult(evidence_id=evidence_id, result=result, read_at=read.value.at)

    async def _leave_open(self, result: ToolResult, waits: Wait) -> Wait:
        """End the entry of a call that waits; the one that makes the call again opens its own."""
        await self._run.recorder.commit(closed=(self._run.recorder.close(self._events[result.call.id], TimelineStatus.INTERRUPTED),))
        return waits

    def _outcome(self, seen: SeenResult, sized: Sized) -> StepParts:
        """What a step says of a result, whatever part of it the model is shown."""
        interactions = () if seen.result.refused else (self._interaction(seen),)
        return {"closed": (self._closed(seen, sized),), "mcp_interactions": interactions, "inputs": self._read(seen)}

    def _read(self, seen: SeenResult) -> tuple[ExecutionInput, ...]:
        """When the result was read, as it goes into a step."""
        return self._run.recorder.given(self._run.inputs.read_at(self._turn, seen.evidence_id))

    def _closed(self, seen: SeenResult, sized: Sized) -> TimelineClose:
        result = seen.result
        ended = TimelineStatus.TIMED_OUT if result.is_timeout else TimelineStatus.FAILED
        metadata = {"is_error": result.is_error, "duration_ms": result.duration_ms, "read_at": seen.read_at.isoformat()}
        marks = {name: True for name, holds in (("refused", result.refused), ("folded", sized.is_folded)) if holds}
        return self._run.recorder.close(
            self._events[result.call.id],
            ended if result.is_error else TimelineStatus.COMPLETED,
            content=result.content,
            metadata={**metadata, **marks},
        )

    def _interaction(self, seen: SeenResult) -> MCPInteraction:
        context, result = self._run.context, seen.result
        name = ToolName.parse(result.call.name)
        return MCPInteraction(
            id=str(uuid4()),
            session_id=context.session_id,
            stage_id=context.stage_id,
            execution_id=context.execution_id,
            kind=MCPInteractionKind.TOOL_CALL,
            server=name.server if name else "",
            tool=name.tool if name else result.call.name,
            call_id=result.call.id,
            evidence_id=seen.evidence_id,
            arguments=result.call.arguments,
            result={"content": result.content, "is_timeout": result.is_timeout},
            is_error=result.is_error,
            error_message=result.content if result.is_error else None,
            started_at=result.started_at,
            duration_ms=result.duration_ms,
        )


def _metadata(call: ToolCall) -> dict[str, str]:
    name = ToolName.parse(call.name)
    return {"call_id": call.id, "tool_name": name.tool if name else call.name, "server_name": name.server if name else ""}


def _outcome(results: Sequence[ToolResult]) -> TurnOutcome:
    timed_out = frozenset(result.call.id for result in results if result.is_timeout)
    if len(timed_out) < len(results):
        return TurnOutcome(timed_out)
    return TurnOutcome(timed_out, tools_timed_out(result.call.name for result in results))
