"""The single-turn flow: one request, one answer, no tools. What is asked makes it a synthesis, a summary or a judgement."""

from collections.abc import Callable
from dataclasses import dataclass

from tarsy.agent.execution import ExecutionContext, ExecutionResult
from tarsy.agent.model_call import CompletedCall, WholeText, failed_closes
from tarsy.agent.recorder import Recorder
from tarsy.agent.repetition import without_loop
from tarsy.agent.run import Run
from tarsy.domain.conversation import ConversationMessage, Role
from tarsy.domain.interaction import LLMInteractionKind
from tarsy.domain.llm import ErrorChunk, ErrorCode
from tarsy.domain.score import NO_SCORE, parse_score
from tarsy.domain.status import RunStatus, TimelineStatus
from tarsy.domain.step import StoredRun
from tarsy.domain.timeline import TimelineEventType


@dataclass(frozen=True, slots=True)
class SingleShotConfig:
    """`build_messages` makes the question out of what came before; with `thinking_fallback`, thoughts stand in for an empty answer."""

    build_messages: Callable[[ExecutionContext], tuple[ConversationMessage, ...]]
    thinking_fallback: bool = False
    event_type: TimelineEventType = TimelineEventType.FINAL_ANALYSIS
    # Says what an answer lacks to be one, if anything.
    objection: Callable[[str], str | None] = lambda text: None if text.strip() else "the model's answer was empty"


class SingleShotController:
    def __init__(self, config: SingleShotConfig) -> None:
        self._config = config

    async def run(self, context: ExecutionContext, recorder: Recorder, stored: StoredRun) -> ExecutionResult:
        run = Run(context, recorder, stored)
        if not run.messages:
            run.messages = [recorder.message(body) for body in self._config.build_messages(context)]
            await recorder.commit(messages=tuple(run.messages))
        while True:
            call = await run.call(LLMInteractionKind.SINGLE_SHOT, WholeText(self._config.event_type))
            answer = call.answer
            text = answer.told if answer.text.strip() else without_loop(answer.thinking) if self._config.thinking_fallback else ""
            objection = self._config.objection(text)
            error = answer.error or (ErrorChunk(objection, ErrorCode.EMPTY_RESPONSE) if objection else None)
            if error is None:
                return await self._finish(run, call, text)
            if not await self._fall_back(run, call, error):
                return ExecutionResult(status=RunStatus.FAILED, error=error.message)

    async def _finish(self, run: Run, call: CompletedCall, text: str) -> ExecutionResult:
        recorder = run.recorder
        answered = call.open_event is not None and call.open_event.event_type is self._config.event_type
        closed = (recorder.close(call.open_event.id, content=text if answered else None),) if call.open_event else ()
        made = () if answered else (recorder.event(self._config.event_type, text),)
        await recorder.commit(
            messages=(recorder.message(ConversationMessage(Role.ASSISTANT, text)),),
            closed=closed,
            opened=(*call.answer.native_events, *made),
            llm_interactions=(call.interaction,),
            execution_changes=(recorder.moved(RunStatus.COMPLETED),),
        )
        return ExecutionResult(status=RunStatus.COMPLETED, final_analysis=text)

    async def _fall_back(self, run: Run, call: CompletedCall, error: ErrorChunk) -> bool:
        """Record the failure; true when another model can be asked."""
        recorder = run.recorder
        shown = recorder.event(TimelineEventType.ERROR, error.message, status=TimelineStatus.FAILED, metadata={"code": error.code.value})
        fallback = run.fall_back(error)
        change, more = (fallback[0], (fallback[1],)) if fallback else (recorder.moved(RunStatus.FAILED, error.message), ())
        await recorder.commit(
            closed=failed_closes(call, recorder),
            opened=(*call.answer.native_events, shown, *more),
            llm_interactions=(call.interaction,),
            execution_changes=(change,),
        )
        return fallback is not None


def synthesis_controller() -> SingleShotController:
    return SingleShotController(
        SingleShotConfig(lambda context: context.prompts.build_synthesis_messages(context.previous), thinking_fallback=True)
    )


def executive_summary_controller() -> SingleShotController:
    return SingleShotController(
        SingleShotConfig(
            lambda context: context.prompts.build_executive_summary_messages(context.previous),
            event_type=TimelineEventType.EXECUTIVE_SUMMARY,
        )
    )


def scoring_controller() -> SingleShotController:
    return SingleShotController(
        SingleShotConfig(
            lambda context: context.prompts.build_scoring_messages(context.previous),
            objection=lambda text: None if parse_score(text) else NO_SCORE,
        )
    )
