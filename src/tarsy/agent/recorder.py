"""The recorder of an execution: numbers its messages and events, keeps the text of open ones, and commits steps in its name."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypedDict, Unpack
from uuid import uuid4

import anyio

from tarsy.agent.execution import ExecutionContext, Stopping, StopReason
from tarsy.agent.notes import Notes
from tarsy.domain.conversation import ConversationMessage, Message
from tarsy.domain.execution import ExecutionChange
from tarsy.domain.interaction import LLMInteraction, LLMInteractionKind, MCPInteraction
from tarsy.domain.live_events import StreamDelta
from tarsy.domain.run_input import AnyInput, CutShort, PlacedInput, Unfinished
from tarsy.domain.status import RunStatus, TimelineStatus
from tarsy.domain.step import Committed, Compacted, ExecutionCitation, ExecutionInput, Step, StoredRun
from tarsy.domain.timeline import TimelineClose, TimelineEvent, TimelineEventType

# What no other worker will continue.
_FOR_GOOD = frozenset({TimelineStatus.CANCELLED, TimelineStatus.TIMED_OUT})


class StepParts(TypedDict, total=False):
    """What an execution may put into a step."""

    messages: tuple[Message, ...]
    compacted: tuple[Compacted, ...]
    opened: tuple[TimelineEvent, ...]
    closed: tuple[TimelineClose, ...]
    llm_interactions: tuple[LLMInteraction, ...]
    mcp_interactions: tuple[MCPInteraction, ...]
    inputs: tuple[ExecutionInput, ...]
    citations: tuple[ExecutionCitation, ...]
    execution_changes: tuple[ExecutionChange, ...]


class Recorder:
    """Starts its counters where the stored run ends, so that going on and beginning are the same."""

    def __init__(self, context: ExecutionContext, stored: StoredRun) -> None:
        self._context = context
        self._next_message = stored.messages[-1].sequence_number + 1 if stored.messages else 1
        self._next_event = stored.next_timeline_sequence
        self._open: dict[str, list[str]] = {}
        self._written: dict[str, int] = {}
        # Those of them that are not stored yet.
        self._unseen: set[str] = set()
        # What was opened, as long as it is open.
        self._entries: dict[str, TimelineEvent] = {}
        # Model call → events that are complete as soon as it is stored.
        self._awaiting: dict[str, list[Callable[[], TimelineClose]]] = {}
        # Events that have their last words already, if the run should be stopped.
        self._kept: dict[str, Callable[[str], TimelineClose]] = {}
        self._writing = anyio.Lock()
        # Model calls of the conversation that are stored.
        self._calls = sum(call.kind != LLMInteractionKind.SUMMARIZATION for call in stored.calls)
        self._spoken = bool(stored.messages)
        # Tool calls whose results have no place in the conversation yet.
        self.awaited: set[str] = set()
        self.notes = Notes(context.track, context.recorded_inputs, stored.inputs, wanted=context.takes_notes)

    async def commit(self, **parts: Unpack[StepParts]) -> None:
        """Write a step. The journal writes it whole, though the run be cancelled meanwhile."""
        await self._write(self._with_awaited(parts))

    async def conclude(self, turn: int, **parts: Unpack[StepParts]) -> StepParts | None:
        """Write a step that ends the execution, unless there is a note that its agent must hear before the call `turn`: then gives it back."""
        step = self._with_awaited(parts)
        if self.notes.hold(turn) or (await self._write(step, unless_notes=self.notes.may_hold)).refused:
            return step
        return None

    def _with_awaited(self, parts: StepParts) -> StepParts:
        awaited = [close for call in parts.get("llm_interactions", ()) for close in self._awaiting.pop(call.id, ())]
        inputs = (*parts.get("inputs", ()), *self.given(*self._context.ceilings.noted()))
        return {**parts, "inputs": inputs, "closed": (*(close() for close in awaited), *parts.get("closed", ()))}

    async def _write(self, parts: StepParts, *, unless_notes: bool = False) -> Committed:
        # One after the other: eight results at once would only wait for each other, on eight connections.
        try:
            self._writing.acquire_nowait()
        except anyio.WouldBlock:
            with anyio.CancelScope(shield=True):
                await self._writing.acquire()
        try:
            step = Step(claim=self._context.claim, notes_after=self.notes.after, unless_notes=unless_notes, **parts)
            committed = await self._context.journal.commit(step)
            self.notes.learn(committed.notes)
            if not committed.refused:
                self._calls += sum(call.kind != LLMInteractionKind.SUMMARIZATION for call in step.llm_interactions)
                self._spoken = self._spoken or bool(step.messages)
            return committed
        finally:
            self._writing.release()

    async def ask(self, **parts: Unpack[StepParts]) -> None:
        """Write what a model is about to be asked: with its answer if that comes at once, unless notes must be heard before."""
        if self.notes.after is not None:
            await self.commit(**parts)
        else:
            self._spoken = self._spoken or bool(parts.get("messages"))
            self.soon(**self._with_awaited(parts))

    def soon(self, written: Callable[[], None] = lambda: None, **parts: Unpack[StepParts]) -> None:
        """Have this written with the next step, or in a moment if none comes."""
        self._context.journal.soon(Step(claim=self._context.claim, **parts), written)

    def show(self, event: TimelineEvent) -> None:
        """Have an open event stored soon; its text is seen from then on."""
        self._unseen.add(event.id)
        self.soon(partial(self._catch_up, event), opened=(event,))

    def _catch_up(self, event: TimelineEvent) -> None:
        """Let watchers see what was written into an event before it was stored."""
        self._unseen.remove(event.id)
        if event.id in self._open and (said := self.written(event.id)[len(event.content) :]):
            self._context.live.publish(StreamDelta(self._context.session_id, event.id, len(event.content), said))

    def given(self, *inputs: AnyInput) -> tuple[ExecutionInput, ...]:
        """Inputs as they go into a step."""
        return tuple(ExecutionInput(self._context.execution_id, one) for one in inputs)

    def reserve(self, count: int) -> range:
        """Sequence numbers for messages that will be stored later, in whatever order they come."""
        first = self._next_message
        self._next_message += count
        return range(first, first + count)

    def reserve_up_to(self, sequence_number: int) -> None:
        """Keep the places of results that a predecessor reserved."""
        self._next_message = max(self._next_message, sequence_number + 1)

    def message(self, body: ConversationMessage, sequence_number: int | None = None) -> Message:
        return Message(
            id=str(uuid4()),
            execution_id=self._context.execution_id,
            sequence_number=self.reserve(1)[0] if sequence_number is None else sequence_number,
            body=body,
            created_at=self._context.clock.now(),
        )

    def event(
        self,
        event_type: TimelineEventType,
        content: str,
        *,
        status: TimelineStatus = TimelineStatus.COMPLETED,
        metadata: Mapping[str, Any] | None = None,
    ) -> TimelineEvent:
        """An event with all its content; one that is still `streaming` is opened with `open`."""
        now = self._context.clock.now()
        self._next_event += 1
        return TimelineEvent(
            id=str(uuid4()),
            session_id=self._context.session_id,
            stage_id=self._context.stage_id,
            execution_id=self._context.execution_id,
            sequence_number=self._next_event - 1,
            event_type=event_type,
            status=status,
            content=content,
            metadata=metadata or {},
            created_at=now,
            completed_at=None if status is TimelineStatus.STREAMING else now,
        )

    def open(self, event_type: TimelineEventType, metadata: Mapping[str, Any] | None = None, *, content: str = "") -> TimelineEvent:
        """An event whose text is still to come, or to change."""
        event = self.event(event_type, content, status=TimelineStatus.STREAMING, metadata=metadata)
        self._entries[event.id] = event
        self._open[event.id] = [content]
        self._written[event.id] = len(content)
        return event

    def append(self, event_id: str, delta: str) -> None:
        """Add to an open event's text and let watchers see it."""
        if event_id not in self._open or not delta:
            return
        offset = self._written[event_id]
        self._open[event_id].append(delta)
        self._written[event_id] = offset + len(delta)
        if event_id not in self._unseen:
            self._context.live.publish(StreamDelta(self._context.session_id, event_id, offset, delta))

    def written(self, event_id: str) -> str:
        """The text that an open event has so far."""
        return "".join(self._open[event_id])

    def close(
        self,
        event_id: str,
        status: TimelineStatus = TimelineStatus.COMPLETED,
        *,
        content: str | None = None,
        event_type: TimelineEventType | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> TimelineClose:
        """End an open event with the text it has, or with `content` instead."""
        text = "".join(self._open.pop(event_id))
        del self._written[event_id], self._entries[event_id]
        return TimelineClose(
            event_id=event_id,
            status=status,
            content=text if content is None else content,
            completed_at=self._context.clock.now(),
            metadata=metadata or {},
            event_type=event_type,
        )

    def close_with(
        self,
        interaction_id: str,
        event_id: str,
        status: TimelineStatus = TimelineStatus.COMPLETED,
        *,
        content: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """End an open event in the step that stores this model call."""
        close = partial(self.close, event_id, status, content=content, metadata=metadata)
        self._awaiting.setdefault(interaction_id, []).append(close)

    def keep(self, event_id: str, close: Callable[[str], TimelineClose]) -> None:
        """Say how an open event ends if the run is stopped for good."""
        self._kept[event_id] = close

    def close_all(self, status: TimelineStatus) -> tuple[TimelineClose, ...]:
        self._awaiting.clear()
        kept = self._kept if status in _FOR_GOOD else {}
        return tuple(kept[event_id](event_id) if event_id in kept else self.close(event_id, status) for event_id in list(self._open))

    def cut_short(self, stopping: Stopping) -> tuple[ExecutionInput, ...]:
        """Where the execution is being cut short, if that is nothing to the rest of its session."""
        if not stopping.alone:
            return ()
        unfinished = tuple(
            Unfinished(event.event_type.value, self.written(event.id), event.metadata)
            for event in self._entries.values()
            if event.id not in self._kept
        )
        cut = CutShort(
            cancelled=stopping.reason is StopReason.CANCELLED,
            reason="" if stopping.reason is StopReason.CANCELLED else stopping.told,
            begun=self._spoken,
            waiting=tuple(sorted(self.awaited)),
            unfinished=unfinished,
        )
        return self.given(PlacedInput(self._context.track, self._calls, cut))

    def grow(self, unfinished: Sequence[Unfinished]) -> tuple[TimelineEvent, ...]:
        """Let entries be as long as they were when they were recorded: those that are open go on; gives the others, to be stored."""
        before = [event for event in self._entries.values() if event.id not in self._kept]
        opened: list[TimelineEvent] = []
        for one in unfinished:
            known = next((event for event in before if event.event_type == one.event_type), None)
            if known is None:
                opened.append(self.open(TimelineEventType(one.event_type), one.metadata, content=one.content))
            else:
                before.remove(known)
                self.append(known.id, one.content.removeprefix(self.written(known.id)))
        return tuple(opened)

    def begin(self, stored: StoredRun) -> tuple[ExecutionChange, ...]:
        """That the execution is active from now on, unless it was before."""
        return () if stored.begun else (self.moved(RunStatus.ACTIVE),)

    def moved(self, status: RunStatus, error: str | None = None) -> ExecutionChange:
        return ExecutionChange(execution_id=self._context.execution_id, at=self._context.clock.now(), status=status, error_message=error)
