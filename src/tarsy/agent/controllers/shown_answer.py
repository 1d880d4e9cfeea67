"""How a model's answer stands in the timeline: its thought, its analysis, and before them what its own tools found."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tarsy.agent.controllers.speech import GivesAnswer
from tarsy.agent.model_call import REACT, CompletedCall, OpenEvent
from tarsy.agent.recorder import Recorder
from tarsy.agent.repetition import without_loop
from tarsy.domain.timeline import TimelineClose, TimelineEvent, TimelineEventType

_ANSWERS = frozenset({TimelineEventType.LLM_RESPONSE, TimelineEventType.FINAL_ANALYSIS})


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """What a step closes and opens to show an answer."""

    closed: tuple[TimelineClose, ...] = ()
    opened: tuple[TimelineEvent, ...] = ()

    def beside(self, other: "ShownAnswer") -> "ShownAnswer":
        return ShownAnswer((*self.closed, *other.closed), (*self.opened, *other.opened))


def show_as_response(recorder: Recorder, call: CompletedCall | None, text: str, metadata: Mapping[str, Any]) -> ShownAnswer:
    """An answer that is not the analysis after all: the event that streamed it is renamed, or one is made."""
    if call and call.open_event and call.open_event.event_type in _ANSWERS:
        return close_text(recorder, call, text, TimelineEventType.LLM_RESPONSE, metadata)
    before = show_thought(recorder, call, "") if call else ShownAnswer()
    return before.beside(ShownAnswer(opened=(recorder.event(TimelineEventType.LLM_RESPONSE, text, metadata=metadata),)))


def show_thought(recorder: Recorder, call: CompletedCall, thought: str) -> ShownAnswer:
    """Close what the call showed; a thought that was only found by parsing is shown now."""
    if call.open_event is None:
        closed = ShownAnswer(opened=call.answer.native_events)
    elif _is_text(call.open_event):
        kind, content = _as_thought(recorder, call.open_event, thought)
        closed = close_text(recorder, call, content, kind, {"source": REACT} if kind else None)
    else:
        written = without_loop(recorder.written(call.open_event.id))
        closed = ShownAnswer((recorder.close(call.open_event.id, content=written),), call.answer.native_events)
    if thought and TimelineEventType.LLM_THINKING not in call.shown:
        found = recorder.event(TimelineEventType.LLM_THINKING, thought, metadata={"source": REACT})
        return ShownAnswer(closed.closed, (*closed.opened, found))
    return closed


def show_analysis(recorder: Recorder, call: CompletedCall, turn: GivesAnswer, metadata: Mapping[str, Any] | None = None) -> ShownAnswer:
    """The answer as `final_analysis`: the event that streamed it is renamed, or one is made."""
    event = call.open_event
    if event and (event.event_type in _ANSWERS or _streamed_as_thought(recorder, event, turn)):
        return close_text(recorder, call, turn.text, TimelineEventType.FINAL_ANALYSIS, metadata)
    shown = show_thought(recorder, call, turn.thought)
    analysis = recorder.event(TimelineEventType.FINAL_ANALYSIS, turn.text, metadata=metadata)
    return ShownAnswer(shown.closed, (*shown.opened, analysis))


def _is_text(event: OpenEvent) -> bool:
    """Whether an event shows the model's text, not thinking of its own."""
    return event.event_type in _ANSWERS or event.source == REACT


def _streamed_as_thought(recorder: Recorder, event: OpenEvent, turn: GivesAnswer) -> bool:
    """Whether all of an answer without its header was taken for a thought while it was written."""
    return event.source == REACT and not turn.thought and without_loop(recorder.written(event.id)).strip() == turn.text.strip()


def _as_thought(recorder: Recorder, event: OpenEvent, thought: str) -> tuple[TimelineEventType | None, str]:
    written = without_loop(recorder.written(event.id))
    if event.event_type is TimelineEventType.FINAL_ANALYSIS:
        # What was streamed as the answer turned out not to be one.
        return TimelineEventType.LLM_THINKING, written
    # What was streamed as a thought may turn out to hold a call: the parsed thought has the last word.
    return None, (thought if event.source == REACT else "") or written


def close_text(
    recorder: Recorder, call: CompletedCall, content: str, kind: TimelineEventType | None, metadata: Mapping[str, Any] | None
) -> ShownAnswer:
    """Close the streaming text.

    Vendors tell what their own tools found when the text is written. It stands before the text all the same: the first of it takes the
    text's place, and the text a new one behind the last.
    """
    event = call.open_event
    assert event is not None  # noqa: S101 - the callers have looked
    native = call.answer.native_events
    if not native:
        return ShownAnswer((recorder.close(event.id, content=content, event_type=kind, metadata=metadata),))
    first, *others = native
    closed = recorder.close(event.id, content=first.content, event_type=first.event_type, metadata=first.metadata)
    # Numbered anew: what was told before the text began had its numbers before it.
    behind = tuple(recorder.event(one.event_type, one.content, metadata=one.metadata) for one in others)
    source = {"source": event.source} if event.source else {}
    text = recorder.event(kind or event.event_type, content, metadata={**source, **(metadata or {})})
    return ShownAnswer((closed,), (*behind, text))
