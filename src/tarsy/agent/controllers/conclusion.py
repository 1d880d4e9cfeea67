"""The end of an execution that analyses: its answer is checked by code, corrected once by its author where that may help, and stored as what it is worth.

A draft is stored before its correction is asked for, and whatever happens then, an answer stands: the corrected one if it is better, else the draft.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

from anyio import to_thread

from tarsy.agent.ceilings.ceilings import CeilingMetError
from tarsy.agent.controllers.shown_answer import ShownAnswer, show_analysis, show_as_response
from tarsy.agent.controllers.speech import GivesAnswer
from tarsy.agent.evidence.review import Review, read_answer
from tarsy.agent.execution import ExecutionResult
from tarsy.agent.failure_log import failed_closes
from tarsy.agent.model_call import CompletedCall, ModelAnswer, TextRouter
from tarsy.agent.recorder import Recorder
from tarsy.agent.run import Run, lacks
from tarsy.domain.conclusion import SHORTCOMING
from tarsy.domain.conversation import ConversationMessage, Message, Role, ToolCall
from tarsy.domain.evidence import Evidence
from tarsy.domain.interaction import LLMInteractionKind
from tarsy.domain.llm import ErrorCode, ProviderType
from tarsy.domain.status import RunStatus
from tarsy.domain.step import ExecutionCitation, ExecutionInput
from tarsy.domain.timeline import TimelineEventType
from tarsy.kit.text import in_thread_if_long


class Concludes(Protocol):
    """How the model's last words are heard and kept."""

    def concluding_router(self) -> TextRouter: ...

    def conclusion(self, text: str) -> GivesAnswer: ...

    def assistant_message(self, answer: ModelAnswer, calls: tuple[ToolCall, ...]) -> ConversationMessage: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """An answer, and what belongs into the step that stores it. Without its call it was stored by a predecessor."""

    turn: GivesAnswer
    call: CompletedCall | None = None
    messages: tuple[Message, ...] = ()
    inputs: tuple[ExecutionInput, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])


