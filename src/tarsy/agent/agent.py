"""Agents: a controller in its life cycle. An agent is made for one execution, begun or continued."""

from typing import Protocol, assert_never

import anyio
import structlog
from anyio.lowlevel import checkpoint_if_cancelled

from tarsy.agent.budget.ceilings import CeilingMetError
from tarsy.agent.ceiling_end import end_unspoken
from tarsy.agent.execution import ExecutionContext, ExecutionResult, Stopping, StopReason
from tarsy.agent.iterating import IteratingController
from tarsy.agent.recorder import Recorder
from tarsy.agent.single_shot import executive_summary_controller, scoring_controller, synthesis_controller
from tarsy.agent.tool_calls import NativeSpeech, ReActSpeech, ToolSpeech
from tarsy.agent.tool_turn import RunWaitsError
from tarsy.domain.claim import ClaimLostError
from tarsy.domain.execution import AgentType
from tarsy.domain.status import RunStatus, TimelineStatus
from tarsy.domain.step import StoredRun
from tarsy.domain.tool import ToolCalling

# A last write that takes longer is not worth holding up a shutdown; recovery will close what it leaves open.
LAST_WRITE_SECONDS = 5.0

log = structlog.get_logger(__name__)


class Controller(Protocol):
    """A control flow. It starts from the stored run, whatever is in it, marks the execution active, and stores each step as it happens."""

    async def run(self, context: ExecutionContext, recorder: Recorder, stored: StoredRun) -> ExecutionResult: ...


class BaseAgent:
    """Runs its controller, and leaves nothing open however it ends."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller

    async def execute(self, context: ExecutionContext, stopping: Stopping) -> ExecutionResult:
        stored = await context.journal.load(context.execution_id)
        recorder = Recorder(context, stored)
        stopping.attended = True
        try:
            # An agent whose time was over before it began asks nothing. Its first writes cannot be interrupted, and would hide that from it.
            await checkpoint_if_cancelled()
            return await self._controller.run(context, recorder, stored)
        except CeilingMetError as error:
            return await end_unspoken(context.ceilings, recorder, error)
        except anyio.get_cancelled_exc_class():
            await _close(recorder, stopping)
            raise
        except RunWaitsError as waiting:
            return ExecutionResult(status=RunStatus.ACTIVE, waits=waiting.waits)
        except ClaimLostError:
            raise
        except Exception:
            # Whose failure it is, the stage decides; what this agent was saying ends here.
            await recorder.commit(closed=recorder.close_all(TimelineStatus.FAILED))
            raise


async def _close(recorder: Recorder, stopping: Stopping) -> None:
    """The last write of a stopped execution. One that will be continued elsewhere keeps its status."""
    where = recorder.cut_short(stopping)
    with anyio.move_on_after(LAST_WRITE_SECONDS, shield=True):
        try:
            match reason := stopping.reason:
                case StopReason.HANDED_OVER | StopReason.PARKED:
                    await recorder.commit(closed=recorder.close_all(TimelineStatus.INTERRUPTED))
                case StopReason.CANCELLED:
                    await recorder.commit(
                        closed=recorder.close_all(TimelineStatus.CANCELLED),
                        inputs=where,
                        execution_changes=(recorder.moved(RunStatus.CANCELLED),),
                    )
                case StopReason.TIMED_OUT:
                    await recorder.commit(
                        closed=recorder.close_all(TimelineStatus.TIMED_OUT),
                        inputs=where,
                        execution_changes=(recorder.moved(RunStatus.TIMED_OUT, stopping.told),),
                    )
                case StopReason.LOST:
                    return
                case _:
                    assert_never(reason)
        except ClaimLostError:
            log.info("agent.claim_lost_while_stopping")


def create_controller(context: ExecutionContext) -> Controller:
    """The control flow for an agent's type."""
    match context.config.type:
        case AgentType.DEFAULT:
            return IteratingController(speech_for(context.config.tool_calling))
        case AgentType.SYNTHESIS:
            return synthesis_controller()
        case AgentType.EXEC_SUMMARY:
            return executive_summary_controller()
        case AgentType.SCORING:
            return scoring_controller()
        case _:
            assert_never(context.config.type)


def speech_for(tool_calling: ToolCalling) -> ToolSpeech:
    match tool_calling:
        case ToolCalling.NATIVE:
            return NativeSpeech()
        case ToolCalling.REACT:
            return ReActSpeech()
        case _:
            assert_never(tool_calling)
