"""Pure module: what follows from a model call that failed, and how its end is told to a person who can act."""

from dataclasses import dataclass

from tarsy.domain.llm import ErrorChunk, ErrorCode, ResolvedProvider
from tarsy.domain.work import Retry

# One timeout can be bad luck; the second in a row means that a third wait of minutes would end the same.
MAX_CONSECUTIVE_TIMEOUTS = 2
# Each of these calls was already several attempts of the client, with pauses in between: what fails three times over fails for now.
MAX_CONSECUTIVE_FAILURES = 3
# How long all models may be out before an agent gives up: vendors mend most outages within minutes, and after half an hour an alert's
# people have looked for themselves.
OUTAGE_MINUTES = 30
# Soon at first, because most outages are short; seldom later, because many sessions ask. The nine pauses are the half hour.
_PAUSES = Retry(attempts=10, first_pause=20.0, longest_pause=300.0)
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
    seconds = _PAUSES.pause_after(waits)
    return Hopeless(outlasted=True) if seconds is None else Outage(seconds, begins=waits == 1)


def _patience(code: ErrorCode, *, has_fallback: bool) -> int:
    if has_fallback and code in _TRIED_BY_CLIENT:
        return 1
    return MAX_CONSECUTIVE_TIMEOUTS if has_fallback or code.is_timeout else MAX_CONSECUTIVE_FAILURES


def told_end(provider: ResolvedProvider, error: ErrorChunk, failures: int, *, outlasted: bool = False) -> str:
    """Why a model is given up: which one, where, what it said, and what can be done about it."""
    retries = _PAUSES.attempts - 1 if outlasted else 0
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
