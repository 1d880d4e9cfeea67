"""The single-turn flow: one request, one answer, no tools. What is asked makes it a synthesis, a summary or a judgement."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from tarsy.agent.answer_text import MAX_CONTINUATIONS, WholeText, joined, pieces_so_far
from tarsy.agent.conclusion import Answered, Conclusion, ShownAnswer, close_text, show_thought
from tarsy.agent.execution import ExecutionContext, ExecutionResult
from tarsy.agent.failures import MAX_CONSECUTIVE_TIMEOUTS
from tarsy.agent.model_call import CompletedCall
from tarsy.agent.prompt.builder import PromptBuilder
from tarsy.agent.recorder import Recorder
from tarsy.agent.repetition import without_loop
from tarsy.agent.run import Run, lacks
from tarsy.agent.tool_calls import GivesAnswer, NativeSpeech
from tarsy.domain.conversation import ConversationMessage, Role
from tarsy.domain.followup import NO_SCORE, parse_score
from tarsy.domain.interaction import LLMInteractionKind
from tarsy.domain.llm import ErrorChunk, ErrorCode
from tarsy.domain.status import RunStatus
from tarsy.domain.step import StoredRun
from tarsy.domain.timeline import TimelineEventType


@dataclass(frozen=True, slots=True)
class SingleShotConfig:
    """`build_messages` makes the question out of what came before; with `thinking_fallback`, thoughts stand in for an empty answer."""

    build_messages: Callable[[PromptBuilder, str], tuple[ConversationMessage, ...]]
    thinking_fallback: bool = False
    event_type: TimelineEventType = TimelineEventType.FINAL_ANALYSIS
    # Whether the answer claims something about the world that code can check.
    reviewed: bool = False
    # Says what an answer lacks to be one, if anything.
    objection: Callable[[str], str | None] = lambda text: None if text.strip() else "the model's answer was empty"


class SingleShotController:
    def __init__(self, config: SingleShotConfig) -> None:
        self._config = config

    async def run(self, context: ExecutionContext, recorder: Recorder, stored: StoredRun) -> ExecutionResult:
        run = Run(context, recorder, stored)
        if ended := await self._prepare(run, stored):
            return ended
        while True:
            call = await run.call(LLMInteractionKind.SINGLE_SHOT, WholeText(self._config.event_type))
            verdict = self._verdict(run, call)
            match verdict:
                case GivesAnswer(text):
                    if ended := await self._finish(run, call, text):
                        return ended
                case _Cut():
                    await run.ask_to_continue(call, recorder.message(ConversationMessage(Role.ASSISTANT, call.answer.text)))
                case ErrorChunk():
                    if ended := await run.after_failure(call, verdict):
                        return ended
                case _:
                    assert_never(verdict)

    async def _prepare(self, run: Run, stored: StoredRun) -> ExecutionResult | None:
        """Ask the question, or go on where a predecessor stopped: a result if it had the answer already."""
        if not run.messages:
            prompts, inputs = run.opening()
            run.messages = [run.recorder.message(body) for body in self._config.build_messages(prompts, run.context.previous)]
            await run.recorder.ask(messages=tuple(run.messages), inputs=inputs, execution_changes=run.recorder.begin(stored))
        elif run.messages[-1].body.role is Role.ASSISTANT:
            # The answer that a predecessor had stored, and whose correction it did not live to hear.
            text = joined((*pieces_so_far(run.messages[:-1]), run.messages[-1].body.content))
            return await Conclusion(run, NativeSpeech()).end(Answered(turn=GivesAnswer(text)))
        elif reopened := run.failures.reopen(stored.calls, run.messages, run.provider.name):
            await run.recorder.commit(opened=reopened)
        return None

    def _verdict(self, run: Run, call: CompletedCall) -> "GivesAnswer | _Cut | ErrorChunk":
        """What an answer is worth, together with those it continues."""
        answer, pieces = call.answer, pieces_so_far(run.messages)
        thought = without_loop(answer.thinking) if self._config.thinking_fallback else ""
        if answer.error:
            # Asked twice it said nothing aloud: what it thought is the best there is.
            silent = answer.error.code is ErrorCode.EMPTY_RESPONSE and run.failed_calls + 1 >= MAX_CONSECUTIVE_TIMEOUTS
            return GivesAnswer(thought) if silent and thought else answer.error
        text = joined((*pieces, answer.told)) if answer.text.strip() else thought
        if objection := self._config.objection(text):
            return ErrorChunk(objection, ErrorCode.EMPTY_RESPONSE)
        return _Cut() if answer.finish and len(pieces) < MAX_CONTINUATIONS else GivesAnswer(text)

    async def _finish(self, run: Run, call: CompletedCall, text: str) -> ExecutionResult | None:
        recorder, kind = run.recorder, self._config.event_type
        run.failures.end_with(call.interaction.id)
        message = recorder.message(ConversationMessage(Role.ASSISTANT, text))
        if self._config.reviewed:
            return await Conclusion(run, NativeSpeech()).end(Answered(turn=GivesAnswer(text), call=call, messages=(message,)))
        metadata = lacks(run, text, cut=call.answer.finish is not None) if kind is TimelineEventType.FINAL_ANALYSIS else {}
        if call.open_event and call.open_event.event_type is kind:
            shown = close_text(recorder, call, text, kind, metadata)
        else:
            before = show_thought(recorder, call, "")
            shown = ShownAnswer(before.closed, (*before.opened, recorder.event(kind, text, metadata=metadata)))
        await recorder.commit(
            messages=(message,),
            closed=shown.closed,
            opened=shown.opened,
            llm_interactions=(call.interaction,),
            execution_changes=(recorder.moved(RunStatus.COMPLETED),),
        )
        return ExecutionResult(status=RunStatus.COMPLETED, final_analysis=text)


@dataclass(frozen=True, slots=True)
class _Cut:
    """The answer stops at the model's output limit, and may be continued."""


def synthesis_controller() -> SingleShotController:
    return SingleShotController(SingleShotConfig(PromptBuilder.build_synthesis_messages, thinking_fallback=True, reviewed=True))


def executive_summary_controller() -> SingleShotController:
    return SingleShotController(
        SingleShotConfig(
            PromptBuilder.build_executive_summary_messages,
            event_type=TimelineEventType.EXECUTIVE_SUMMARY,
        )
    )


def scoring_controller() -> SingleShotController:
    return SingleShotController(
        SingleShotConfig(
            PromptBuilder.build_scoring_messages,
            objection=lambda text: None if parse_score(text) else NO_SCORE,
        )
    )
