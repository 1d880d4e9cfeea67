"""The recorder of an execution: numbers its messages and timeline events, keeps the text of open events, and commits its steps."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypedDict, Unpack
from uuid import uuid4

import anyio

from tarsy.agent.budget.ceilings import Ceilings
from tarsy.agent.execution import AgentServices, StopReason, StopState
from tarsy.agent.notes import Notes
from tarsy.domain.conversation import ConversationMessage, Message
from tarsy.domain.execution import ExecutionChange, ExecutionPlace
from tarsy.domain.interaction import SIDE_CALL_KINDS, LLMInteraction, MCPInteraction
from tarsy.domain.live_events import StreamDelta
from tarsy.domain.run_input import AnyInput, CutShort, PlacedInput, Unfinished
from tarsy.domain.status import RunStatus, TimelineStatus
from tarsy.domain.step import Committed, Compacted, ExecutionCitation, ExecutionInput, Step, StoredCall, StoredRun
from tarsy.domain.timeline import TimelineClose, TimelineEvent, TimelineEventType

# How an execution ends that no other worker will continue.
_FOR_GOOD = frozenset({TimelineStatus.CANCELLED, TimelineStatus.TIMED_OUT})


class StepParts(TypedDict, total=False):
    """The parts of a step that an execution writes."""

    messages: tuple[Message, ...]
    compacted: tuple[Compacted, ...]
    opened: tuple[TimelineEvent, ...]
    closed: tuple[TimelineClose, ...]
    llm_interactions: tuple[LLMInteraction, ...]
    mcp_interactions: tuple[MCPInteraction, ...]
    inputs: tuple[ExecutionInput, ...]
    citations: tuple[ExecutionCitation, ...]
    execution_changes: tuple[ExecutionChange, ...]


@dataclass(slots=True)
class _OpenEvent:
    """An event whose text is not complete, and the text that it has."""

    event: TimelineEvent
    text: str


class Recorder:
    """Records one execution. Its counters start where the stored run ends, so that a continued execution is recorded like a new one."""

    def __init__(self, place: ExecutionPlace, services: AgentServices, ceilings: Ceilings, notes: Notes, stored: StoredRun) -> None:
        self._place = place
        self._journal = services.journal
        self._live = services.live
        self._clock = services.clock
        self._ceilings = ceilings
        self._next_message = stored.messages[-1].sequence_number + 1 if stored.messages else 1
        self._next_event = stored.next_timeline_sequence
        self._open: dict[str, _OpenEvent] = {}
        # By model call: how the events that it completes are closed in the step that stores it.
        self._close_with: dict[str, list[Callable[[], TimelineClose]]] = {}
        # By event: how it is closed if the run is stopped for good.
        self._close_when_stopped: dict[str, Callable[[str], TimelineClose]] = {}
        self._writing = anyio.Lock()
        # How many model calls of the conversation are stored.
        self._calls = _conversation_calls(stored.calls)
        self._has_messages = bool(stored.messages)
        # Tool calls whose results are not in the conversation yet.
        self.awaited: set[str] = set()
        # The text and metadata of a draft while its correction looks something up.
        self.draft: tuple[str, Mapping[str, Any]] | None = None
        self.notes = notes

    async def commit(self, **parts: Unpack[StepParts]) -> None:
        """Write a step. It is written whole even if the run is cancelled meanwhile."""
        await self._write(self._completed(parts))

    async def conclude(self, turn: int, **parts: Unpack[StepParts]) -> StepParts | None:
        """Write a step that ends the execution, unless a note must be delivered before the call `turn`: then return the step unwritten."""
        step = self._completed(parts)
        if self.notes.hold(turn) or (await self._write(step, unless_notes=self.notes.may_hold)).refused:
            return step
        return None

    def _completed(self, parts: StepParts) -> StepParts:
        """Add the events that the step's model calls close, and the ceilings met since the last step."""
        closes = [close() for call in parts.get("llm_interactions", ()) for close in self._close_with.pop(call.id, ())]
        inputs = (*parts.get("inputs", ()), *self.inputs(*self._ceilings.take_unstored()))
        return {**parts, "inputs": inputs, "closed": (*closes, *parts.get("closed", ()))}

    async def _write(self, parts: StepParts, *, unless_notes: bool = False) -> Committed:
        # One step at a time: results that arrive together would only wait for each other's claim, on several connections.
        with anyio.CancelScope(shield=True):
            await self._writing.acquire()
        try:
            step = Step(claim=self._place.claim, notes_after=self.notes.after, unless_notes=unless_notes, **parts)
            committed = await self._journal.commit(step)
            self.notes.add(committed.notes)
            if not committed.refused:
                self._calls += _conversation_calls(step.llm_interactions)
                self._has_messages = self._has_messages or bool(step.messages)
            return committed
        finally:
            self._writing.release()

    def inputs(self, *inputs: AnyInput) -> tuple[ExecutionInput, ...]:
        """Return inputs as parts of a step."""
        return tuple(ExecutionInput(self._place.execution_id, one) for one in inputs)

    def reserve(self, count: int) -> range:
        """Return sequence numbers for messages that will be stored later, in any order."""
        first = self._next_message
        self._next_message += count
        return range(first, first + count)

    def reserve_up_to(self, sequence_number: int) -> None:
        """Keep the sequence numbers that an interrupted run reserved."""
        self._next_message = max(self._next_message, sequence_number + 1)

    def message(self, body: ConversationMessage, sequence_number: int | None = None) -> Message:
        return Message(
            id=str(uuid4()),
            execution_id=self._place.execution_id,
            sequence_number=self.reserve(1)[0] if sequence_number is None else sequence_number,
            body=body,
            created_at=self._clock.now(),
        )

    def event(
        self,
        event_type: TimelineEventType,
        content: str,
        *,
        status: TimelineStatus = TimelineStatus.COMPLETED,
        metadata: Mapping[str, Any] | None = None,
    ) -> TimelineEvent:
        """Return a new event with all its content."""
        now = self._clock.now()
        self._next_event += 1
        return TimelineEvent(
            id=str(uuid4()),
            session_id=self._place.session_id,
            stage_id=self._place.stage_id,
            execution_id=self._place.execution_id,
            sequence_number=self._next_event - 1,
            event_type=event_type,
            status=status,
            content=content,
            metadata=metadata or {},
            created_at=now,
            completed_at=None if status is TimelineStatus.STREAMING else now,
        )

    def open(self, event_type: TimelineEventType, metadata: Mapping[str, Any] | None = None, *, content: str = "") -> TimelineEvent:
        """Return a new event whose text is still to be written, or to change. The caller commits it."""
        event = self.event(event_type, content, status=TimelineStatus.STREAMING, metadata=metadata)
        self._open[event.id] = _OpenEvent(event, content)
        return event

    async def open_stored(self, event_type: TimelineEventType, metadata: Mapping[str, Any] | None = None) -> TimelineEvent:
        """Open an event and commit it, before any of its text is published: a client must have the event before its text."""
        event = self.event(event_type, "", status=TimelineStatus.STREAMING, metadata=metadata)
        await self.commit(opened=(event,))
        # Not before: an event that could not be stored is not closed either.
        self._open[event.id] = _OpenEvent(event, "")
        return event

    def append(self, event_id: str, delta: str) -> None:
        """Append to the text of an open event and publish the delta; an event that is closed by now is left alone."""
        if event_id not in self._open or not delta:
            return
        event = self._open[event_id]
        self._live.publish(StreamDelta(self._place.session_id, event_id, len(event.text), delta))
        event.text += delta

    def text_of(self, event_id: str) -> str:
        """Return the text of an open event so far."""
        return self._open[event_id].text

    def close(
        self,
        event_id: str,
        status: TimelineStatus = TimelineStatus.COMPLETED,
        *,
        content: str | None = None,
        event_type: TimelineEventType | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> TimelineClose:
        """End an open event with the text it has, or with `content` instead. The caller commits what is returned."""
        text = self.text_of(event_id)
        del self._open[event_id]
        return TimelineClose(
            event_id=event_id,
            status=status,
            content=text if content is None else content,
            completed_at=self._clock.now(),
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
        self._close_with.setdefault(interaction_id, []).append(close)

    def close_when_stopped(self, event_id: str, close: Callable[[str], TimelineClose]) -> None:
        """Set how an open event is closed if the run is stopped for good."""
        self._close_when_stopped[event_id] = close

    def close_all(self, status: TimelineStatus) -> tuple[TimelineClose, ...]:
        """End all open events. The caller commits what is returned."""
        self._close_with.clear()
        closes = self._close_when_stopped if status in _FOR_GOOD else {}
        return tuple(closes[event_id](event_id) if event_id in closes else self.close(event_id, status) for event_id in list(self._open))

    def kept_draft(self) -> tuple[TimelineEvent, ...]:
        """Return the draft of an execution that is stopped for good, as its analysis."""
        return (self.event(TimelineEventType.FINAL_ANALYSIS, self.draft[0], metadata=self.draft[1]),) if self.draft else ()

    def cut_short(self, stopping: StopState) -> tuple[ExecutionInput, ...]:
        """Return where the execution is being cut short, as an input; nothing if the whole session is stopped."""
        if not stopping.is_partial:
            return ()
        cancelled = stopping.reason is StopReason.CANCELLED
        unfinished = (Unfinished(event.event_type.value, self.text_of(event.id), event.metadata) for event in self._unfinished())
        cut = CutShort(
            cancelled=cancelled,
            reason="" if cancelled else stopping.message,
            begun=self._has_messages,
            waiting=tuple(sorted(self.awaited)),
            unfinished=tuple(unfinished),
        )
        return self.inputs(PlacedInput(self._place.track, self._calls, cut))

    def restore(self, unfinished: Sequence[Unfinished]) -> tuple[TimelineEvent, ...]:
        """Bring events to the length they had when they were recorded: open ones are appended to; return the others, to be stored."""
        before = self._unfinished()
        opened: list[TimelineEvent] = []
        for one in unfinished:
            known = next((event for event in before if event.event_type == one.event_type), None)
            if known is None:
                opened.append(self.open(TimelineEventType(one.event_type), one.metadata, content=one.content))
            else:
                before.remove(known)
                self.append(known.id, one.content.removeprefix(self.text_of(known.id)))
        return tuple(opened)

    def _unfinished(self) -> list[TimelineEvent]:
        return [one.event for one in self._open.values() if one.event.id not in self._close_when_stopped]

    def begin(self, stored: StoredRun) -> tuple[ExecutionChange, ...]:
        """Return the change that marks the execution active, unless it was before."""
        return () if stored.begun else (self.moved(RunStatus.ACTIVE),)

    def moved(self, status: RunStatus, error: str | None = None) -> ExecutionChange:
        return ExecutionChange(execution_id=self._place.execution_id, at=self._clock.now(), status=status, error_message=error)


def _conversation_calls(calls: Sequence[StoredCall] | Sequence[LLMInteraction]) -> int:
    return sum(call.kind not in SIDE_CALL_KINDS for call in calls)


def as_draft(parts: StepParts) -> StepParts:
    """Return a step that was to conclude as one that does not: its answer is a draft, not the analysis."""
    draft = StepParts(**parts)
    draft.pop("citations", None)
    draft.pop("execution_changes", None)
    final, renamed = TimelineEventType.FINAL_ANALYSIS, {"event_type": TimelineEventType.LLM_RESPONSE, "metadata": {"draft": True}}
    draft["opened"] = tuple(replace(one, **renamed) if one.event_type is final else one for one in parts.get("opened", ()))
    draft["closed"] = tuple(replace(one, **renamed) if one.event_type is final else one for one in parts.get("closed", ()))
    return draft
