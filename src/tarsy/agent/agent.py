"""The life of one execution: the stored run is loaded, its controller runs from there, and nothing is left open however it ends."""

from typing import assert_never

import anyio
import structlog
from anyio.lowlevel import checkpoint_if_cancelled

from tarsy.agent.budget.ceilings import CeilingMetError
from tarsy.agent.execution import ExecutionContext, ExecutionResult, StopReason, StopState
from tarsy.agent.iterating import IteratingController, ceiling_warning
from tarsy.agent.notes import Notes
from tarsy.agent.recorder import Recorder
from tarsy.agent.run import Run
from tarsy.agent.single_shot import EXECUTIVE_SUMMARY, SCORING, SYNTHESIS, run_single_shot
from tarsy.agent.tool_calls import tool_call_format
from tarsy.agent.tool_turn import RunWaitsError
from tarsy.domain.claim import ClaimLostError
from tarsy.domain.execution import AgentType, Wait
from tarsy.domain.status import RunStatus, TimelineStatus
from tarsy.domain.step import StoredRun

# A last write that takes longer is not worth delaying a shutdown for; recovery closes what it leaves open.
LAST_WRITE_SECONDS = 5.0

log = structlog.get_logger(__name__)


async def execute(context: ExecutionContext, stopping: StopState, *, is_new: bool = False) -> ExecutionResult:
    """Run an execution from its start or from where it was interrupted, to its end or until it has to wait.

    One that `is_new` has stored nothing but that it has begun, so nothing is loaded.

    Raises:
        ClaimLostError: the work belongs to another worker now.
    """
    stored = StoredRun(begun=True) if is_new else await context.services.journal.load(context.place.execution_id)
    place, recorded = context.place, context.overrides.recorded_inputs
    notes = Notes(place.track, recorded, stored.inputs, wanted=context.receives_notes)
    recorder = Recorder(place, context.services, context.ceilings, notes, stored)
    stopping.ends_itself = True
    try:
        # An agent that is stopped before it begins calls no model. Its first writes are shielded, and would hide the cancellation.
        await checkpoint_if_cancelled()
        run = Run(context, recorder, stored)
        match context.config.type:
            case AgentType.DEFAULT | AgentType.ACTION:
                return await IteratingController(run, tool_call_format(context.config.tool_calling)).run(stored)
            case AgentType.SYNTHESIS:
                return await run_single_shot(run, SYNTHESIS, stored)
            case AgentType.EXEC_SUMMARY:
                return await run_single_shot(run, EXECUTIVE_SUMMARY, stored)
            case AgentType.SCORING:
                return await run_single_shot(run, SCORING, stored)
            case _:
                assert_never(context.config.type)
    except CeilingMetError as error:
        return await _end_at_ceiling(context, recorder, error)
    except anyio.get_cancelled_exc_class():
        await _close(recorder, stopping)
        raise
    except RunWaitsError as waiting:
        return ExecutionResult(status=RunStatus.ACTIVE, waits=waiting.waits)
    except ClaimLostError:
        raise
    except Exception:
        # The stage reports the failure; here the open events of this agent end.
        await recorder.commit(closed=recorder.close_all(TimelineStatus.FAILED))
        raise


async def _end_at_ceiling(context: ExecutionContext, recorder: Recorder, error: CeilingMetError) -> ExecutionResult:
    """End an execution that has nothing to conclude, or leave it active until the budget's period is over."""
    met = error.met
    if error.waits is not None:
        reason = f"It waits because of {met.description}: {met.detail}."
        return ExecutionResult(status=RunStatus.ACTIVE, waits=Wait(reason, error.waits, error.budget))
    context.ceilings.record(met)
    begun = context.ceilings.has_begun
    reason = f"It was {'ended' if begun else 'not begun'} because of {met.description}."
    await recorder.commit(
        closed=recorder.close_all(TimelineStatus.FAILED),
        opened=(ceiling_warning(recorder, met, "It has no answer." if begun else "There was not enough for a single call."),),
        execution_changes=(recorder.moved(RunStatus.FAILED, reason),),
    )
    return ExecutionResult(status=RunStatus.FAILED, error=reason)


async def _close(recorder: Recorder, stopping: StopState) -> None:
    """Write the last step of a stopped execution. One that another worker continues keeps its status."""
    cut = recorder.cut_short(stopping)
    with anyio.move_on_after(LAST_WRITE_SECONDS, shield=True):
        try:
            match reason := stopping.reason:
                case StopReason.HANDED_OVER | StopReason.PARKED:
                    await recorder.commit(closed=recorder.close_all(TimelineStatus.INTERRUPTED))
                case StopReason.CANCELLED:
                    await recorder.commit(
                        closed=recorder.close_all(TimelineStatus.CANCELLED),
                        opened=recorder.kept_draft(),
                        inputs=cut,
                        execution_changes=(recorder.moved(RunStatus.CANCELLED),),
                    )
                case StopReason.TIMED_OUT:
                    await recorder.commit(
                        closed=recorder.close_all(TimelineStatus.TIMED_OUT),
                        opened=recorder.kept_draft(),
                        inputs=cut,
                        execution_changes=(recorder.moved(RunStatus.TIMED_OUT, stopping.message),),
                    )
                case StopReason.LOST:
                    return
                case _:
                    assert_never(reason)
        except ClaimLostError:
            log.info("agent.claim_lost_while_stopping")
