"""The tool calls of one answer: run in an order that respects changes, each result stored as soon as it arrives, at its reserved place."""

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any
from uuid import uuid4

import anyio

from tarsy.agent.execution import RecordedCut
from tarsy.agent.folding import Folded
from tarsy.agent.iteration_state import tools_timed_out
from tarsy.agent.model_call import CompletedCall
from tarsy.agent.prompt.builder import SeenResult
from tarsy.agent.prompt.fence import line_of, result_text, shown_result
from tarsy.agent.prompt.nudges import held_back_result, too_many_calls_message, unknown_outcome_result
from tarsy.agent.recorder import StepParts
from tarsy.agent.run import Run
from tarsy.agent.tool_calls import PendingCall, ToolCallFormat, WantsTools
from tarsy.agent.tool_results import ResultPresenter
from tarsy.domain.action import ACTION, DRY_RUN
from tarsy.domain.approval import CallDecided
from tarsy.domain.conversation import ConversationMessage, Message, Role, ToolCall
from tarsy.domain.execution import AgentType, Wait, combined_wait
from tarsy.domain.interaction import MCPInteraction, MCPInteractionKind
from tarsy.domain.run_input import PlacedInput, input_fields
from tarsy.domain.status import TimelineStatus
from tarsy.domain.step import ExecutionInput
from tarsy.domain.timeline import TimelineEvent, TimelineEventType
from tarsy.domain.tool import LOST_CALL, ToolName, ToolOutcome, ToolResult, is_masked
from tarsy.kit.clock import milliseconds_since
from tarsy.kit.groups import for_each

# Calls of one answer that are made: more than anyone needs before reading the first result.
MAX_CALLS = 50
# And those among them that start sub-agents.
MAX_SUB_AGENTS = 10
# A shorter result is as short as the notice that it was there before.
_SHORTEST_REPEATED = 600


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    """The calls of a turn that timed out, and an error if all of them did. A tool that returns an error has answered."""

    timed_out: frozenset[str] = frozenset()
    error: str | None = None


class RunWaitsError(Exception):
    """A tool call has to wait, and so has the run; what is done is stored."""

    def __init__(self, waits: Wait) -> None:
        super().__init__(waits.reason)
        self.waits = waits


async def use_tools(
    run: Run, tool_calls: ToolCallFormat, call: CompletedCall, turn: WantsTools, sequence_number: int, *, deadline: float, step: StepParts
) -> None:
    """Store an answer that calls tools under `sequence_number`, and make the calls, as many as one answer may make.

    Messages and timeline events of `step` are stored with the answer; it has no other parts.
    """
    recorder, context = run.recorder, run.context
    asked = len(turn.calls)
    if not context.overrides.older_rules:
        dispatches = [one.id for one in turn.calls if (found := run.catalog.find(one.name)) and found.dispatches_agent]
        refused = {*dispatches[MAX_SUB_AGENTS:]}
        turn = replace(turn, calls=tuple(one for one in turn.calls if one.id not in refused)[:MAX_CALLS])
    places = recorder.reserve(len(turn.calls))
    run.call_ids.update(tool_call.id for tool_call in turn.calls)
    context.evidence.assign(turn.calls)
    calls = [PendingCall(tool_call, place) for tool_call, place in zip(turn.calls, places, strict=True)]
    tools = ToolTurn(run, tool_calls, calls, purpose=turn.thought or call.answer.text or call.answer.thinking)
    masked = tuple(replace(tool_call, arguments=context.services.mask(tool_call.arguments)) for tool_call in turn.calls)
    messages = (*step.get("messages", ()), recorder.message(tool_calls.assistant_message(call.answer, masked), sequence_number))
    opened = (*step.get("opened", ()), *tools.opening_events())
    if len(calls) < asked:
        # Behind the places of the results.
        note = too_many_calls_message(len(calls), asked, MAX_CALLS, MAX_SUB_AGENTS)
        messages = (*messages, recorder.message(ConversationMessage(Role.USER, note)))
        text = f"The model made {asked:,} calls in one answer, of which {len(calls)} were made."
        opened = (*opened, recorder.event(TimelineEventType.WARNING, text, metadata={"code": "too_many_calls"}))
    await recorder.commit(
        messages=messages,
        closed=step.get("closed", ()),
        opened=opened,
        llm_interactions=(call.interaction,),
    )
    run.messages += messages
    outcome = await tools.run(deadline=deadline)
    run.state = run.state.after_tool_timeouts(outcome.error) if outcome.error else run.state.after_success()


