"""The multi-turn control flow: call the model, run the tools it asks for, until it answers or has to conclude."""

from dataclasses import asdict, replace
from itertools import islice, pairwise, takewhile
from typing import Any, assert_never
from uuid import uuid4

import anyio

from tarsy.agent.answer_text import CONTINUE, MAX_CONTINUATIONS, ThoughtsOnly, joined, pieces_so_far
from tarsy.agent.budget.ceilings import CeilingMetError
from tarsy.agent.conclusion import Answered, Conclusion, show_thought
from tarsy.agent.context_window import tokens_of
from tarsy.agent.execution import ExecutionResult
from tarsy.agent.iteration_state import ForceConclusion, GiveUp, Iterate, next_move, state_after, tools_timed_out
from tarsy.agent.model_call import CompletedCall
from tarsy.agent.prompt.builder import REACT_CONCLUSION, PromptBuilder
from tarsy.agent.prompt.fence import utc
from tarsy.agent.prompt.nudges import CORRECTION_REQUEST, LOOPING_TEXT_NUDGE, VERIFICATION_REQUEST, repetition_nudge, tools_changed_message
from tarsy.agent.recorder import Recorder, StepParts
from tarsy.agent.repetition import COMPARED_TURNS, Repetition, StoredTurn, find_repetition
from tarsy.agent.run import Run
from tarsy.agent.tool_calls import GivesAnswer, Malformed, PendingCall, ToolCallFormat, WantsTools
from tarsy.agent.tool_turn import ToolTurn, use_tools
from tarsy.agent.unfinished import unfinished_analysis
from tarsy.domain.conclusion import FORCED_CONCLUSION, WRITTEN_BY_CODE
from tarsy.domain.conversation import ConversationMessage, Message, Role
from tarsy.domain.execution import AgentType
from tarsy.domain.interaction import LLMInteractionKind, MCPInteraction, MCPInteractionKind
from tarsy.domain.llm import ErrorChunk, ErrorCode
from tarsy.domain.run_input import CeilingMet
from tarsy.domain.status import RunStatus, TimelineStatus
from tarsy.domain.step import StoredRun
from tarsy.domain.timeline import TimelineEvent, TimelineEventType
from tarsy.domain.tool import ToolCalling, ToolCatalog, ToolDefinition

_EMPTY_CONCLUSION = ErrorChunk("the model's conclusion was empty", ErrorCode.EMPTY_RESPONSE)
# Distinguishes this warning from those about missing tools.
_CEILING_CODE = "ceiling"


