"""The end of an execution that analyses: its answer is checked by code, corrected once by its author where that may help, and stored as what it is worth.

A draft is stored before its correction is asked for, and whatever happens then, an answer stands: the corrected one if it is better, else the draft.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

from anyio import to_thread

from tarsy.agent.answer_text import TextRouter
from tarsy.agent.budget.ceilings import CeilingMetError
from tarsy.agent.evidence.review import Review, read_answer
from tarsy.agent.execution import ExecutionResult
from tarsy.agent.failures import failed_closes
from tarsy.agent.model_call import REACT, CompletedCall, ModelAnswer, OpenEvent
from tarsy.agent.recorder import Recorder
from tarsy.agent.repetition import without_loop
from tarsy.agent.run import Run, lacks
from tarsy.agent.tool_calls import GivesAnswer
from tarsy.domain.conclusion import SHORTCOMING
from tarsy.domain.conversation import ConversationMessage, Message, Role, ToolCall
from tarsy.domain.evidence import Evidence
from tarsy.domain.interaction import LLMInteractionKind
from tarsy.domain.llm import ErrorCode, ProviderType
from tarsy.domain.status import RunStatus
from tarsy.domain.step import ExecutionCitation, ExecutionInput
from tarsy.domain.timeline import TimelineClose, TimelineEvent, TimelineEventType
from tarsy.kit.text import in_thread_if_long


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """What a step closes and opens to show an answer."""

    closed: tuple[TimelineClose, ...] = ()
    opened: tuple[TimelineEvent, ...] = ()

    def beside(self, other: "ShownAnswer") -> "ShownAnswer":
        return ShownAnswer((*self.closed, *other.closed), (*self.opened, *other.opened))


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
            remark = {"correction": f"It was not asked for a correction because of {error.met.description}."}
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


_ANSWERS = frozenset({TimelineEventType.LLM_RESPONSE, TimelineEventType.FINAL_ANALYSIS})


def show_as_response(recorder: Recorder, call: CompletedCall | None, text: str, metadata: Mapping[str, Any]) -> ShownAnswer:
    """An answer that is not the analysis after all: the event that streamed it is renamed, or one is made."""
    if call and call.open_event and call.open_event.event_type in _ANSWERS:
        return close_text(recorder, call, text, TimelineEventType.LLM_RESPONSE, metadata)
    before = show_thought(recorder, call, "") if call else ShownAnswer()
    return before.beside(ShownAnswer(opened=(recorder.event(TimelineEventType.LLM_RESPONSE, text, metadata=metadata),)))


def show_thought(recorder: Recorder, call: CompletedCall, thought: str) -> ShownAnswer:
    """Close what the call showed; a thought that was only found by parsing is shown now."""
    if call.open_event is None:
        closed = ShownAnswer(opened=call.answer.native_events)
    elif _is_text(call.open_event):
        kind, content = _as_thought(recorder, call.open_event, thought)
        closed = close_text(recorder, call, content, kind, {"source": REACT} if kind else None)
    else:
        written = without_loop(recorder.written(call.open_event.id))
        closed = ShownAnswer((recorder.close(call.open_event.id, content=written),), call.answer.native_events)
    if thought and TimelineEventType.LLM_THINKING not in call.shown:
        found = recorder.event(TimelineEventType.LLM_THINKING, thought, metadata={"source": REACT})
        return ShownAnswer(closed.closed, (*closed.opened, found))
    return closed


def show_analysis(recorder: Recorder, call: CompletedCall, turn: GivesAnswer, metadata: Mapping[str, Any] | None = None) -> ShownAnswer:
    """The answer as `final_analysis`: the event that streamed it is renamed, or one is made."""
    event = call.open_event
    if event and (event.event_type in _ANSWERS or _streamed_as_thought(recorder, event, turn)):
        return close_text(recorder, call, turn.text, TimelineEventType.FINAL_ANALYSIS, metadata)
    shown = show_thought(recorder, call, turn.thought)
    analysis = recorder.event(TimelineEventType.FINAL_ANALYSIS, turn.text, metadata=metadata)
    return ShownAnswer(shown.closed, (*shown.opened, analysis))


def _is_text(event: OpenEvent) -> bool:
    """Whether an event shows the model's text, not thinking of its own."""
    return event.event_type in _ANSWERS or event.source == REACT


def _streamed_as_thought(recorder: Recorder, event: OpenEvent, turn: GivesAnswer) -> bool:
    """Whether all of an answer without its header was taken for a thought while it was written."""
    return event.source == REACT and not turn.thought and without_loop(recorder.written(event.id)).strip() == turn.text.strip()


def _as_thought(recorder: Recorder, event: OpenEvent, thought: str) -> tuple[TimelineEventType | None, str]:
    written = without_loop(recorder.written(event.id))
    if event.event_type is TimelineEventType.FINAL_ANALYSIS:
        # What was streamed as the answer turned out not to be one.
        return TimelineEventType.LLM_THINKING, written
    # What was streamed as a thought may turn out to hold a call: the parsed thought has the last word.
    return None, (thought if event.source == REACT else "") or written


def close_text(
    recorder: Recorder, call: CompletedCall, content: str, kind: TimelineEventType | None, metadata: Mapping[str, Any] | None
) -> ShownAnswer:
    """Close the streaming text.

    Vendors tell what their own tools found when the text is written. It stands before the text all the same: the first of it takes the
    text's place, and the text a new one behind the last.
    """
    event = call.open_event
    assert event is not None  # noqa: S101 - the callers have looked
    native = call.answer.native_events
    if not native:
        return ShownAnswer((recorder.close(event.id, content=content, event_type=kind, metadata=metadata),))
    first, *others = native
    closed = recorder.close(event.id, content=first.content, event_type=first.event_type, metadata=first.metadata)
    # Numbered anew: what was told before the text began had its numbers before it.
    behind = tuple(recorder.event(one.event_type, one.content, metadata=one.metadata) for one in others)
    source = {"source": event.source} if event.source else {}
    text = recorder.event(kind or event.event_type, content, metadata={**source, **(metadata or {})})
    return ShownAnswer((closed,), (*behind, text))
