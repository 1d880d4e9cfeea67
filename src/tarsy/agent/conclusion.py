"""The end of an execution that analyses: its answer is checked, corrected once by its author where that may help, judged if configured, and stored.

A draft is stored before its correction is requested, so that an answer is kept in any case: the corrected one if it is better, else the draft.
"""

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import anyio
from anyio import to_thread

from tarsy.agent.answer_text import CONTINUE, ThoughtsOnly, WholeText, joined, pieces_so_far
from tarsy.agent.budget.ceilings import CeilingMetError
from tarsy.agent.evidence.review import Review, read_answer
from tarsy.agent.evidence.support import QuotedStatement, objections, parse_judgements, quoted_statements
from tarsy.agent.execution import ExecutionResult
from tarsy.agent.failures import failed_closes
from tarsy.agent.model_call import REACT, CompletedCall, ModelCall
from tarsy.agent.prompt.nudges import CORRECTION_REQUEST, EMPTY_ANSWER_NUDGE, LOOPING_TEXT_NUDGE
from tarsy.agent.recorder import Recorder, StepParts
from tarsy.agent.repetition import without_loop
from tarsy.agent.run import Run
from tarsy.agent.tool_calls import GivesAnswer, ToolCallFormat, WantsTools
from tarsy.agent.tool_turn import use_tools
from tarsy.domain.conclusion import FORCED_CONCLUSION, SHORTCOMING
from tarsy.domain.conversation import ConversationMessage, Message, Role
from tarsy.domain.execution import AgentType
from tarsy.domain.interaction import LLMInteractionKind
from tarsy.domain.llm import ErrorCode, GenerateInput, ProviderType
from tarsy.domain.status import RunStatus
from tarsy.domain.step import ExecutionCitation, ExecutionInput
from tarsy.domain.timeline import TimelineClose, TimelineEvent, TimelineEventType
from tarsy.domain.tool import ToolCalling

