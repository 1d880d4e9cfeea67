"""The single-turn control flow: one request, one answer, no tools; for syntheses, executive summaries and scores."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tarsy.agent.answer_text import MAX_CONTINUATIONS, WholeText, joined, pieces_so_far
from tarsy.agent.conclusion import Answered, Conclusion, show_answer
from tarsy.agent.execution import ExecutionResult
from tarsy.agent.failures import MAX_CONSECUTIVE_TIMEOUTS
from tarsy.agent.model_call import CompletedCall, ModelAnswer
from tarsy.agent.prompt.builder import PromptBuilder
from tarsy.agent.repetition import without_loop
from tarsy.agent.run import Run
from tarsy.agent.tool_calls import GivesAnswer, NativeToolCalls
from tarsy.domain.conclusion import WRITTEN_BY_CODE
from tarsy.domain.conversation import ConversationMessage, Role
from tarsy.domain.followup import NO_SCORE, parse_score
from tarsy.domain.interaction import LLMInteractionKind
from tarsy.domain.llm import ErrorChunk, ErrorCode
from tarsy.domain.status import RunStatus
from tarsy.domain.step import StoredRun
from tarsy.domain.timeline import TimelineEventType


@dataclass(frozen=True, slots=True)
class SingleShotConfig:
    """`build_messages` makes the request from the findings of earlier stages."""

    build_messages: Callable[[PromptBuilder, str], tuple[ConversationMessage, ...]]
    event_type: TimelineEventType = TimelineEventType.FINAL_ANALYSIS
    # Whether the answer makes claims that the evidence checker can check. Then thinking replaces an empty answer.
    reviewed: bool = False
    # Returns why an answer is not accepted; None if it is.
    objection: Callable[[str], str | None] = lambda text: None if text.strip() else "the model's answer was empty"


SYNTHESIS = SingleShotConfig(PromptBuilder.build_synthesis_messages, reviewed=True)
EXECUTIVE_SUMMARY = SingleShotConfig(PromptBuilder.build_executive_summary_messages, event_type=TimelineEventType.EXECUTIVE_SUMMARY)
SCORING = SingleShotConfig(PromptBuilder.build_scoring_messages, objection=lambda text: None if parse_score(text) else NO_SCORE)


async def run_single_shot(run: Run, config: SingleShotConfig, stored: StoredRun) -> ExecutionResult:
    """Make the request, or continue from wherever the stored run stands, until an answer is accepted or no model can give one."""
    recorder = run.recorder
    if not run.messages:
        prompts, inputs = run.opening()
        run.messages = [recorder.message(body) for body in config.build_messages(prompts, run.context.previous)]
        await recorder.commit(messages=tuple(run.messages), inputs=inputs, execution_changes=recorder.begin(stored))
    elif run.messages[-1].body.role is Role.ASSISTANT:
        # The answer of an interrupted run is stored, but not its check.
        text = joined((*pieces_so_far(run.messages[:-1]), run.messages[-1].body.content))
        if ended := await Conclusion(run, NativeToolCalls()).end(Answered(turn=GivesAnswer(text))):
            return ended
    elif reopened := run.failures.reopen(stored.calls, run.messages, run.provider.name):
        await recorder.commit(opened=reopened)
    while True:
        call = await run.call(LLMInteractionKind.SINGLE_SHOT, WholeText(config.event_type))
        pieces = pieces_so_far(run.messages)
        text = _accepted(run, config, call.answer, pieces)
        if isinstance(text, ErrorChunk):
            if ended := await run.after_failure(call, text):
                return ended
        elif call.answer.error is None and call.answer.finish and len(pieces) < MAX_CONTINUATIONS:
            await run.ask_to_continue(call, recorder.message(ConversationMessage(Role.ASSISTANT, call.answer.text)))
        elif ended := await _end(run, config, call, text):
            return ended


async def _end(run: Run, config: SingleShotConfig, call: CompletedCall, text: str) -> ExecutionResult | None:
    """Store an accepted answer and the end of the execution; None if the answer must be written again."""
    recorder, kind = run.recorder, config.event_type
    run.failures.close_with(call.interaction.id)
    message = recorder.message(ConversationMessage(Role.ASSISTANT, text))
    if config.reviewed:
        return await Conclusion(run, NativeToolCalls()).end(Answered(turn=GivesAnswer(text), call=call, messages=(message,)))
    metadata = run.shortcoming(text, cut=call.answer.finish is not None) if kind is TimelineEventType.FINAL_ANALYSIS else {}
    source = None if run.context.overrides.older_rules else run.context.summarised
    if source and (objection := source.objection(text)):
        text, metadata = source.written(), {WRITTEN_BY_CODE: objection}
    shown = show_answer(recorder, call, kind, text, metadata)
    await recorder.commit(
        messages=(message,),
        closed=shown.closed,
        opened=shown.opened,
        llm_interactions=(call.interaction,),
        execution_changes=(recorder.moved(RunStatus.COMPLETED),),
    )
    return ExecutionResult(status=RunStatus.COMPLETED, final_analysis=text)


def _accepted(run: Run, config: SingleShotConfig, answer: ModelAnswer, pieces: Sequence[str]) -> str | ErrorChunk:
    """Return the text of an answer together with the pieces it continues, or why it is not accepted."""
    thinking = without_loop(answer.thinking) if config.reviewed else ""
    if answer.error:
        # After two empty answers, its thinking is the best there is.
        silent = answer.error.code is ErrorCode.EMPTY_RESPONSE and len(run.failed_calls) + 1 >= MAX_CONSECUTIVE_TIMEOUTS
        return thinking if silent and thinking else answer.error
    text = joined((*pieces, answer.text_without_loop)) if answer.text.strip() else thinking
    objection = config.objection(text)
    return ErrorChunk(objection, ErrorCode.EMPTY_RESPONSE) if objection else text
