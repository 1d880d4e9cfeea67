"""Pure module: what follows from a model call that failed, and how its end is told to a person who can act."""

from dataclasses import dataclass

from tarsy.domain.llm import ErrorChunk, ErrorCode
from tarsy.domain.provider import ResolvedProvider

# One timeout can be bad luck; the second in a row means that a third wait of minutes would end the same.
MAX_CONSECUTIVE_TIMEOUTS = 2
# Each of these calls was already several attempts of the client, with pauses in between: what fails three times over fails for now.
MAX_CONSECUTIVE_FAILURES = 3
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
    """No model is left, for a reason that may pass with time."""


@dataclass(frozen=True, slots=True)
class Hopeless:
    """No model is left, and waiting does not help: a person has to change something."""


AfterFailure = TryAgain | FallBack | Outage | Hopeless


def after_failure(error: ErrorChunk, failures: int, *, has_fallback: bool) -> AfterFailure:
    """Decide how to go on after `failures` failed calls of one model in a row, the last with `error`."""
    if not error.retryable:
        return FallBack() if has_fallback else Hopeless()
    if failures < _patience(error.code, has_fallback=has_fallback):
        return TryAgain()
    return FallBack() if has_fallback else Outage()


def _patience(code: ErrorCode, *, has_fallback: bool) -> int:
    if has_fallback and code in _TRIED_BY_CLIENT:
        return 1
    return MAX_CONSECUTIVE_TIMEOUTS if has_fallback or code.is_timeout else MAX_CONSECUTIVE_FAILURES


def told_end(provider: ResolvedProvider, error: ErrorChunk, failures: int) -> str:
    """Why a model is given up: which one, where, what it said, and what can be done about it."""
    where = f" at {provider.base_url}" if provider.base_url else ""
    often = f"{failures} calls in a row failed" if failures > 1 else "the call failed"
    cure = _CURES[error.code].format(name=provider.name)
    return f"{provider.name} ({provider.model}{where}): {often}: {error.message.strip().rstrip('.')}; {cure}."