class Conclusion:
    """Ends one execution."""

    def __init__(self, run: Run, speech: Concludes) -> None:
        self._run = run
        self._recorder: Recorder = run.recorder
        self._speech = speech
        self._asks_verdict = run.context.prompts.context.asks_verdict

    async def end(self, answered: Answered) -> ExecutionResult | None:
        """Check an answer and end with it, or with what its author makes of it. None: its author was told something, and goes on."""
        draft = await self._reviewed(answered.turn.text)
        metadata = {**answered.metadata, **lacks(self._run, draft.text, cut=_is_cut(answered))}
        answered = replace(answered, metadata=metadata)
        analyses = self._run.must_cite
        if SHORTCOMING in metadata or not draft.wants_correction(asks_verdict=self._asks_verdict, analyses=analyses):
            return await self._store(answered, draft, _shown(self._recorder, answered, draft))
        if answered.call:
            await self._recorder.commit(messages=answered.messages, llm_interactions=(answered.call.interaction,), inputs=answered.inputs)
            self._run.messages += answered.messages
            self._keep(answered, draft)
        if self._recorder.notes.hold(self._run.turn):
            shown = show_as_response(self._recorder, answered.call, draft.text, {"draft": True})
            return await self._run.reconsider({"closed": shown.closed, "opened": shown.opened})
        return await self._correct(answered, draft)

    def _keep(self, answered: Answered, draft: Review) -> None:
        """If the run is stopped while the draft is being corrected, the draft is its analysis."""
        call = answered.call
        if call and call.open_event:
            metadata = {**answered.metadata, **draft.metadata()}
            close = partial(self._recorder.close, content=draft.text, event_type=TimelineEventType.FINAL_ANALYSIS, metadata=metadata)
            self._recorder.keep(call.open_event.id, close)

    async def _correct(self, answered: Answered, draft: Review) -> ExecutionResult | None:
        run, recorder = self._run, self._recorder
        tool_calling = run.context.config.tool_calling
        request = ConversationMessage(Role.USER, run.context.prompts.build_correction_prompt(draft, tool_calling))
        stored = replace(answered, call=None, messages=(), inputs=())
        try:
            call = await run.call(LLMInteractionKind.CORRECTION, self._speech.concluding_router(), extra=(request,))
        except CeilingMetError as error:
            run.context.ceilings.note(error.met)
            remark = {"correction": f"It was not asked for a correction because of {error.met.told}."}
            return await self._store(stored, draft, _shown(recorder, answered, draft, remark))
        if failure := self._failure(call):
            shown = _shown(recorder, answered, draft, {"correction": failure})
            return await self._store(stored, draft, shown, _unheard(recorder, call), call)
        if call.answer.error:
            return await self._store(stored, draft, _shown(recorder, answered, draft))
        turn = self._speech.conclusion(call.answer.told)
        corrected = await self._reviewed(turn.text)
        said = replace(answered, turn=turn, call=call, messages=self._said(request, call))
        if corrected.improves(draft):
            drafted = show_as_response(recorder, answered.call, draft.text, {"draft": True})
            shown = drafted.beside(_shown(recorder, said, corrected, {"corrected": True}))
            return await self._store(said, corrected, shown, call=call)
        rejected = show_as_response(recorder, call, turn.text, {"rejected_correction": True})
        shown = _shown(recorder, answered, draft, {"correction": "The corrected answer was no better, so this one stands."})
        return await self._store(replace(stored, messages=said.messages), draft, rejected.beside(shown), call=call)

    def _said(self, request: ConversationMessage, call: CompletedCall) -> tuple[Message, ...]:
        return self._recorder.message(request), self._recorder.message(self._speech.assistant_message(call.answer, ()))

    def _failure(self, call: CompletedCall) -> str:
        """Why there is no correction, in words for people. A recording that holds none was made without one: nothing is missing."""
        error = call.answer.error
        if error is None:
            return "" if call.answer.text.strip() else "The model had nothing to say about its correction, so the answer stands as it was."
        if self._run.provider.type is ProviderType.REPLAY and error.code is ErrorCode.INVALID_REQUEST:
            return ""
        return f"It could not be corrected: {error.message}"

    async def _reviewed(self, said: str) -> Review:
        context = self._run.context
        answer = await in_thread_if_long(read_answer, said)
        given = [Evidence(id=name, text=text) for name, text in context.documents.items()]
        evidence = [*given, *await context.results.cited(context.execution_id, answer.cited_ids - context.documents.keys())]
        review = partial(answer.review, evidence)
        # Comparing what is quoted takes half a second at the worst, in which the other agents go on.
        return review() if answer.is_quick_to_review(evidence) else await to_thread.run_sync(review)

    async def _store(
        self,
        answered: Answered,
        final: Review,
        shown: ShownAnswer,
        unheard: ShownAnswer | None = None,
        call: CompletedCall | None = None,
    ) -> ExecutionResult | None:
        recorder, made = self._recorder, call or answered.call
        shown = unheard.beside(shown) if unheard else shown
        refused = await recorder.conclude(
            self._run.turn,
            messages=answered.messages,
            closed=shown.closed,
            opened=shown.opened,
            llm_interactions=(made.interaction,) if made else (),
            inputs=answered.inputs,
            citations=tuple(
                ExecutionCitation(self._run.context.execution_id, number, one) for number, one in enumerate(final.checked.citations)
            ),
            execution_changes=(recorder.moved(RunStatus.COMPLETED),),
        )
        if refused:
            return await self._run.reconsider(refused)
        return ExecutionResult(status=RunStatus.COMPLETED, final_analysis=final.text)


def _shown(recorder: Recorder, answered: Answered, final: Review, more: Mapping[str, Any] | None = None) -> ShownAnswer:
    """The answer as the analysis: in the event that streamed it, or in one of its own."""
    metadata = {**answered.metadata, **final.metadata(), **(more or {})}
    if answered.call is None:
        return ShownAnswer(opened=(recorder.event(TimelineEventType.FINAL_ANALYSIS, final.text, metadata=metadata),))
    return show_analysis(recorder, answered.call, replace(answered.turn, text=final.text), metadata)


def _unheard(recorder: Recorder, call: CompletedCall) -> ShownAnswer:
    return ShownAnswer(failed_closes(call, recorder), call.answer.native_events)


def _is_cut(answered: Answered) -> bool:
    return answered.call is not None and answered.call.answer.finish is not None