_NO_BETTER: Mapping[str, Any] = {"correction": "The corrected answer was no better, so this one stands."}
# The replies to an answer that was cut, or is none.
_ASKED_AGAIN = frozenset({CONTINUE, EMPTY_ANSWER_NUDGE, LOOPING_TEXT_NUDGE})
_ANSWERS = frozenset({TimelineEventType.LLM_RESPONSE, TimelineEventType.FINAL_ANALYSIS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """An answer, and the parts of the step that stores it. Without its call, an interrupted run has stored it."""

    turn: GivesAnswer
    call: CompletedCall | None = None
    messages: tuple[Message, ...] = ()
    inputs: tuple[ExecutionInput, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """The timeline events that a step closes and opens to show an answer."""

    closed: tuple[TimelineClose, ...] = ()
    opened: tuple[TimelineEvent, ...] = ()

    def __add__(self, other: "ShownAnswer") -> "ShownAnswer":
        return ShownAnswer((*self.closed, *other.closed), (*self.opened, *other.opened))


class Conclusion:
    """Ends one execution."""

    def __init__(self, run: Run, tool_calls: ToolCallFormat) -> None:
        self._run = run
        self._context = run.context
        self._recorder = run.recorder
        self._tool_calls = tool_calls

    async def end(self, answered: Answered) -> ExecutionResult | None:
        """Check an answer, have it corrected where that may help, and store it; return None if a note arrived or something is looked up, and the agent goes on."""
        recorder, call = self._recorder, answered.call
        if looked_up := self.looked_up:
            return await self._end_look_up(answered, looked_up)
        draft = await self._review(answered.turn.text)
        metadata = {**answered.metadata, **self._run.shortcoming(draft.text, cut=call is not None and call.answer.finish is not None)}
        answered = replace(answered, metadata=metadata)
        asks_verdict = self._context.prompts.context.asks_verdict
        is_corrected = self._context.overrides.older_rules or draft.wants_correction(
            asks_verdict=asks_verdict, analyses=self._run.must_cite
        )
        if SHORTCOMING in metadata or not (is_corrected or self._quoted(draft)):
            return await self._store(answered, draft, partial(self._as_analysis, answered), call)
        # The draft has its entry before the correction's thinking. If the run is stopped while it is corrected or judged, it is the analysis.
        entry, shown = draft_entry(recorder, call, draft.text, answered.turn.thought)
        final = {"event_type": TimelineEventType.FINAL_ANALYSIS, "metadata": {**answered.metadata, **draft.metadata()}}
        recorder.close_when_stopped(entry.id, partial(recorder.close, content=draft.text, **final))
        await recorder.commit(
            messages=answered.messages,
            llm_interactions=(call.interaction,) if call else (),
            inputs=answered.inputs,
            closed=shown.closed,
            opened=shown.opened,
        )
        self._run.messages += answered.messages
        if recorder.notes.hold(self._run.turn):
            return await self._run.reconsider({"closed": (self._as_draft(entry, draft),)})
        answered = replace(answered, messages=(), inputs=())
        if not is_corrected:
            return await self._store(answered, draft, partial(self._in_place, entry, answered))
        return await self._correct(answered, draft, entry)

    async def _correct(self, answered: Answered, draft: Review, entry: TimelineEvent) -> ExecutionResult | None:
        """Request a correction of a stored draft, and store the better of the two."""
        run, recorder, context = self._run, self._recorder, self._context
        # With the same tools as the draft, so that the vendor's cache has the beginning of the request.
        has_tools = context.config.tool_calling is ToolCalling.NATIVE and FORCED_CONCLUSION not in answered.metadata
        tools = run.catalog.tools if has_tools else ()
        deadline = anyio.current_time() + context.config.iteration_timeout
        text = context.prompts.build_correction_prompt(draft, context.config.tool_calling, has_tools=bool(tools))
        request = ConversationMessage(Role.USER, text)
        try:
            call = await run.call(LLMInteractionKind.CORRECTION, ThoughtsOnly(self._tool_calls.router()), tools=tools, extra=(request,))
        except CeilingMetError as error:
            context.ceilings.record(error.met)
            remark = {"correction": f"It was not asked for a correction because of {error.met.description}."}
            return await self._store(answered, draft, partial(self._in_place, entry, answered, more=remark))
        error = call.answer.error
        if error and run.provider.type is ProviderType.REPLAY and error.code is ErrorCode.INVALID_REQUEST:
            # The recording has no correction, and was made without one.
            return await self._store(answered, draft, partial(self._in_place, entry, answered))
        if tools and call.answer.tool_calls and not error and not context.overrides.older_rules:
            asked, (sequence_number,) = recorder.message(request), recorder.reserve(1)
            turn = self._tool_calls.parse(call.answer, sequence_number, run.call_ids)
            if isinstance(turn, WantsTools):
                shown = ShownAnswer((self._as_draft(entry, draft),)) + show_thought(recorder, call, turn.thought)
                step = StepParts(messages=(asked,), closed=shown.closed, opened=shown.opened)
                recorder.draft = draft.text, {**answered.metadata, **draft.metadata()}
                state = run.state
                await use_tools(run, self._tool_calls, call, turn, sequence_number, deadline=deadline, step=step)
                # Only the draft counts as an iteration.
                run.state = state
                return None
        if error or not call.answer.text.strip():
            silent = "The model had nothing to say about its correction, so the answer stands as it was."
            remark = {"correction": f"It could not be corrected: {error.message}" if error else silent}
            failed = ShownAnswer(failed_closes(call, recorder), call.answer.native_events)
            return await self._store(answered, draft, partial(self._in_place, entry, answered, before=failed, more=remark), call)
        reply = self._tool_calls.conclusion(call.answer.text_without_loop)
        corrected = await self._review(draft.patched(reply.text))
        messages = (recorder.message(request), recorder.message(self._tool_calls.assistant_message(call.answer, ())))
        answered, thought = replace(answered, messages=messages), show_thought(recorder, call, reply.thought)
        is_better = corrected.improves(draft, by_older_rules=context.overrides.older_rules)
        remark = {"corrected": True} if is_better else _NO_BETTER
        # Synthesis and ReAct show one answer: their draft is only in the trace.
        if not is_better or context.config.type is AgentType.SYNTHESIS or context.config.tool_calling is ToolCalling.REACT:
            final = corrected if is_better else draft
            return await self._store(answered, final, partial(self._in_place, entry, answered, before=thought, more=remark), call)

        def beside_draft(final: Review) -> ShownAnswer:
            metadata = {**answered.metadata, **final.metadata(), **remark}
            event = recorder.event(TimelineEventType.FINAL_ANALYSIS, final.text, metadata=metadata)
            return ShownAnswer((self._as_draft(entry, draft),)) + thought + ShownAnswer(opened=(event,))

        return await self._store(answered, corrected, beside_draft, call)

    @property
    def looked_up(self) -> tuple[str, frozenset[str]] | None:
        """The draft that the model is asked to correct, and the ids of the results that it looked up for that; None if it looked up nothing."""
        messages, calls, following = self._run.messages, list[str](), ""
        for place in range(len(messages) - 1, 0, -1):
            body = messages[place].body
            if body.role is Role.USER and body.content.startswith(CORRECTION_REQUEST):
                # Notes may have come after the draft.
                drafted = next(number for number in range(place, -1, -1) if messages[number].body.role is Role.ASSISTANT)
                draft = joined((*pieces_so_far(messages[:drafted]), messages[drafted].body.content))
                return (draft, frozenset(self._context.evidence.of_calls[call] for call in calls)) if calls else None
            if body.role is Role.ASSISTANT and not body.tool_calls and following not in _ASKED_AGAIN:
                return None
            calls += (call.id for call in body.tool_calls)
            following = body.content
        return None

    async def _end_look_up(self, answered: Answered, looked_up: tuple[str, frozenset[str]]) -> ExecutionResult | None:
        """Store the better of a draft and of its correction after a look-up."""
        text, found = looked_up
        draft_text = self._tool_calls.conclusion(text).text
        # The numbers of the correction are those of the statements that had failed before the look-up.
        numbered = await self._review(draft_text, without=found)
        draft, corrected = await self._review(draft_text), await self._review(numbered.patched(answered.turn.text))
        is_better = corrected.improves(draft)
        remark = {"corrected": True} if is_better else _NO_BETTER
        answered = replace(answered, metadata={**remark, **answered.metadata})
        final = corrected if is_better else draft
        ended = await self._store(answered, final, partial(self._as_analysis, answered), answered.call)
        self._recorder.draft = None
        return ended

    async def restore_draft(self) -> None:
        """Keep the draft of a resumed run, if its correction looks something up, for the case that the run is stopped."""
        if looked_up := self.looked_up:
            text, found = looked_up
            draft = await self._review(self._tool_calls.conclusion(text).text, without=found)
            self._recorder.draft = draft.text, draft.metadata()

    def _as_draft(self, entry: TimelineEvent, draft: Review) -> TimelineClose:
        return self._recorder.close(entry.id, content=draft.text, event_type=TimelineEventType.LLM_RESPONSE, metadata={"draft": True})

    def _in_place(
        self,
        entry: TimelineEvent,
        answered: Answered,
        final: Review,
        *,
        before: ShownAnswer | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> ShownAnswer:
        """Show `final` as the analysis, in the entry of the draft."""
        metadata = {**answered.metadata, **final.metadata(), **(more or {})}
        kind = TimelineEventType.FINAL_ANALYSIS
        shown = ShownAnswer((self._recorder.close(entry.id, content=final.text, event_type=kind, metadata=metadata),))
        return before + shown if before else shown

    async def _review(self, answer: str, *, without: AbstractSet[str] = frozenset()) -> Review:
        # A name may be in any result, and the words of a wrong citation in another one.
        results = await self._context.services.results.cited(self._context.place.execution_id)
        # Comparing quotations with large results takes seconds at worst: in a thread, other agents go on meanwhile.
        return await to_thread.run_sync(
            read_answer(answer).review, [one for one in (*results, *self._context.evidence.documents) if one.id not in without]
        )

    def _quoted(self, final: Review) -> tuple[QuotedStatement, ...]:
        """The statements whose quotations a model is to judge: none unless that is configured."""
        is_judged = self._context.config.judge is not None and not self._context.overrides.older_rules
        return quoted_statements(final.checked, final.verdict) if is_judged else ()

    async def _judge(self, final: Review) -> tuple[Review, CompletedCall | None]:
        """Have a model judge the quotations, if that is configured. Without an answer that can be read, nothing changes but a remark."""
        context, run, judge, quoted = self._context, self._run, self._context.config.judge, self._quoted(final)
        if judge is None or not quoted:
            return final, None
        request = GenerateInput(
            session_id=context.place.session_id,
            execution_id=context.place.execution_id,
            messages=context.prompts.build_support_messages(quoted),
            provider=judge.provider or run.provider,
            backend=judge.backend or run.backend,
            track=f"{context.place.track}/support",
            turn=run.turn,
        )
        model_call = ModelCall(context, self._recorder, ThoughtsOnly(WholeText(TimelineEventType.LLM_RESPONSE)))
        try:
            call = await model_call.run(request, LLMInteractionKind.SUPPORT, within=context.config.llm_call_timeout, own_messages=True)
        except CeilingMetError as error:
            context.ceilings.record(error.met)
            return replace(final, unjudged=f"not judged by a model because of {error.met.description}"), None
        judgements = None if call.answer.error else parse_judgements(call.answer.text, len(quoted))
        if judgements is None:
            why = call.answer.error.message if call.answer.error else "its answer could not be read"
            return replace(final, unjudged=f"not judged by a model: {why}"), call
        return await to_thread.run_sync(final.judged, objections(quoted, judgements)), call

    async def _store(
        self, answered: Answered, final: Review, show: Callable[[Review], ShownAnswer], call: CompletedCall | None = None
    ) -> ExecutionResult | None:
        """Store `final`, once judged, as the analysis in the step that ends the execution; `call` is the model call that the step stores."""
        execution_id = self._context.place.execution_id
        final, judging = (final, None) if SHORTCOMING in answered.metadata else await self._judge(final)
        thought = (self._recorder.close(judging.open_event.id),) if judging and judging.open_event else ()
        shown = show(final)
        held = await self._recorder.conclude(
            self._run.turn,
            messages=answered.messages,
            closed=(*thought, *shown.closed),
            opened=shown.opened,
            llm_interactions=tuple(one.interaction for one in (call, judging) if one),
            inputs=answered.inputs,
            citations=tuple(ExecutionCitation(execution_id, number, one) for number, one in enumerate(final.checked.citations)),
            execution_changes=(self._recorder.moved(RunStatus.COMPLETED),),
        )
        if held:
            return await self._run.reconsider(held)
        return ExecutionResult(status=RunStatus.COMPLETED, final_analysis=final.text)

    def _as_analysis(self, answered: Answered, final: Review) -> ShownAnswer:
        metadata = {**answered.metadata, **final.metadata()}
        kind, thought = TimelineEventType.FINAL_ANALYSIS, answered.turn.thought
        return show_answer(self._recorder, answered.call, kind, final.text, metadata, thought=thought)


def show_answer(
    recorder: Recorder,
    call: CompletedCall | None,
    kind: TimelineEventType,
    text: str,
    metadata: Mapping[str, Any],
    *,
    thought: str = "",
) -> ShownAnswer:
    """Show an answer as an event of this `kind`: the event that it was streamed to is renamed, or a new one is made."""
    if call and (event := call.open_event) and (event.event_type is kind or _is_answer(recorder, event, text, thought)):
        return close_text(recorder, call, event, text, kind, metadata)
    before = show_thought(recorder, call, thought) if call else ShownAnswer()
    return before + ShownAnswer(opened=(recorder.event(kind, text, metadata=metadata),))


def draft_entry(recorder: Recorder, call: CompletedCall | None, text: str, thought: str) -> tuple[TimelineEvent, ShownAnswer]:
    """Return the open event of a draft, and what the step that stores the draft shows: the event it was streamed to, or else a new one."""
    if call and (event := call.open_event) and _is_answer(recorder, event, text, thought):
        if not call.answer.native_events:
            return event, ShownAnswer()
        before = _show_findings(recorder, call, event)
    else:
        before = show_thought(recorder, call, thought) if call else ShownAnswer()
    entry = recorder.open(TimelineEventType.FINAL_ANALYSIS, content=text)
    return entry, before + ShownAnswer(opened=(entry,))


def _is_answer(recorder: Recorder, event: TimelineEvent, text: str, thought: str) -> bool:
    """Whether an event shows an answer. Without its header, a ReAct answer is streamed as a thought."""
    is_whole_thought = event.metadata.get("source") == REACT and not thought
    return event.event_type in _ANSWERS or (is_whole_thought and without_loop(recorder.text_of(event.id)).strip() == text.strip())


def show_thought(recorder: Recorder, call: CompletedCall, thought: str) -> ShownAnswer:
    """Close the event that the call was streaming to; a thought that only parsing found is shown now."""
    event, shown = call.open_event, ShownAnswer(opened=call.answer.native_events)
    if event:
        text, is_react = without_loop(recorder.text_of(event.id)), event.metadata.get("source") == REACT
        if event.event_type is TimelineEventType.FINAL_ANALYSIS:
            # The text was streamed as the answer, but is none.
            shown = close_text(recorder, call, event, text, TimelineEventType.LLM_THINKING, {"source": REACT})
        elif is_react or event.event_type in _ANSWERS:
            # Text that was streamed as a thought may contain a call: the parsed thought replaces it.
            shown = close_text(recorder, call, event, (thought if is_react else "") or text, None, None)
        else:
            shown = ShownAnswer((recorder.close(event.id, content=text),), call.answer.native_events)
    if thought and TimelineEventType.LLM_THINKING not in call.shown:
        found = recorder.event(TimelineEventType.LLM_THINKING, thought, metadata={"source": REACT})
        return shown + ShownAnswer(opened=(found,))
    return shown


def close_text(
    recorder: Recorder,
    call: CompletedCall,
    event: TimelineEvent,
    content: str,
    kind: TimelineEventType | None,
    metadata: Mapping[str, Any] | None,
) -> ShownAnswer:
    """Close the event that the text of a call was streamed to; what the vendor's own tools found is shown before the text."""
    if not call.answer.native_events:
        return ShownAnswer((recorder.close(event.id, content=content, event_type=kind, metadata=metadata),))
    found = _show_findings(recorder, call, event)
    text = recorder.event(kind or event.event_type, content, metadata={**event.metadata, **(metadata or {})})
    return found + ShownAnswer(opened=(text,))


def _show_findings(recorder: Recorder, call: CompletedCall, event: TimelineEvent) -> ShownAnswer:
    """Show what the vendor's own tools found, which is reported after the text: the first finding replaces the text in its event."""
    first, *others = call.answer.native_events
    closed = recorder.close(event.id, content=first.content, event_type=first.event_type, metadata=first.metadata)
    # New events: those of findings that came before the text have lower sequence numbers.
    return ShownAnswer((closed,), tuple(recorder.event(one.event_type, one.content, metadata=one.metadata) for one in others))