class IteratingController:
    """Runs an investigation or a chat answer from wherever the stored run stands."""

    def __init__(self, run: Run, tool_calls: ToolCallFormat) -> None:
        self._run = run
        self._tool_calls = tool_calls
        self._context = run.context
        self._recorder = run.recorder
        self._conclusion = Conclusion(run, tool_calls)

    async def run(self, stored: StoredRun) -> ExecutionResult:
        if ended := await self._start(stored):
            return ended
        run = self._run
        while True:
            # Only stored turns count, so that a worker that continues the run finds the same repetition.
            answers = (message for message in reversed(run.messages) if message.body.role is Role.ASSISTANT)
            newest = [self._tool_calls.read(message) for message in islice(answers, COMPARED_TURNS)]
            repetition = find_repetition(newest[::-1])
            corrects = self._conclusion.looked_up is not None
            run.state = replace(run.state, stuck=repetition is not None and repetition.stop, has_extra_iteration=corrects)
            move = next_move(run.state)
            match move:
                case Iterate():
                    if repetition:
                        await self._nudge(repetition)
                    try:
                        result = await self._iterate()
                    except CeilingMetError as error:
                        result = await self._conclude_at_ceiling(error)
                case ForceConclusion():
                    result = await self._conclude()
                case GiveUp(reason):
                    result = await (self._keep_draft(reason) if corrects else self._give_up(reason))
                case _:
                    assert_never(move)
            if result:
                return result

    async def _start(self, stored: StoredRun) -> ExecutionResult | None:
        """List the tools, then open the conversation or resume it; return a result if the interrupted run had its answer."""
        run, recorder, context = self._run, self._recorder, self._context
        # At once: the tool servers may take a while to start and to list their tools.
        if begins := recorder.begin(stored):
            await recorder.commit(execution_changes=begins)
        run.catalog = await context.tools.list_tools()
        context.evidence.assign(call for _, turn in self._stored_turns() for call in turn.calls)
        if run.messages:
            return await self._resume(stored)
        run.catalog = run.catalog.only(run.inputs.first_tools(run.catalog.names))
        prompts, inputs = run.opening()
        first = prompts.build_messages(context.config.tool_calling, run.catalog.tools, previous=context.previous, chat=context.chat)
        run.messages = [recorder.message(body) for body in first]
        asked = [recorder.event(TimelineEventType.USER_QUESTION, context.chat.question)] if context.chat else []
        warnings = [recorder.event(TimelineEventType.WARNING, warning) for warning in run.catalog.warnings]
        await recorder.commit(
            messages=tuple(run.messages),
            opened=(*asked, *warnings),
            mcp_interactions=self._listings(run.catalog),
            inputs=inputs,
        )
        return None

    def _stored_turns(self) -> list[tuple[int, StoredTurn]]:
        """Return the stored answers of the model, with their sequence numbers. In one that was to conclude, no text is a call."""
        turns: list[tuple[int, StoredTurn]] = []
        for before, message in pairwise(self._run.messages):
            if message.body.role is Role.ASSISTANT:
                asked = before.body.content
                concludes = (asked == CONTINUE or asked.endswith(REACT_CONCLUSION)) and not message.body.tool_calls
                turn = StoredTurn(message.body.content) if concludes else self._tool_calls.read(message)
                turns.append((message.sequence_number, turn))
        return turns

    async def _resume(self, stored: StoredRun) -> ExecutionResult | None:
        """Finish what an interrupted run left: make its pending tool calls, restore its counters, and end if it had its answer."""
        run, context = self._run, self._context
        reopened = run.failures.reopen(stored.calls, run.messages, run.provider.name)
        await self._recorder.commit(mcp_interactions=self._listings(run.catalog), opened=reopened)
        await self._conclusion.restore_draft()
        timed_out = stored.timed_out_tools
        turns = self._stored_turns()
        place_of_newest, newest = turns[-1] if turns else (0, StoredTurn(""))
        # Each result has its reserved place behind the answer.
        places = enumerate(newest.calls, start=place_of_newest + 1)
        stored_places = {message.sequence_number for message in run.messages}
        if pending := [PendingCall(call, place) for place, call in places if place not in stored_places]:
            self._recorder.reserve_up_to(pending[-1].sequence_number)
            context.ceilings.announced = frozenset(one.call.id for one in pending)
            # Calls may have a result that is not in the conversation: it was to be summarised.
            read = {one.call.id: await context.services.results.read(context.place.execution_id, one.call.id) for one in pending}
            known = {call_id: outcome for call_id, outcome in read.items() if outcome}
            turn = ToolTurn(run, self._tool_calls, pending, purpose=newest.text, known=known)
            await self._recorder.commit(opened=turn.opening_events())
            outcome = await turn.run(deadline=anyio.current_time() + context.config.iteration_timeout)
            timed_out |= outcome.timed_out
        if timed_out:
            errors: list[str | None] = []
            corrections = {
                answer.sequence_number for asked, answer in pairwise(run.messages) if asked.body.content.startswith(CORRECTION_REQUEST)
            }
            for place, one in turns:
                if place in corrections:
                    # Not an iteration, even if it looked something up.
                    continue
                overdue = [call.name for call in one.calls if call.id in timed_out]
                errors.append(tools_timed_out(overdue) if overdue and len(overdue) == len(one.calls) else None)
            config = context.config
            run.state = state_after(stored.calls, config.max_iterations, provider=config.provider.name, tool_errors=errors)
        if run.messages[-1].body.role is not Role.ASSISTANT:
            return None
        # The answer is stored, but not its check.
        text = joined((*pieces_so_far(run.messages[:-1]), run.messages[-1].body.content))
        forced = any(call.kind == LLMInteractionKind.FORCED_CONCLUSION and call.error_code is None for call in stored.calls)
        answered = Answered(turn=self._tool_calls.conclusion(text), metadata=self._forced_metadata() if forced else {})
        return await self._conclusion.end(answered)

    async def _nudge(self, repetition: Repetition) -> None:
        """Add a message that the model repeats itself, unless there is one since its last answer."""
        text = repetition_nudge(repetition)
        since = takewhile(lambda message: message.body.role is not Role.ASSISTANT, reversed(self._run.messages))
        if all(message.body.content != text for message in since):
            nudge = self._recorder.message(ConversationMessage(Role.USER, text))
            await self._recorder.commit(messages=(nudge,))
            self._run.messages.append(nudge)

    async def _refresh_tools(self) -> None:
        """List the tools again, which asks only servers that report a change, and inform the model of new and missing ones."""
        run, recorder, tool_calling = self._run, self._recorder, self._context.config.tool_calling
        listed, offered = await self._context.tools.list_tools(), run.catalog.names
        change = run.inputs.tools_changed(run.turn, offered, listed.names)
        if change is None:
            # Descriptions and schemas may be new.
            run.catalog = listed.only(offered)
            return
        run.catalog = listed.only(change.value.after)
        text = tools_changed_message(offered, run.catalog.tools, tool_calling)
        note = recorder.message(ConversationMessage(Role.USER, text))
        # The names of the tools; what describes them is for the model.
        event = recorder.event(TimelineEventType.WARNING, text.partition("\n")[0], metadata={"code": "tools_changed"})
        servers = {name.partition(".")[0] for name in {*offered} ^ {*run.catalog.names}}
        await recorder.commit(
            messages=(note,),
            opened=(event,),
            mcp_interactions=tuple(one for one in self._listings(run.catalog) if one.server in servers),
            inputs=recorder.inputs(change),
        )
        run.messages.append(note)

    async def _iterate(self) -> ExecutionResult | None:
        """Make one model call and act on the answer; return a result when the agent is done."""
        run, recorder = self._run, self._recorder
        deadline = anyio.current_time() + self._context.config.iteration_timeout
        await self._refresh_tools()
        # Without function calling, the prompt describes them.
        tools = run.catalog.tools if self._context.config.tool_calling is ToolCalling.NATIVE else ()
        await run.make_room(self._pointer, tools)
        router, corrects = self._tool_calls.router(), self._conclusion.looked_up is not None
        # What follows a look-up is a correction: the text to show is made of it and the draft.
        call = await run.call(LLMInteractionKind.ITERATION, ThoughtsOnly(router) if corrects else router, tools=tools)
        answer = call.answer
        if answer.error:
            return await self._after_error(call, answer.error, tools)
        (sequence_number,) = recorder.reserve(1)
        pieces = pieces_so_far(run.messages)
        whole = replace(answer, text=joined((*pieces, answer.text))) if pieces and not answer.tool_calls else answer
        turn = self._tool_calls.parse(whole, sequence_number, run.call_ids)
        if answer.looping and not isinstance(turn, WantsTools):
            turn = Malformed(LOOPING_TEXT_NUDGE, "the model repeated one passage over and over and was cut off")
        if corrects and isinstance(turn, WantsTools):
            # One look-up is enough: the draft stands.
            turn = GivesAnswer("", turn.thought)
        match turn:
            case GivesAnswer() if not answer.finish and self._must_verify():
                await self._reply(call, turn, sequence_number, VERIFICATION_REQUEST)
            case GivesAnswer():
                message = recorder.message(self._tool_calls.assistant_message(answer, ()), sequence_number)
                if answer.finish and len(pieces) < MAX_CONTINUATIONS:
                    await run.ask_to_continue(call, message)
                elif ended := await self._conclusion.end(Answered(turn=turn, call=call, messages=(message,))):
                    return ended
                run.state = run.state.after_success()
            case WantsTools():
                shown = show_thought(recorder, call, turn.thought)
                step = StepParts(closed=shown.closed, opened=shown.opened)
                await use_tools(run, self._tool_calls, call, turn, sequence_number, deadline=deadline, step=step)
            case Malformed():
                await self._reply(call, turn, sequence_number, turn.feedback)
            case _:
                assert_never(turn)
        return None

    async def _reply(self, call: CompletedCall, turn: GivesAnswer | Malformed, sequence_number: int, text: str) -> None:
        """Store an answer that does not end the run, with the message that the model receives to it."""
        run, recorder = self._run, self._recorder
        message = recorder.message(self._tool_calls.assistant_message(call.answer, ()), sequence_number)
        reply = recorder.message(ConversationMessage(Role.USER, text))
        shown = show_thought(recorder, call, turn.thought)
        opened = shown.opened
        if isinstance(turn, Malformed):
            opened = (*opened, recorder.event(TimelineEventType.ERROR, turn.problem, metadata={"code": "malformed_answer"}))
        await recorder.commit(messages=(message, reply), closed=shown.closed, opened=opened, llm_interactions=(call.interaction,))
        run.messages += [message, reply]
        run.state = run.state.after_success()

    def _must_verify(self) -> bool:
        """Whether the agent has tried to change something since it was last asked to verify the effect."""
        config, catalog = self._context.config, self._run.catalog
        has_acted = False
        for message in self._run.messages:
            if message.body.role is Role.ASSISTANT:
                tools = (catalog.find(call.name) for call in self._tool_calls.read(message).calls)
                has_acted = has_acted or any(tool.may_change for tool in tools if tool)
            elif message.body.content == VERIFICATION_REQUEST:
                has_acted = False
        return has_acted and config.type is AgentType.ACTION and not config.dry_run

    async def _after_error(self, call: CompletedCall, error: ErrorChunk, tools: tuple[ToolDefinition, ...]) -> ExecutionResult | None:
        """Store a failed call; then shorten the conversation, change the model, try again or give up, whichever can help."""
        run = self._run
        run.state = run.state.after_failed_call(error.message, error.code)
        compacted = run.shrink(self._pointer, tools) if error.code is ErrorCode.CONTEXT_TOO_LONG else None
        if compacted is None and run.gives_up(error) and self._conclusion.looked_up:
            return await self._keep_draft(error.message, call)
        if compacted is None:
            return await run.after_failure(call, error)
        await self._recorder.commit(**run.failures.parts_for_end(call, error), compacted=compacted)
        run.state, run.failed_calls = run.state.without_failures(), []
        return None

    async def _give_up(self, reason: str) -> ExecutionResult:
        recorder = self._recorder
        event = recorder.event(TimelineEventType.ERROR, reason, status=TimelineStatus.FAILED, metadata={"code": "gave_up"})
        failed = recorder.moved(RunStatus.FAILED, reason)
        await recorder.commit(closed=self._run.failures.close(), opened=(event,), execution_changes=(failed,))
        return ExecutionResult(status=RunStatus.FAILED, error=reason)

    async def _keep_draft(self, reason: str, call: CompletedCall | None = None) -> ExecutionResult | None:
        """Conclude with the draft of a correction that looked something up, because no answer followed; `call` is the one that failed last."""
        if call:
            self._run.failures.close_with(call.interaction.id)
        else:
            await self._recorder.commit(closed=self._run.failures.close())
        answered = Answered(turn=GivesAnswer(""), call=call, metadata={"correction": f"It could not be corrected: {reason}"})
        return await self._conclusion.end(answered)

    async def _conclude_at_ceiling(self, error: CeilingMetError) -> ExecutionResult | None:
        """Conclude with what is kept for that; an agent that has made no call yet has nothing to conclude."""
        ceilings, met = self._context.ceilings, error.met
        if not ceilings.has_begun:
            raise error
        ceilings.record(met)
        if ceilings.is_unshown:
            await self._recorder.commit(opened=(ceiling_warning(self._recorder, met, "It concludes with what it knows."),))
        if met.room:
            self._run.narrow(met.room)
        # The budget suffices for one answer: a note that arrives meanwhile is too late.
        self._recorder.notes.stop_holding()
        return await self._conclude()

    async def _conclude(self) -> ExecutionResult | None:
        """Make one more call, without tools. The prompt is stored with its answer, so that a crash between them leaves nothing behind."""
        run, recorder, context = self._run, self._recorder, self._context
        begun = ""
        while True:
            now = run.inputs.now(run.turn)
            text = context.prompts.build_forced_conclusion_prompt(run.state.used, context.config.tool_calling, utc(now.value.at))
            prompt = ConversationMessage(Role.USER, text)
            if not run.is_narrowed and (room := context.ceilings.conclusion_room(run.turn, run.conversation_tokens() + tokens_of(prompt))):
                run.narrow(room)
            await run.make_room(self._pointer, ())
            try:
                call = await run.call(LLMInteractionKind.FORCED_CONCLUSION, self._tool_calls.router(concluding=True), extra=(prompt,))
            except CeilingMetError as error:
                return await self._end_unfinished(error.met, begun)
            error = call.answer.error or (None if call.answer.text.strip() else _EMPTY_CONCLUSION)
            if error is None:
                break
            begun = call.answer.text_without_loop
            if ended := await self._after_error(call, error, ()):
                return ended
        turn = self._tool_calls.conclusion(call.answer.text_without_loop)
        messages = (recorder.message(prompt), recorder.message(self._tool_calls.assistant_message(call.answer, ())))
        answered = Answered(turn=turn, call=call, messages=messages, inputs=recorder.inputs(now), metadata=self._forced_metadata())
        return await self._conclusion.end(answered)

    async def _end_unfinished(self, met: CeilingMet, begun: str) -> ExecutionResult:
        """End with an analysis that code writes, because the ceiling has no room for a conclusion, or ended it; `begun` is what it has of it."""
        recorder, context = self._recorder, self._context
        context.ceilings.record(met)
        results = await context.services.results.cited(context.place.execution_id)
        # A correction that looked something up has a draft.
        looked_up = self._conclusion.looked_up
        begun = begun or (looked_up[0] if looked_up else "")
        text = unfinished_analysis(met.description, results, self._tool_calls.conclusion(begun).text)
        metadata = {**self._forced_metadata(), WRITTEN_BY_CODE: f"no room for a conclusion under {met.description}"}
        analysis = recorder.event(TimelineEventType.FINAL_ANALYSIS, text, metadata=metadata)
        closed, completed = self._run.failures.close(), recorder.moved(RunStatus.COMPLETED)
        await recorder.commit(closed=closed, opened=(analysis,), execution_changes=(completed,))
        return ExecutionResult(status=RunStatus.COMPLETED, final_analysis=text)

    def _forced_metadata(self) -> dict[str, Any]:
        state = self._run.state
        limits = {"iterations_used": state.used, "max_iterations": state.max_iterations}
        return {FORCED_CONCLUSION: True, **limits, **self._context.ceilings.metadata}

    def _pointer(self, message: Message) -> str | None:
        run = self._run
        prompts = PromptBuilder(replace(self._context.prompts.context, read_tool=run.read_tool))
        return self._tool_calls.pointer(prompts, run.messages, message)

    def _listings(self, catalog: ToolCatalog) -> tuple[MCPInteraction, ...]:
        """Return the record of how the tool servers were asked for their tools."""
        place = self._context.place
        return tuple(
            MCPInteraction(
                id=str(uuid4()),
                session_id=place.session_id,
                stage_id=place.stage_id,
                execution_id=place.execution_id,
                kind=MCPInteractionKind.TOOL_LIST,
                server=listing.server,
                tool=None,
                call_id=None,
                arguments=None,
                result={"tools": [asdict(tool) for tool in catalog.tools if tool.name.partition(".")[0] == listing.server]},
                is_error=listing.error is not None,
                error_message=listing.error,
                started_at=listing.started_at,
                duration_ms=listing.duration_ms,
            )
            for listing in catalog.listings
        )


def ceiling_warning(recorder: Recorder, met: CeilingMet, then: str) -> TimelineEvent:
    """Return the timeline event of an execution that a ceiling ends."""
    detail = f" ({met.detail})" if met.detail else ""
    metadata = {"code": _CEILING_CODE, "account": met.account, "limit": met.limit}
    return recorder.event(TimelineEventType.WARNING, f"Ended by {met.description}{detail}. {then}", metadata=metadata)
