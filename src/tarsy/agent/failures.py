"""Failed model calls: what the execution does next, and how the failure is shown on the timeline."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TypedDict

from tarsy.agent.model_call import CompletedCall
from tarsy.agent.prompt.nudges import failed_call_message
from tarsy.agent.recorder import Recorder
from tarsy.domain.conversation import Message, Role
from tarsy.domain.interaction import SIDE_CALL_KINDS, LLMInteraction
from tarsy.domain.llm import ErrorChunk, ErrorCode, ResolvedProvider
from tarsy.domain.status import TimelineStatus
from tarsy.domain.step import StoredCall
from tarsy.domain.timeline import TimelineClose, TimelineEvent, TimelineEventType
from tarsy.domain.work import RetryPolicy

# One timeout can be bad luck; the second in a row means that a third wait of minutes would end the same.
MAX_CONSECUTIVE_TIMEOUTS = 2
# Each of these calls was already several attempts of the client, with pauses in between: a third failure will not pass soon.
MAX_CONSECUTIVE_FAILURES = 3
# How long all models may be out before an agent gives up: most outages last minutes, and after half an hour people have
# investigated the alert themselves.
OUTAGE_MINUTES = 30
# Short pauses at first, because most outages are short; long ones later, because many sessions retry. The nine pauses are the half hour.
_PAUSES = RetryPolicy(max_attempts=10, first_delay=20.0, max_delay=300.0)
# The client has retried before it reports these; the others may be bad luck.
_TRIED_BY_CLIENT = frozenset({ErrorCode.RATE_LIMITED, ErrorCode.PROVIDER_UNAVAILABLE})

_REMEDIES = {
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
    ErrorCode.CEILING: "raise its budget",
}


@dataclass(frozen=True, slots=True)
class Retry:
    """The failure may pass: call the same model again."""


@dataclass(frozen=True, slots=True)
class FallBack:
    """Continue with the next model."""


@dataclass(frozen=True, slots=True)
class Outage:
    """No model is left, for a reason that may pass: call the last one again after `seconds`."""

    seconds: float
    # Whether this is the first failure of the outage.
    begins: bool


@dataclass(frozen=True, slots=True)
class Fail:
    """No model is left, and waiting does not help, or has not (`outlasted`): a person has to change something."""

    outlasted: bool = False


def after_failure(error: ErrorChunk, codes: Sequence[ErrorCode], *, has_fallback: bool) -> Retry | FallBack | Outage | Fail:
    """Decide how to continue after one model has failed calls in a row with `codes`, oldest first, the last with `error`."""
    if not error.retryable:
        return FallBack() if has_fallback else Fail()
    # The number of the failure at which the model is given up, or waited for. It stays the same however the later ones fail.
    given_up = next((number for number, code in enumerate(codes, 1) if number >= _patience(code, has_fallback=has_fallback)), None)
    if given_up is None:
        return Retry()
    if has_fallback:
        return FallBack()
    if not error.code.is_outage:
        return Fail()
    waits = len(codes) - given_up + 1
    seconds = _PAUSES.delay_after(waits)
    return Fail(outlasted=True) if seconds is None else Outage(seconds, begins=waits == 1)


def _patience(code: ErrorCode, *, has_fallback: bool) -> int:
    """Return after how many failed calls in a row, the last with `code`, the same model is not called again at once."""
    if has_fallback and code in _TRIED_BY_CLIENT:
        return 1
    return MAX_CONSECUTIVE_TIMEOUTS if has_fallback or code.is_timeout else MAX_CONSECUTIVE_FAILURES


def failed_in_a_row(calls: Sequence[StoredCall], provider: str) -> list[ErrorCode]:
    """Return the errors of the newest calls of an execution, if `provider` failed them, since the conversation was last shortened for it."""
    codes: list[ErrorCode] = []
    for call in reversed(calls):
        if call.kind in SIDE_CALL_KINDS:
            continue
        if call.provider != provider or call.error_code is None or call.error_code == ErrorCode.CONTEXT_TOO_LONG:
            break
        codes.append(ErrorCode(call.error_code))
    return codes[::-1]


def failure_message(provider: ResolvedProvider, error: ErrorChunk, failures: int, *, outlasted: bool = False) -> str:
    """Return why a model is given up: which one, where, its error, and what can be done about it."""
    retries = _PAUSES.max_attempts - 1 if outlasted else 0
    calls = failures - retries
    often = f"{calls} calls in a row failed" if calls > 1 else "the call failed"
    in_vain = f", and so did {retries} retries within {OUTAGE_MINUTES} minutes" if outlasted else ""
    remedy = _REMEDIES[error.code].format(name=provider.name)
    return f"{_model(provider)}: {often}{in_vain}: {_reason(error)}; {remedy}."


def outage_message(provider: ResolvedProvider, error: ErrorChunk) -> str:
    """Return what an agent waits for when none of its models is available."""
    return f"no model is available: {_model(provider)}: {_reason(error)}; TARSy retries for up to {OUTAGE_MINUTES} minutes."


def _model(provider: ResolvedProvider) -> str:
    where = f" at {provider.base_url}" if provider.base_url else ""
    return f"{provider.name} ({provider.model}{where})"


def _reason(error: ErrorChunk) -> str:
    return error.message.strip().rstrip(".")


@dataclass(frozen=True, slots=True)
class _OpenFailures:
    """The open event that counts failures with the same error in a row."""

    event_id: str
    error: ErrorChunk
    count: int = 1

    @property
    def content(self) -> str:
        return self.error.message if self.count == 1 else f"{self.error.message} ({self.count} times in a row)"

    @property
    def metadata(self) -> dict[str, object]:
        return {} if self.count == 1 else {"count": self.count}


class FailureParts(TypedDict):
    """The parts of a step that stores a failed call."""

    closed: tuple[TimelineClose, ...]
    opened: tuple[TimelineEvent, ...]
    llm_interactions: tuple[LLMInteraction, ...]


class FailureLog:
    """Shows the failed calls of an execution: each is stored, and equal failures in a row are one timeline event with a count."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._open: _OpenFailures | None = None

    def reopen(self, calls: Sequence[StoredCall], messages: Sequence[Message], provider: str) -> tuple[TimelineEvent, ...]:
        """Open an event for the failures at which an interrupted run stopped, if its last message to the model is about them.

        `provider` is called again, and the failures may become more.
        """
        conversation = [call for call in calls if call.kind not in SIDE_CALL_KINDS]
        newest = conversation[-1] if conversation else None
        if newest is None or newest.error_code is None or newest.provider != provider:
            return ()
        error = ErrorChunk(newest.error_message or newest.error_code, ErrorCode(newest.error_code), retryable=True)
        decided = after_failure(error, failed_in_a_row(calls, provider), has_fallback=False)
        # Notes may have come after it.
        last_messages = takewhile(lambda message: message.body.role is Role.USER, reversed(messages))
        if all(message.body.content != failed_call_message(error.message) for message in last_messages) or decided != Retry():
            return ()
        same = takewhile(lambda call: call == replace(newest, turn=call.turn), reversed(conversation))
        event = self._recorder.open(TimelineEventType.ERROR, _metadata(error), content=error.message)
        self._open = _OpenFailures(event.id, error, sum(1 for _ in same))
        return (event,)

    def parts_for_retry(self, call: CompletedCall, error: ErrorChunk) -> FailureParts:
        """Return the parts for a failed call after which the same model is called again."""
        if self._open and self._open.error == error:
            self._open = replace(self._open, count=self._open.count + 1)
            return self._parts(call, closed=())
        closed = self.close()
        event = self._recorder.open(TimelineEventType.ERROR, _metadata(error), content=error.message)
        self._open = _OpenFailures(event.id, error)
        return self._parts(call, closed=closed, opened=(event,))

    def parts_for_end(self, call: CompletedCall, error: ErrorChunk, message: str | None = None) -> FailureParts:
        """Return the parts for the last failed call of a model; `message` is shown instead of the error's own."""
        if self._open and self._open.error == error:
            self._open = replace(self._open, count=self._open.count + 1)
            return self._parts(call, closed=self.close(message))
        content = message or error.message
        event = self._recorder.event(TimelineEventType.ERROR, content, status=TimelineStatus.FAILED, metadata=_metadata(error))
        return self._parts(call, closed=self.close(), opened=(event,))

    def parts_for_repeat(self, call: CompletedCall) -> FailureParts:
        """Return the parts for a failed call during an outage that the timeline shows already."""
        return self._parts(call, closed=self.close())

    def close_with(self, interaction_id: str) -> None:
        """Close the open event in the step that stores the call that succeeded."""
        if failures := self._open:
            self._open = None
            self._recorder.close_with(
                interaction_id, failures.event_id, TimelineStatus.FAILED, content=failures.content, metadata=failures.metadata
            )

    def close(self, message: str | None = None) -> tuple[TimelineClose, ...]:
        """Close the open event, if there is one."""
        if (failures := self._open) is None:
            return ()
        self._open = None
        content = message or failures.content
        return (self._recorder.close(failures.event_id, TimelineStatus.FAILED, content=content, metadata=failures.metadata),)

    def _parts(self, call: CompletedCall, *, closed: tuple[TimelineClose, ...], opened: tuple[TimelineEvent, ...] = ()) -> FailureParts:
        return FailureParts(
            closed=(*failed_closes(call, self._recorder), *closed),
            opened=(*call.answer.native_events, *opened),
            llm_interactions=(call.interaction,),
        )


def failed_closes(call: CompletedCall, recorder: Recorder) -> tuple[TimelineClose, ...]:
    """Close the event that a failed call was streaming to, with the text it has."""
    if call.open_event is None:
        return ()
    error = call.answer.error
    timed_out = error is not None and error.code.is_timeout
    return (recorder.close(call.open_event.id, TimelineStatus.TIMED_OUT if timed_out else TimelineStatus.FAILED),)


def _metadata(error: ErrorChunk) -> dict[str, object]:
    return {"code": error.code.value, "retryable": error.retryable}
