"""The multi-turn flow: call the model, run the tools it asks for, until it answers or must be made to."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import islice, takewhile
from typing import Any, assert_never
from uuid import uuid4

import anyio

from tarsy.agent.answer_text import MAX_CONTINUATIONS, joined, pieces_so_far
from tarsy.agent.budget.ceilings import CeilingMetError
from tarsy.agent.ceiling_end import tell_end
from tarsy.agent.conclusion import Answered, Conclusion, show_thought
from tarsy.agent.context_window import Pointer
from tarsy.agent.execution import ExecutionContext, ExecutionResult
from tarsy.agent.iteration_state import ForceConclusion, GiveUp, Iterate, next_move, state_after, tools_timed_out
from tarsy.agent.model_call import CompletedCall, ModelAnswer
from tarsy.agent.prompt.builder import PromptBuilder
from tarsy.agent.prompt.fence import utc
from tarsy.agent.prompt.nudges import circle_nudge, looping_text_nudge
from tarsy.agent.recorder import Recorder
from tarsy.agent.repetition import TURNS_THAT_MATTER, Circle, find_circle
from tarsy.agent.run import Run
from tarsy.agent.tool_calls import GivesAnswer, MakesNoSense, PendingCall, ToolSpeech, Turn, WantsTools
from tarsy.agent.tool_turn import ToolTurn
from tarsy.domain.conclusion import FORCED_CONCLUSION
from tarsy.domain.conversation import ConversationMessage, Message, Role, ToolCall
from tarsy.domain.interaction import LLMInteractionKind, MCPInteraction, MCPInteractionKind
from tarsy.domain.llm import ErrorChunk, ErrorCode
from tarsy.domain.status import RunStatus, TimelineStatus
from tarsy.domain.step import StoredRun
from tarsy.domain.timeline import TimelineEventType
from tarsy.domain.tool import ToolCatalog, ToolDefinition, ToolOutcome


class IteratingController:
    """Runs an investigation or a chat answer; `speech` is how this model speaks of tools."""

    def __init__(self, speech: ToolSpeech) -> None:
        self._speech = speech

    async def run(self, context: ExecutionContext, recorder: Recorder, stored: StoredRun) -> ExecutionResult:
        # Not only with its first words: its servers may take a while to start and to list their tools.
        if begins := recorder.begin(stored):
            recorder.soon(execution_changes=begins)
        run = Run(context, recorder, stored)
        await self._prepare(run, stored)
        answered = self._answered(run, stored)
        if answered and (ended := await Conclusion(run, self._speech).end(answered)):
            return ended
        while True:
            circle = self._circle(run)
            run.state = replace(run.state, stuck=circle is not None and circle.stop)
            move = next_move(run.state)
            match move:
                case Iterate():
                    await self._nudge(run, circle)
                    try:
                        result = await self._iterate(run)
                    except CeilingMetError as error:
                        result = await self._end_at_ceiling(run, error)
                    if result:
                        return result
                case ForceConclusion():
                    if ended := await self._conclude(run):
                        return ended
                case GiveUp(reason):
                    return await self._give_up(run, reason)
                case _:
                    assert_never(move)

    async def _prepare(self, run: Run, stored: StoredRun) -> None:
        """Learn which tools there are, then begin the conversation or finish what a predecessor left open."""
        run.catalog = await run.context.tools.list_tools()
        run.number(call for message in run.messages if message.body.role is Role.ASSISTANT for call in self._speech.calls_of(message))
        if run.messages:
            reopened = run.failures.reopen(stored.calls, run.messages, run.provider.name)
            await run.recorder.commit(mcp_interactions=_listings(run.context, run.catalog), opened=reopened)
            await self._settle(run, stored)
            return
        context = run.context
        prompts, inputs = run.opening()
        bodies = self._speech.initial_messages(prompts, run.catalog.tools, context.previous, context.chat)
        run.messages = [run.recorder.message(body) for body in bodies]
        question = (run.recorder.event(TimelineEventType.USER_QUESTION, context.chat.question),) if context.chat else ()
        warnings = (run.recorder.event(TimelineEventType.WARNING, warning) for warning in run.catalog.warnings)
        await run.recorder.commit(
            messages=tuple(run.messages),
            opened=(*question, *warnings),
            mcp_interactions=_listings(context, run.catalog),
            inputs=inputs,
        )

    async def _settle(self, run: Run, stored: StoredRun) -> None:
        """Give every call of the last stored answer its result, and recall which turns got nothing but timeouts."""
        timed_out = stored.timed_out_tools
        pending = self._speech.pending_calls(run.messages)
        if pending:
            run.recorder.reserve_up_to(pending[-1].sequence_number)
            turn = ToolTurn(run, self._speech, pending, question=self._question(run), known=await _known(run.context, pending))
            await run.recorder.commit(opened=turn.announce())
            outcome = await turn.run(deadline=anyio.current_time() + run.context.config.iteration_timeout)
            timed_out |= outcome.timed_out
        if timed_out:
            answers = (message for message in run.messages if message.body.role is Role.ASSISTANT)
            errors = [_timeouts(self._speech.calls_of(message), timed_out) for message in answers]
            config = run.context.config
            run.state = state_after(stored.calls, config.max_iterations, provider=config.provider.name, tool_errors=errors)

    def _question(self, run: Run) -> str:
        """What the agent was after when it made its last calls."""
        last = next((message.body for message in reversed(run.messages) if message.body.role is Role.ASSISTANT), None)
        return self._speech.said(last).words if last else ""

    async def _iterate(self, run: Run) -> ExecutionResult | None:
        """One call and what follows from it; a result when the agent is done."""
        deadline = anyio.current_time() + run.context.config.iteration_timeout
        tools = self._speech.bound_tools(run.catalog.tools)
        await run.make_room(self._pointer(run), tools)
        call = await run.call(LLMInteractionKind.ITERATION, self._speech.router(), tools=tools)
        if call.answer.error:
            return await self._after_error(run, call, call.answer.error)
        (sequence_number,) = run.recorder.reserve(1)
        pieces = pieces_so_far(run.messages)
        turn = self._read(run, call.answer, sequence_number, pieces)
        match turn:
            case GivesAnswer() if call.answer.finish and len(pieces) < MAX_CONTINUATIONS:
                message = run.recorder.message(self._speech.assistant_message(call.answer, ()), sequence_number)
                await run.ask_to_continue(call, message)
                run.state = run.state.succeeded()
            case GivesAnswer():
                if ended := await self._finish(run, call, turn, sequence_number):
                    return ended
                run.state = run.state.succeeded()
            case WantsTools():
                await self._use_tools(run, call, turn, sequence_number, deadline)
            case MakesNoSense():
                await self._object(run, call, turn, sequence_number)
            case _:
                assert_never(turn)
        return None

    def _read(self, run: Run, answer: ModelAnswer, sequence_number: int, pieces: Sequence[str]) -> Turn:
        whole = replace(answer, text=joined((*pieces, answer.text))) if pieces and not answer.tool_calls else answer
        turn = self._speech.read(whole, sequence_number, run.call_ids)
        if answer.looping and not isinstance(turn, WantsTools):
            return MakesNoSense(looping_text_nudge(), "the model repeated one passage over and over and was cut off")
        return turn

    async def _finish(self, run: Run, call: CompletedCall, turn: GivesAnswer, sequence_number: int) -> ExecutionResult | None:
        message = run.recorder.message(self._speech.assistant_message(call.answer, ()), sequence_number)
        return await Conclusion(run, self._speech).end(Answered(turn=turn, call=call, messages=(message,)))

    def _answered(self, run: Run, stored: StoredRun) -> Answered | None:
        """The answer that a predecessor had stored, and whose correction it did not live to hear."""
        if not run.messages or run.messages[-1].body.role is not Role.ASSISTANT:
            return None
        text = joined((*pieces_so_far(run.messages[:-1]), run.messages[-1].body.content))
        forced = any(call.kind == LLMInteractionKind.FORCED_CONCLUSION and call.error_code is None for call in stored.calls)
        return Answered(turn=self._speech.conclusion(text), metadata=_forced(run) if forced else {})

    async def _use_tools(self, run: Run, call: CompletedCall, turn: WantsTools, sequence_number: int, deadline: float) -> None:
        places = run.recorder.reserve(len(turn.calls))
        run.call_ids.update(tool_call.id for tool_call in turn.calls)
        run.number(turn.calls)
        tools = ToolTurn(
            run,
            self._speech,
            [PendingCall(tool_call, place) for tool_call, place in zip(turn.calls, places, strict=True)],
            question=turn.thought or call.answer.text or call.answer.thinking,
        )
        masked = tuple(replace(tool_call, arguments=run.context.mask(tool_call.arguments)) for tool_call in turn.calls)
        message = run.recorder.message(self._speech.assistant_message(call.answer, masked), sequence_number)
        shown = show_thought(run.recorder, call, turn.thought)
        await run.recorder.commit(
            messages=(message,),
            closed=shown.closed,
            opened=(*shown.opened, *tools.announce()),
            llm_interactions=(call.interaction,),
        )
        run.messages.append(message)
        outcome = await tools.run(deadline=deadline)
        run.state = run.state.starved(outcome.error) if outcome.error else run.state.succeeded()

    async def _object(self, run: Run, call: CompletedCall, turn: MakesNoSense, sequence_number: int) -> None:
        """Keep the answer, say what is wrong with it, and go on."""
        message = run.recorder.message(self._speech.assistant_message(call.answer, ()), sequence_number)
        feedback = run.recorder.message(ConversationMessage(Role.USER, turn.feedback))
        shown = show_thought(run.recorder, call, turn.thought)
        problem = run.recorder.event(TimelineEventType.ERROR, turn.problem, metadata={"code": "malformed_answer"})
        await run.recorder.commit(
            messages=(message, feedback),
            closed=shown.closed,
            opened=(*shown.opened, problem),
            llm_interactions=(call.interaction,),
        )
        run.messages += [message, feedback]
        run.state = run.state.succeeded()

    def _circle(self, run: Run) -> Circle | None:
        """Whether the model goes round in circles, told from what is stored: a worker that continues the run comes to the same judgement."""
        turns = (message.body for message in reversed(run.messages) if message.body.role is Role.ASSISTANT)
        newest = [self._speech.said(body) for body in islice(turns, TURNS_THAT_MATTER)]
        return find_circle(newest[::-1])

    async def _nudge(self, run: Run, circle: Circle | None) -> None:
        """Say a word to a model in a circle, unless it was said since its last answer."""
        if circle is None:
            return
        text = circle_nudge(circle)
        since = takewhile(lambda message: message.body.role is not Role.ASSISTANT, reversed(run.messages))
        if any(message.body.content == text for message in since):
            return
        nudge = run.recorder.message(ConversationMessage(Role.USER, text))
        await run.recorder.commit(messages=(nudge,))
        run.messages.append(nudge)

    async def _after_error(self, run: Run, call: CompletedCall, error: ErrorChunk) -> ExecutionResult | None:
        """Record a failed call, then make room, change the model, try again or give up, whichever can help."""
        run.state = run.state.failed(error.message, error.code)
        if await self._made_shorter(run, call, error, self._speech.bound_tools(run.catalog.tools)):
            return None
        return await run.after_failure(call, error)

    async def _end_at_ceiling(self, run: Run, error: CeilingMetError) -> ExecutionResult | None:
        """Conclude with what is kept for that; an agent that has made no call yet has nothing to conclude."""
        if not run.context.ceilings.has_begun:
            raise error
        await tell_end(run.context.ceilings, run.recorder, error.met)
        if error.met.room:
            run.narrow(error.met.room)
        # What is kept suffices for one answer: a note that comes while it is given comes too late.
        run.recorder.notes.hold_no_more()
        return await self._conclude(run)

    async def _conclude(self, run: Run) -> ExecutionResult | None:
        """One more call, without tools. The prompt is stored with its answer, so that a crash between them leaves no trace."""
        context, recorder = run.context, run.recorder
        now = run.inputs.now(run.turn)
        text = context.prompts.build_forced_conclusion_prompt(run.state.used, context.config.tool_calling, utc(now.value.at))
        prompt = ConversationMessage(Role.USER, text)
        await run.make_room(self._pointer(run), ())
        call = await run.call(LLMInteractionKind.FORCED_CONCLUSION, self._speech.concluding_router(), extra=(prompt,))
        error = call.answer.error or (None if call.answer.text.strip() else _EMPTY_CONCLUSION)
        if error:
            return await self._failed_conclusion(run, call, error)
        turn = self._speech.conclusion(call.answer.told)
        messages = (recorder.message(prompt), recorder.message(self._speech.assistant_message(call.answer, ())))
        answered = Answered(turn=turn, call=call, messages=messages, inputs=recorder.given(now), metadata=_forced(run))
        return await Conclusion(run, self._speech).end(answered)

    async def _failed_conclusion(self, run: Run, call: CompletedCall, error: ErrorChunk) -> ExecutionResult | None:
        run.state = run.state.failed(error.message, error.code)
        if await self._made_shorter(run, call, error, ()):
            return await self._conclude(run)
        ended = await run.after_failure(call, error)
        return ended or await self._conclude(run)

    async def _made_shorter(self, run: Run, call: CompletedCall, error: ErrorChunk, tools: tuple[ToolDefinition, ...]) -> bool:
        """Shorten a conversation that was too long, in the step that records that it was."""
        compacted = run.shrink(self._pointer(run), tools) if error.code is ErrorCode.CONTEXT_TOO_LONG else None
        if compacted is None:
            return False
        await run.recorder.commit(**run.failures.end(call, error), compacted=compacted)
        run.state, run.failed_calls = run.state.renewed(), 0
        return True

    async def _give_up(self, run: Run, reason: str) -> ExecutionResult:
        shown = run.recorder.event(TimelineEventType.ERROR, reason, status=TimelineStatus.FAILED, metadata={"code": "gave_up"})
        moved = run.recorder.moved(RunStatus.FAILED, reason)
        await run.recorder.commit(closed=run.failures.settle(), opened=(shown,), execution_changes=(moved,))
        return ExecutionResult(status=RunStatus.FAILED, error=reason)

    def _pointer(self, run: Run) -> Pointer:
        def pointer(message: Message) -> str | None:
            prompts = PromptBuilder(replace(run.context.prompts.context, read_back=run.read_back))
            return self._speech.pointer(prompts, run.messages, message)

        return pointer


def _forced(run: Run) -> dict[str, Any]:
    limits = {"iterations_used": run.state.used, "max_iterations": run.state.max_iterations}
    return {FORCED_CONCLUSION: True, **limits, **run.context.ceilings.mark}


_EMPTY_CONCLUSION = ErrorChunk("the model's conclusion was empty", ErrorCode.EMPTY_RESPONSE)


def _timeouts(calls: tuple[ToolCall, ...], timed_out: frozenset[str]) -> str | None:
    names = [call.name for call in calls if call.id in timed_out]
    return tools_timed_out(names) if names and len(names) == len(calls) else None


async def _known(context: ExecutionContext, pending: Sequence[PendingCall]) -> dict[str, ToolOutcome]:
    """What calls without a place in the conversation came to all the same: their results were to be summarised."""
    read = {one.call.id: await context.results.read(context.execution_id, one.call.id) for one in pending}
    return {call_id: outcome for call_id, outcome in read.items() if outcome}


def _listings(context: ExecutionContext, catalog: ToolCatalog) -> tuple[MCPInteraction, ...]:
    return tuple(
        MCPInteraction(
            id=str(uuid4()),
            session_id=context.session_id,
            stage_id=context.stage_id,
            execution_id=context.execution_id,
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
