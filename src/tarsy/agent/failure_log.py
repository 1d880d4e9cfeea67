"""Failed model calls as a person sees them: each is stored, and equal ones in a row are one entry with a count."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TypedDict

from tarsy.agent.iteration import failed_in_a_row
from tarsy.agent.model_call import CompletedCall
from tarsy.agent.model_failure import TryAgain, after_failure
from tarsy.agent.prompt.nudges import error_note
from tarsy.agent.recorder import Recorder
from tarsy.domain.conversation import Message, Role
from tarsy.domain.interaction import LLMInteraction, LLMInteractionKind
from tarsy.domain.llm import ErrorChunk, ErrorCode
from tarsy.domain.status import TimelineStatus
from tarsy.domain.step import StoredCall
from tarsy.domain.timeline import TimelineClose, TimelineEvent, TimelineEventType


@dataclass(frozen=True, slots=True)
class _Entry:
    """The entry that is open while calls fail in the same way."""

    event_id: str
    error: ErrorChunk
    count: int = 1


class FailureParts(TypedDict):
    """What a failed call brings into its step."""

    closed: tuple[TimelineClose, ...]
    opened: tuple[TimelineEvent, ...]
    llm_interactions: tuple[LLMInteraction, ...]


class FailureLog:
    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._entry: _Entry | None = None

    def reopen(self, calls: Sequence[StoredCall], messages: Sequence[Message], provider: str) -> tuple[TimelineEvent, ...]:
        """The entry of the failures after which a predecessor stopped, if its last words to the model tell of them.

        `provider` is asked again, and they may become more.
        """
        asked = [call for call in calls if call.kind != LLMInteractionKind.SUMMARIZATION]
        newest = asked[-1] if asked else None
        if newest is None or newest.error_code is None or newest.provider != provider:
            return ()
        error = ErrorChunk(newest.error_message or newest.error_code, ErrorCode(newest.error_code), retryable=True)
        decided = after_failure(error, failed_in_a_row(calls, provider), has_fallback=False)
        # Notes may have come after it.
        last_words = takewhile(lambda message: message.body.role is Role.USER, reversed(messages))
        if all(message.body.content != error_note(error.message) for message in last_words) or decided != TryAgain():
            return ()
        same = takewhile(lambda call: call == replace(newest, turn=call.turn), reversed(asked))
        event = self._recorder.open(TimelineEventType.ERROR, _metadata(error), content=error.message)
        self._entry = _Entry(event.id, error, sum(1 for _ in same))
        return (event,)

    def note(self, call: CompletedCall, error: ErrorChunk) -> FailureParts:
        """What a failed call after which the same model is asked again brings into its step."""
        entry = self._entry
        if entry and entry.error == error:
            self._entry = _Entry(entry.event_id, error, entry.count + 1)
            return self._step(call, closed=())
        closed = self.settle()
        event = self._recorder.open(TimelineEventType.ERROR, _metadata(error), content=error.message)
        self._entry = _Entry(event.id, error)
        return self._step(call, closed=closed, opened=(event,))

    def end(self, call: CompletedCall, error: ErrorChunk, told: str | None = None) -> FailureParts:
        """What a failed call brings that is the last of its model; `told` says more than the error does."""
        entry, content = self._entry, told or error.message
        if entry and entry.error == error:
            self._entry = _Entry(entry.event_id, error, entry.count + 1)
            return self._step(call, closed=self.settle(told))
        event = self._recorder.event(TimelineEventType.ERROR, content, status=TimelineStatus.FAILED, metadata=_metadata(error))
        return self._step(call, closed=self.settle(), opened=(event,))

    def repeat(self, call: CompletedCall) -> FailureParts:
        """What a failed call brings after an entry that says that the model is out."""
        return self._step(call, closed=self.settle())

    def end_with(self, interaction_id: str) -> None:
        """Close the entry in the step that stores the call which succeeded at last."""
        if entry := self._entry:
            self._entry = None
            self._recorder.close_with(
                interaction_id, entry.event_id, TimelineStatus.FAILED, content=_counted(entry), metadata=_count(entry)
            )

    def settle(self, told: str | None = None) -> tuple[TimelineClose, ...]:
        """Close the entry that is open, if one is."""
        if (entry := self._entry) is None:
            return ()
        self._entry = None
        content = told or _counted(entry)
        return (self._recorder.close(entry.event_id, TimelineStatus.FAILED, content=content, metadata=_count(entry)),)

    def _step(self, call: CompletedCall, *, closed: tuple[TimelineClose, ...], opened: tuple[TimelineEvent, ...] = ()) -> FailureParts:
        return FailureParts(
            closed=(*failed_closes(call, self._recorder), *closed),
            opened=(*call.answer.native_events, *opened),
            llm_interactions=(call.interaction,),
        )


def failed_closes(call: CompletedCall, recorder: Recorder) -> tuple[TimelineClose, ...]:
    """Close what a failed call left streaming, keeping the text it had."""
    if call.open_event is None:
        return ()
    error = call.answer.error
    timed_out = error is not None and error.code.is_timeout
    return (recorder.close(call.open_event.id, TimelineStatus.TIMED_OUT if timed_out else TimelineStatus.FAILED),)


def _metadata(error: ErrorChunk) -> dict[str, object]:
    return {"code": error.code.value, "retryable": error.retryable}


def _counted(entry: _Entry) -> str:
    return entry.error.message if entry.count == 1 else f"{entry.error.message} ({entry.count} times in a row)"


def _count(entry: _Entry) -> dict[str, object]:
    return {} if entry.count == 1 else {"count": entry.count}
