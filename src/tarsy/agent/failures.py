"""Failed model calls: what follows from one, and how it is shown on the timeline."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TypedDict

from tarsy.agent.model_call import CompletedCall
from tarsy.agent.prompt.nudges import error_note
from tarsy.agent.recorder import Recorder
from tarsy.domain.conversation import Message, Role
from tarsy.domain.interaction import LLMInteraction, LLMInteractionKind
from tarsy.domain.llm import ErrorChunk, ErrorCode, ResolvedProvider
from tarsy.domain.status import TimelineStatus
from tarsy.domain.step import StoredCall
from tarsy.domain.timeline import TimelineClose, TimelineEvent, TimelineEventType
from tarsy.domain.work import RetryPolicy

# One timeout can be bad luck; the second in a row means that a third wait of minutes would end the same.
MAX_CONSECUTIVE_TIMEOUTS = 2
# Each of these calls was already several attempts of the client, with pauses in between: what fails three times over fails for now.
MAX_CONSECUTIVE_FAILURES = 3
# How long all models may be out before an agent gives up: vendors mend most outages within minutes, and after half an hour an alert's
# people have looked for themselves.
OUTAGE_MINUTES = 30
# Soon at first, because most outages are short; seldom later, because many sessions ask. The nine pauses are the half hour.
_PAUSES = RetryPolicy(max_attempts=10, first_delay=20.0, max_delay=300.0)
# The client has asked again and again before it says these; the others may be bad luck.
_TRIED_BY_CLIENT = frozenset({ErrorCode.RATE_LIMITED, ErrorCode.PROVIDER_UNAVAILABLE})

_CURES = {
    ErrorCode.CREDENTIALS: "check its key or credentials",
    ErrorCode.INVALID_REQUEST: "check the model's name and the options of llm_providers.{name}",
    ErrorCode.CONTEXT_TOO_LONG: "use a model with a larger window, or lower llm_providers.{name}.max_tool_result_tokens",
    ErrorCode.RATE_LIMITED: "wait, raise the quota, or name another model in fallback_providers",
    ErrorCode.PROVIDER_UNAVAILABLE: "check that it is up and can be reached from here, or name another model in fallback_providers",
    ErrorCode.TIMEOUT: "raise llm_call_timeout, or name another model in fallback_providers",
    ErrorCode.STALLED: "raise llm_providers.{name}.stall_timeout, or name another model in fallback_providers",
    ErrorCode.EMPTY_RESPONSE: "try another model, or name one in fallback_providers",
    ErrorCode.PARTIAL_STREAM: "check what stands between here and the model (proxies, time limits)",
    ErrorCode.CANCELLED: "start the session again",
}


@dataclass(frozen=True, slots=True)
class TryAgain:
    """It may pass, and the same model gets another chance."""


@dataclass(frozen=True, slots=True)
class FallBack:
    """Go on with the next model."""


@dataclass(frozen=True, slots=True)
class Outage:
    """No model is left, for a reason that may pass with time: the last one is asked again after `seconds`."""

    seconds: float
    # Whether this failure is the first that is waited for.
    begins: bool


@dataclass(frozen=True, slots=True)
class Hopeless:
    """No model is left, and waiting does not help, or has not: a person has to change something."""

    outlasted: bool = False


AfterFailure = TryAgain | FallBack | Outage | Hopeless


def after_failure(error: ErrorChunk, failures: int, *, has_fallback: bool) -> AfterFailure:
    """Decide how to go on after `failures` failed calls of one model in a row, the last with `error`."""
    if not error.retryable:
        return FallBack() if has_fallback else Hopeless()
    waits = failures - _patience(error.code, has_fallback=has_fallback) + 1
    if waits < 1:
        return TryAgain()
    if has_fallback:
        return FallBack()
    if not error.code.is_outage:
        return Hopeless()
    seconds = _PAUSES.delay_after(waits)
    return Hopeless(outlasted=True) if seconds is None else Outage(seconds, begins=waits == 1)


def _patience(code: ErrorCode, *, has_fallback: bool) -> int:
    if has_fallback and code in _TRIED_BY_CLIENT:
        return 1
    return MAX_CONSECUTIVE_TIMEOUTS if has_fallback or code.is_timeout else MAX_CONSECUTIVE_FAILURES


def told_end(provider: ResolvedProvider, error: ErrorChunk, failures: int, *, outlasted: bool = False) -> str:
    """Why a model is given up: which one, where, what it said, and what can be done about it."""
    retries = _PAUSES.max_attempts - 1 if outlasted else 0
    calls = failures - retries
    often = f"{calls} calls in a row failed" if calls > 1 else "the call failed"
    in_vain = f", and so did {retries} retries within {OUTAGE_MINUTES} minutes" if outlasted else ""
    cure = _CURES[error.code].format(name=provider.name)
    return f"{_who(provider)}: {often}{in_vain}: {_what(error)}; {cure}."


def told_outage(provider: ResolvedProvider, error: ErrorChunk) -> str:
    """What an agent waits for whose models are all out."""
    return f"all models are out: {_who(provider)}: {_what(error)}; it is asked again for up to {OUTAGE_MINUTES} minutes."


def _who(provider: ResolvedProvider) -> str:
    where = f" at {provider.base_url}" if provider.base_url else ""
    return f"{provider.name} ({provider.model}{where})"


def _what(error: ErrorChunk) -> str:
    return error.message.strip().rstrip(".")


def failed_in_a_row(calls: Sequence[StoredCall], provider: str) -> int:
    """How many of an execution's newest calls `provider` has failed, since the conversation was last shortened for it."""
    asked = (call for call in reversed(calls) if call.kind != LLMInteractionKind.SUMMARIZATION)
    mended = (None, ErrorCode.CONTEXT_TOO_LONG)
    return sum(1 for _ in takewhile(lambda call: call.error_code not in mended and call.provider == provider, asked))


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
