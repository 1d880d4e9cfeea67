"""Notes on their way into a conversation: what a step holds that tells an agent of them."""

from collections.abc import Sequence
from dataclasses import replace

from tarsy.agent.execution import ExecutionContext
from tarsy.agent.prompt.nudges import note_text
from tarsy.agent.recorder import Recorder, StepParts
from tarsy.domain.conversation import ConversationMessage, Message, Role
from tarsy.domain.run_input import DeliveredNote, PlacedInput
from tarsy.domain.timeline import TimelineEvent, TimelineEventType


def telling(context: ExecutionContext, recorder: Recorder, heard: Sequence[DeliveredNote], turn: int) -> StepParts:
    """The messages that tell an agent of notes, with what a person sees of it, and what a replay needs."""
    return {
        "messages": tuple(_message(context, recorder, one, last=one is heard[-1]) for one in heard),
        "opened": tuple(_event(recorder, one) for one in heard),
        "inputs": recorder.given(*(PlacedInput(context.track, turn, one) for one in heard)),
    }


def as_draft(parts: StepParts) -> StepParts:
    """A step that was to conclude, as it is stored when it does not: the answer is one of the way, not the analysis."""
    draft = StepParts(**parts)
    draft.pop("citations", None)
    draft.pop("execution_changes", None)
    draft["opened"] = tuple(_not_final(event) for event in parts.get("opened", ()))
    draft["closed"] = tuple(
        replace(close, event_type=TimelineEventType.LLM_RESPONSE, metadata={"draft": True})
        if close.event_type is TimelineEventType.FINAL_ANALYSIS
        else close
        for close in parts.get("closed", ())
    )
    return draft


def joined(first: StepParts, second: StepParts) -> StepParts:
    """Two parts of one step, in this order."""
    both = StepParts(**first)
    both["messages"] = (*first.get("messages", ()), *second.get("messages", ()))
    both["opened"] = (*first.get("opened", ()), *second.get("opened", ()))
    both["inputs"] = (*first.get("inputs", ()), *second.get("inputs", ()))
    return both


def _message(context: ExecutionContext, recorder: Recorder, heard: DeliveredNote, *, last: bool) -> Message:
    return recorder.message(ConversationMessage(Role.USER, note_text(heard, context.prompts.fence, last=last)))


def _event(recorder: Recorder, heard: DeliveredNote) -> TimelineEvent:
    note = heard.note
    told = {"evidence_id": note.id, "kind": note.kind.value, "author": note.author, "noted_at": note.at.isoformat()}
    return recorder.event(TimelineEventType.NOTE, note.text, metadata=told | ({"held": True} if heard.held else {}))


def _not_final(event: TimelineEvent) -> TimelineEvent:
    if event.event_type is not TimelineEventType.FINAL_ANALYSIS:
        return event
    return replace(event, event_type=TimelineEventType.LLM_RESPONSE, metadata={"draft": True})
