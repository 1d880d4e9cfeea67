"""How an execution ends whose next call does not fit: told on the timeline, and without an error where there is something to conclude."""

from tarsy.agent.budget.ceilings import CeilingMetError, Ceilings
from tarsy.agent.execution import ExecutionResult, Wait
from tarsy.agent.recorder import Recorder
from tarsy.domain.run_input import CeilingMet
from tarsy.domain.status import RunStatus, TimelineStatus
from tarsy.domain.timeline import TimelineEvent, TimelineEventType

# Tells this warning from those about missing tools.
CODE = "ceiling"


def _told(recorder: Recorder, met: CeilingMet, then: str) -> TimelineEvent:
    detail = f" ({met.detail})" if met.detail else ""
    metadata = {"code": CODE, "account": met.account, "limit": met.limit}
    return recorder.event(TimelineEventType.WARNING, f"Ended by {met.description}{detail}. {then}", metadata=metadata)


async def tell_end(ceilings: Ceilings, recorder: Recorder, met: CeilingMet) -> None:
    """Say that the execution concludes now, unless a predecessor has said it."""
    ceilings.note(met)
    if ceilings.is_new:
        await recorder.commit(opened=(_told(recorder, met, "It concludes with what it knows."),))


async def end_unspoken(ceilings: Ceilings, recorder: Recorder, error: CeilingMetError) -> ExecutionResult:
    """End an execution that has nothing to conclude, or leave it until the period is over whose ceiling was met."""
    met = error.met
    if error.waits is not None:
        reason = f"It waits because of {met.description}: {met.detail}."
        return ExecutionResult(status=RunStatus.ACTIVE, waits=Wait(reason, error.waits, error.budget))
    ceilings.note(met)
    reason = f"It was not begun because of {met.description}."
    await recorder.commit(
        closed=recorder.close_all(TimelineStatus.FAILED),
        opened=(_told(recorder, met, "There was not enough for a single call."),),
        execution_changes=(recorder.moved(RunStatus.FAILED, reason),),
    )
    return ExecutionResult(status=RunStatus.FAILED, error=reason)