class ToolTurn:
    """Runs the calls of one answer. `opening_events` comes first: the events belong to the step that stores the answer.

    With `known`, it continues a turn that was interrupted: the results that its calls had by then, by their ids. `purpose` is why the model
    made the calls.
    """

    def __init__(
        self,
        run: Run,
        tool_calls: ToolCallFormat,
        calls: Sequence[PendingCall],
        *,
        purpose: str,
        known: Mapping[str, ToolOutcome] | None = None,
    ) -> None:
        self._run = run
        self._context = run.context
        self._recorder = run.recorder
        self._tool_calls = tool_calls
        self._calls = calls
        self._purpose = purpose
        self._resumed = known is not None
        self._known = known or {}
        # The open timeline event of each call's result, and what it says about the call, by call id. That of a call that needs an approval is
        # opened when it has a result.
        self._events: dict[str, str] = {}
        self._about: dict[str, Mapping[str, Any]] = {}
        self._presenter = ResultPresenter(run)
        # The model call that made these tool calls.
        self._turn = run.turn - 1

    def opening_events(self) -> tuple[TimelineEvent, ...]:
        """Return an event for each call and an open one for its result, except those that are stored already."""
        opened: list[TimelineEvent] = []
        for pending in self._calls:
            call = pending.call
            if call.id in self._known:
                continue
            name = ToolName.parse(call.name)
            metadata = {
                "call_id": call.id,
                "tool_name": name.tool if name else call.name,
                "server_name": name.server if name else "",
                "evidence_id": self._context.evidence.of_calls[call.id],
            }
            config, definition = self._context.config, self._run.catalog.find(call.name)
            if config.type is AgentType.ACTION and definition and definition.may_change:
                metadata[ACTION] = DRY_RUN if config.dry_run else "call"
            self._about[call.id] = metadata
            if not self._resumed:
                arguments = self._context.services.mask(call.arguments)
                opened.append(self._recorder.event(TimelineEventType.LLM_TOOL_CALL, arguments, metadata=metadata))
            if not self._needs_approval(call):
                result = self._recorder.open(TimelineEventType.TOOL_RESULT, metadata)
                self._events[call.id] = result.id
                opened.append(result)
        return tuple(opened)

    async def run(self, *, deadline: float) -> TurnOutcome:
        """Make all calls until they are done or the iteration's time (`deadline`, in loop time) is up.

        Calls that only read run concurrently. One that may change something waits for those before it, and those after it wait for it,
        unless it waits for an approval itself.

        Raises:
            RunWaitsError: a call has to wait.
        """
        results: dict[str, ToolResult] = {}
        stored: list[Message] = []
        waiting: list[Wait] = []

        async def run_one(pending: PendingCall) -> None:
            call = pending.call
            if cut and cut.is_within(call.id, self._run.turn):
                await self._replay_cut(call, cut, deadline)
                return
            result = await self._result(call, deadline)
            if result.waits:
                if call.id in self._events:
                    # The run that makes the call again opens an event of its own.
                    await self._recorder.commit(closed=(self._recorder.close(self._events[call.id], TimelineStatus.INTERRUPTED),))
                waiting.append(result.waits)
                return
            stored.append(await self._store(pending, result))
            results[call.id] = result

        cut = self._context.cut
        self._recorder.awaited.update(pending.call.id for pending in self._calls)
        for group in self._groups():
            await for_each(group, run_one, name=lambda pending: f"tool {pending.call.name}")
            if cut and any(cut.is_within(pending.call.id, self._run.turn) for pending in group):
                await self._run.stop_at_cut(cut)
            if not all(wait.for_approval for wait in waiting):
                break
        if waiting:
            raise RunWaitsError(combined_wait(waiting))
        # Some results of a turn that was interrupted may be in the conversation already.
        stored.sort(key=lambda message: message.sequence_number)
        self._run.messages = sorted([*self._run.messages, *stored], key=lambda message: message.sequence_number)
        self._run.remember(stored)
        self._run.pending_result_tokens = 0
        timed_out = [pending.call for pending in self._calls if results[pending.call.id].is_timeout]
        error = tools_timed_out(call.name for call in timed_out) if len(timed_out) == len(results) else None
        return TurnOutcome(frozenset(call.id for call in timed_out), error)

    def _needs_approval(self, call: ToolCall) -> bool:
        definition = self._run.catalog.find(call.name)
        return definition is not None and definition.needs_approval

    def _is_held_back(self, call: ToolCall) -> bool:
        """Return whether a call may change something and follows one of the same answer that needs an approval: its order would be lost."""
        definition = self._run.catalog.find(call.name)
        if definition is None or not definition.may_change or definition.needs_approval or definition.dispatches_agent:
            return False
        return any(map(self._needs_approval, takewhile(lambda one: one.id != call.id, (pending.call for pending in self._calls))))

    def _groups(self) -> Iterator[list[PendingCall]]:
        """Split the calls into groups that may run concurrently, in order; a call that may change something is alone in its group."""
        reading: list[PendingCall] = []
        for pending in self._calls:
            definition = self._run.catalog.find(pending.call.name)
            if definition is None or not definition.may_change:
                reading.append(pending)
                continue
            if reading:
                yield reading
            reading = []
            yield [pending]
        if reading:
            yield reading

    async def _replay_cut(self, call: ToolCall, cut: RecordedCut, deadline: float) -> None:
        """Bring a call as far as it had come when the recorded run was stopped."""
        definition, output = self._run.catalog.find(call.name), cut.output_of(call.id)
        if output is not None and not (definition and definition.dispatches_agent):
            self._recorder.append(self._events[call.id], output)
            return
        evidence_id, inputs = self._context.evidence.of_calls[call.id], self._context.overrides.recorded_inputs
        if self._needs_approval(call) and not any(
            isinstance(one.value, CallDecided) and one.value.evidence_id == evidence_id for one in inputs
        ):
            # It waited for its decision or ran. Before its result, nothing is stored of a call that needs an approval.
            return
        # A sub-agent that the call had started was stopped with it.
        result = await self._result(call, deadline)
        if output is None:
            # The result had arrived, and was stored before it was summarised.
            await self._recorder.commit(
                **self._outcome(self._seen(result), await self._presenter.fold(result, self._presenter.take_room(result)))
            )

    async def _result(self, call: ToolCall, deadline: float) -> ToolResult:
        """Return the result of a call, or the one it had before a crash, with masked arguments."""
        clock, mask = self._context.services.clock, self._context.services.mask
        started_at, started = clock.now(), clock.monotonic()
        definition = self._run.catalog.find(call.name)
        if known := self._known.get(call.id):
            result = ToolResult(call=call, content=known.content, is_error=known.is_error, started_at=started_at)
        elif self._is_held_back(call):
            result = ToolResult.refusal(call, held_back_result(call.name), started_at)
        elif self._resumed and not (
            # For a tool that does not exist, the toolbox answers as before.
            definition is None
            or definition.dispatches_agent
            # Whether it has begun is stored with its approval.
            or definition.needs_approval
            # Arguments are stored masked: with a secret among them, the same call cannot be made again.
            or (definition.safe_to_repeat and not is_masked(call.arguments))
        ):
            result = ToolResult.refusal(call, unknown_outcome_result(call.name), started_at)
        else:
            event_id = self._events.get(call.id, "")
            lost = f" {LOST_CALL}." if definition and definition.may_change else ""
            content = f"{call.name} did not answer before the time of this iteration was up.{lost}"
            result = ToolResult(call=call, content=content, is_error=True, is_timeout=True, started_at=started_at)
            # A sub-agent has its own time, and an approved call that of its server: the decision is not lost with the iteration's time.
            has_own_time = definition is not None and (definition.dispatches_agent or definition.needs_approval)
            with anyio.move_on_at(math.inf if has_own_time else deadline) as scope:
                result = await self._context.tools.execute(call, lambda output: self._recorder.append(event_id, output))
            if scope.cancelled_caught:
                result = replace(result, duration_ms=milliseconds_since(started, clock))
        # A call that was refused or timed out has the arguments as the model wrote them; a server's masker leaves nothing to mask.
        return replace(result, call=replace(result.call, arguments=mask(result.call.arguments)))

    async def _store(self, pending: PendingCall, result: ToolResult) -> Message:
        """Store a result and the message that shows it. One to be summarised is stored before that: the call must not be lost or repeated."""
        recorder = self._recorder
        seen = self._seen(result)
        limit = self._presenter.take_room(result)
        folded = await self._presenter.fold(result, limit)
        outcome_parts: StepParts = {} if pending.call.id in self._known else self._outcome(seen, folded)
        if outcome_parts and self._presenter.summarization(result, folded.text):
            await recorder.commit(**outcome_parts)
            outcome_parts = {}
        shown = await self._presenter.show(seen, folded, self._purpose, limit)
        content = self._context.prompts.tool_result(seen, shown.text, shown.note)
        if len(content) >= _SHORTEST_REPEATED and not result.is_error and (earlier := self._earlier(content)):
            content = self._context.prompts.same_result(seen, earlier)
        message = recorder.message(self._tool_calls.result_message(result.call, content), pending.sequence_number)
        # A summary is stored with its message: without it, a run that continues would have to pay for the summary again.
        await recorder.commit(
            opened=outcome_parts.get("opened", ()),
            closed=(*outcome_parts.get("closed", ()), *shown.closed),
            mcp_interactions=outcome_parts.get("mcp_interactions", ()),
            llm_interactions=shown.interactions,
            messages=(message,),
            inputs=outcome_parts.get("inputs", self._read_input(seen)),
        )
        recorder.awaited.discard(pending.call.id)
        return message

    def _earlier(self, content: str) -> str:
        """Return the id of an equal result of an earlier turn that the conversation still holds; else an empty string."""
        messages, text = self._run.messages, result_text(content)
        asked = next((message.sequence_number for message in reversed(messages) if message.body.role is Role.ASSISTANT), 0)
        number = self._run.results.get(hash(text), asked)
        place = bisect_left(messages, number, key=lambda message: message.sequence_number)
        if number >= asked or place == len(messages):
            return ""
        # One that was compacted meanwhile is not there any more.
        held = messages[place].body.content
        return line_of(shown_result(held))[0] if result_text(held) == text else ""

    def _seen(self, result: ToolResult) -> SeenResult:
        evidence_id = self._context.evidence.of_calls[result.call.id]
        read = self._run.inputs.read_at(self._turn, evidence_id)
        return SeenResult(evidence_id=evidence_id, result=result, read_at=read.value.at)

    def _read_input(self, seen: SeenResult) -> tuple[ExecutionInput, ...]:
        return self._recorder.inputs(self._run.inputs.read_at(self._turn, seen.evidence_id))

    def _outcome(self, seen: SeenResult, folded: Folded) -> StepParts:
        """Return the parts of a step that store a result, however much of it the model is shown."""
        result, place = seen.result, self._context.place
        ended = TimelineStatus.TIMED_OUT if result.is_timeout else TimelineStatus.FAILED
        status = ended if result.is_error else TimelineStatus.COMPLETED
        metadata: dict[str, Any] = {"is_error": result.is_error, "duration_ms": result.duration_ms, "read_at": seen.read_at.isoformat()}
        metadata |= {name: True for name, holds in (("refused", result.refused), ("folded", folded.is_folded)) if holds}
        inputs, shown = self._read_input(seen), StepParts()
        if decision := result.decision:
            metadata["approval"] = dict(input_fields(decision))
            inputs = (*inputs, *self._recorder.inputs(PlacedInput(place.track, self._turn, decision)))
        if event_id := self._events.get(result.call.id):
            shown["closed"] = (self._recorder.close(event_id, status, content=result.content, metadata=metadata),)
        else:
            metadata = {**self._about[result.call.id], **metadata}
            shown["opened"] = (self._recorder.event(TimelineEventType.TOOL_RESULT, result.content, status=status, metadata=metadata),)
        name = ToolName.parse(result.call.name)
        interaction = MCPInteraction(
            id=str(uuid4()),
            session_id=place.session_id,
            stage_id=place.stage_id,
            execution_id=place.execution_id,
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
        shown["mcp_interactions"], shown["inputs"] = () if result.refused else (interaction,), inputs
        return shown
