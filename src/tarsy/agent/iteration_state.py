"""The counters of an iterating agent, and the decision how it continues."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tarsy.agent.failures import MAX_CONSECUTIVE_TIMEOUTS
from tarsy.domain.interaction import LLMInteractionKind
from tarsy.domain.llm import ErrorCode
from tarsy.domain.step import StoredCall


@dataclass(frozen=True, slots=True, kw_only=True)
class IterationState:
    """The counters of the loop; rebuilt from the stored calls when an execution is continued."""

    max_iterations: int
    used: int = 0
    last_error: str | None = None
    # Calls of the same model that failed in a row; and iterations in a row that got nothing but timeouts, of the model or of tools.
    consecutive_failures: int = 0
    consecutive_timeouts: int = 0
    # The model repeats itself: it gets one more call, without tools.
    stuck: bool = False
    # A correction has looked something up: one iteration more is allowed, for its answer.
    has_extra_iteration: bool = False

    def after_success(self) -> "IterationState":
        return replace(self, used=self.used + 1, last_error=None, consecutive_failures=0, consecutive_timeouts=0)

    def without_failures(self) -> "IterationState":
        """The cause of the failures is gone: another model was chosen, or the conversation was shortened."""
        return replace(self, last_error=None, consecutive_failures=0, consecutive_timeouts=0)

    @property
    def model_was_out(self) -> bool:
        """Whether the timeouts in a row were all model calls: `Run.after_failure` has decided about those and waited, so the loop need not give up."""
        return self.consecutive_failures >= max(self.consecutive_timeouts, MAX_CONSECUTIVE_TIMEOUTS)

    def after_failed_call(self, error: str, code: ErrorCode) -> "IterationState":
        """The model call failed. An outage uses up no iterations: it is bounded by the number of calls that fail in a row; a ceiling ends the loop."""
        return replace(
            self,
            used=self.used if code.is_outage or code is ErrorCode.CEILING else self.used + 1,
            last_error=error,
            consecutive_failures=self.consecutive_failures + 1,
            consecutive_timeouts=self.consecutive_timeouts + 1 if code.is_timeout else 0,
        )

    def after_tool_timeouts(self, error: str) -> "IterationState":
        """All tools of the iteration timed out; the model call itself succeeded."""
        before = 0 if self.model_was_out else self.consecutive_timeouts
        return replace(self, used=self.used + 1, last_error=error, consecutive_failures=0, consecutive_timeouts=before + 1)


@dataclass(frozen=True, slots=True)
class Iterate:
    """Call the model again, with its tools."""


@dataclass(frozen=True, slots=True)
class ForceConclusion:
    """Ask for a conclusion from the evidence so far, without tools."""


@dataclass(frozen=True, slots=True)
class GiveUp:
    reason: str


def next_move(state: IterationState) -> Iterate | ForceConclusion | GiveUp:
    """Decide how the loop continues."""
    if state.consecutive_timeouts >= MAX_CONSECUTIVE_TIMEOUTS and not state.model_was_out:
        return GiveUp(f"stopped after {state.consecutive_timeouts} timeouts in a row: {state.last_error}")
    if state.used >= state.max_iterations + state.has_extra_iteration:
        if state.last_error is not None:
            return GiveUp(f"no answer within {state.max_iterations} iterations, and the last one failed: {state.last_error}")
        return ForceConclusion()
    return ForceConclusion() if state.stuck else Iterate()


def tools_timed_out(names: Iterable[str]) -> str:
    """Return the error of an iteration in which all tools timed out."""
    return f"{', '.join(dict.fromkeys(names))} did not answer in time"


def state_after(
    calls: Sequence[StoredCall], max_iterations: int, *, provider: str, tool_errors: Sequence[str | None] = ()
) -> IterationState:
    """Rebuild the state from the calls that an execution has made.

    `provider` is called next; `tool_errors` are the errors of the answered iterations in which all tools timed out, None for the others.
    """
    state = IterationState(max_iterations=max_iterations)
    iterations = [call for call in calls if call.kind == LLMInteractionKind.ITERATION]
    providers = [*(call.provider for call in iterations), provider]
    of_tools = iter(tool_errors)
    for call, following in zip(iterations, providers[1:], strict=True):
        if call.error_code is None:
            error = next(of_tools, None)
            state = state.after_tool_timeouts(error) if error else state.after_success()
        else:
            state = state.after_failed_call(call.error_message or call.error_code, ErrorCode(call.error_code))
            # A conversation that was too long was shortened, or the run was not continued.
            if following != call.provider or call.error_code == ErrorCode.CONTEXT_TOO_LONG:
                state = state.without_failures()
    return state
