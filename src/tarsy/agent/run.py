"""A run of an agent: its conversation, where its loop stands and which model it speaks to. Beginning and continuing make the same value."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Never, assert_never

from tarsy.agent.answer_text import CONTINUE, TextRouter, WithoutVerdict, pieces_so_far
from tarsy.agent.context_window import USABLE_SHARE, Pointer, Scales, fit, tokens_of, window_of, without_oldest_turns
from tarsy.agent.execution import CutPlace, ExecutionContext, ExecutionResult, Inputs
from tarsy.agent.failures import FailureLog, FallBack, Hopeless, Outage, TryAgain, after_failure, failed_in_a_row, told_end, told_outage
from tarsy.agent.iteration_state import IterationState, state_after
from tarsy.agent.model_call import CompletedCall, ModelCall, OpenEvent
from tarsy.agent.note_delivery import as_draft, joined, telling
from tarsy.agent.prompt.builder import CONCLUSION_FORMS, READ_RESULT_TOOL, PromptBuilder
from tarsy.agent.prompt.fence import utc
from tarsy.agent.prompt.nudges import error_note
from tarsy.agent.recorder import Recorder, StepParts
from tarsy.config.resolve.resolved import ResolvedProvider
from tarsy.domain.conclusion import SHORTCOMING, shortcoming_of
from tarsy.domain.conversation import ConversationMessage, Message, Role, ToolCall
from tarsy.domain.evidence import call_id
from tarsy.domain.execution import ExecutionChange, Wait
from tarsy.domain.interaction import LLMInteractionKind
from tarsy.domain.llm import ErrorChunk, GenerateInput, LLMBackend, ProviderType
from tarsy.domain.run_input import DeliveredNote
from tarsy.domain.status import RunStatus
from tarsy.domain.step import Compacted, ExecutionInput, StoredRun
from tarsy.domain.timeline import TimelineEvent, TimelineEventType
from tarsy.domain.tool import ToolCatalog, ToolDefinition, name_for_model
from tarsy.kit.text import estimate_tokens


class Run:
    """Mutable, owned by one controller."""

    def __init__(self, context: ExecutionContext, recorder: Recorder, stored: StoredRun) -> None:
        config = context.config
        self.context = context
        self.recorder = recorder
        self.messages: list[Message] = list(stored.messages)
        self.state: IterationState = state_after(stored.calls, config.max_iterations, provider=config.provider.name)
        self.failures = FailureLog(recorder)
        # Calls that the model has failed in a row.
        self.failed_calls = failed_in_a_row(stored.calls, config.provider.name)
        # The open event of an answer that was cut, and that the model is asked to continue.
        self.continued: OpenEvent | None = None
        self._scales = Scales()
        self._learned_window: int | None = None
        self._sent = 0
        # The tools that were weighed last, and their weight: from turn to turn they are the same.
        self._weighed_tools: tuple[tuple[ToolDefinition, ...], int] = ((), 0)
        self.catalog = ToolCatalog()
        self.call_ids = {call.id for message in stored.messages for call in message.body.tool_calls}
        self.inputs = Inputs(context.track, (*context.recorded_inputs, *stored.inputs), context.told_clock or context.clock)
        # The id under which the result of each tool call may be cited.
        self.evidence = context.evidence_ids
        self._turn = sum(call.kind != LLMInteractionKind.SUMMARIZATION for call in stored.calls)
        context.ceilings.begin(stored, self._turn)
        self._models: list[tuple[ResolvedProvider, LLMBackend]] = [
            (config.provider, config.llm_backend),
            *((fallback.provider, fallback.backend) for fallback in config.fallback_providers),
        ]

    @property
    def conversation(self) -> tuple[ConversationMessage, ...]:
        return tuple(message.body for message in self.messages)

    @property
    def turn(self) -> int:
        """The number of the next model call of the conversation."""
        return self._turn

    @property
    def read_back(self) -> str:
        """The tool that reads shortened results again, as the model may call it; empty when it has none."""
        has_it = self.catalog.find(READ_RESULT_TOOL) is not None
        return name_for_model(READ_RESULT_TOOL, self.context.config.tool_calling) if has_it else ""

    @property
    def must_cite(self) -> bool:
        """Whether an answer without a citation lacks something: one to a question does not, nor that of a sub-agent that has no tools."""
        is_without_tools = bool(self.context.prompts.context.task) and not self.catalog.tools
        return self.context.chat is None and not is_without_tools

    def number(self, calls: Iterable[ToolCall]) -> None:
        """Give the next ids to calls, in the order in which the model made them."""
        for call in calls:
            self.evidence[call.id] = call_id(self.context.evidence_prefix, len(self.evidence) + 1)

    def opening(self) -> tuple[PromptBuilder, tuple[ExecutionInput, ...]]:
        """The prompts of an execution that begins, and what they state that comes from outside."""
        now = self.inputs.now(self._turn)
        prompts = replace(
            self.context.prompts.context, now=utc(now.value.at), tool_warnings=self.catalog.warnings, read_back=self.read_back
        )
        return PromptBuilder(prompts), self.recorder.given(now)

    @property
    def provider(self) -> ResolvedProvider:
        return self._models[0][0]

    @property
    def backend(self) -> LLMBackend:
        return self._models[0][1]

    async def call(
        self,
        kind: LLMInteractionKind,
        router: TextRouter,
        *,
        tools: tuple[ToolDefinition, ...] = (),
        extra: tuple[ConversationMessage, ...] = (),
    ) -> CompletedCall:
        """Call the model with the conversation (and `extra` at its end).

        Raises:
            CeilingMetError: the call does not fit under a ceiling.
        """
        config = self.context.config
        await self._hear()
        if self.context.cut and self.context.cut.is_at_call(self._turn):
            await self.end_where_cut(self.context.cut)
        messages = self._fitting(tools, extra)
        self._sent = sum(map(tokens_of, messages)) - sum(map(tokens_of, extra))
        request = GenerateInput(
            session_id=self.context.session_id,
            execution_id=self.context.execution_id,
            messages=messages,
            provider=self.provider,
            backend=self.backend,
            tools=tools,
            track=self.context.track,
            turn=self._turn,
        )
        within = min(config.llm_call_timeout, config.iteration_timeout)

        async def make(admitted: GenerateInput, within: float) -> CompletedCall:
            self._turn += 1
            continued, self.continued = self.continued, None
            # The rest of an answer that was cut is shown where its beginning is.
            shown = WithoutVerdict(router, pieces_so_far(self.messages), continued.event_type if continued else None)
            return await ModelCall(self.context, self.recorder, shown, continued).run(
                admitted,
                kind,
                within=within,
                iteration=self.state.used + 1,
                # What was left out is not what the stored conversation says: such a request keeps its own messages.
                own_messages=len(messages) != len(self.messages) + len(extra),
            )

        call = await self.context.ceilings.metered(request, kind, within, make)
        if call.answer.error is None:
            self.failures.end_with(call.interaction.id)
            self.failed_calls = 0
        return call

    async def end_where_cut(self, place: CutPlace) -> Never:
        """Show what was being said when the run was cut short, and end."""
        await self.recorder.commit(opened=self.recorder.grow(place.being_said))
        await place.come()

    async def reconsider(self, refused: StepParts) -> None:
        """Store a step that was to conclude as one that does not, and tell the agent why."""
        self.messages += refused.get("messages", ())
        await self._tell(self.recorder.notes.take(self._turn, held=True), as_draft(refused))

    async def _hear(self) -> None:
        """Tell the agent what has reached the session since its last call."""
        # One that is asked for the rest of an answer gives that first.
        while not pieces_so_far(self.messages) and (heard := self.recorder.notes.take(self._turn)):
            await self._tell(heard, {})

    async def _tell(self, heard: tuple[DeliveredNote, ...], beside: StepParts) -> None:
        told = telling(self.context, self.recorder, heard, self._turn)
        await self.recorder.commit(**joined(beside, told))
        self.messages += told.get("messages", ())

    @property
    def window(self) -> int:
        """The model's window: as configured, or as learned from a model that found a conversation too long."""
        return self._learned_window or window_of(self.provider)

    def narrow(self, tokens: int) -> None:
        """Make do with what so many tokens hold, because there is no money for more."""
        self._learned_window = min(self.window, int(tokens / USABLE_SHARE))

    def _fitting(self, tools: tuple[ToolDefinition, ...], extra: tuple[ConversationMessage, ...] = ()) -> tuple[ConversationMessage, ...]:
        weights = [*map(self._scales.weigh, self.messages), *map(tokens_of, extra)]
        return without_oldest_turns((*self.conversation, *extra), weights, window=self.window, tool_tokens=self._weight_of(tools))

    def shrink(self, pointer: Pointer, tools: tuple[ToolDefinition, ...]) -> tuple[Compacted, ...] | None:
        """Make do with half of what the model has just found too long: what is compacted for it, or None when that cannot be."""
        before, too_much = self.messages, self._sent
        self._learned_window = too_much // 2
        compacted = self._compact(pointer, tools)
        if sum(map(tokens_of, self._fitting(tools))) < too_much:
            return compacted
        self.messages, self._scales = before, Scales()
        return None

    async def make_room(self, pointer: Pointer, tools: tuple[ToolDefinition, ...]) -> None:
        """Compact the oldest tool results if the next call would burst the model's window."""
        compacted = self._compact(pointer, tools)
        if compacted:
            await self.recorder.commit(compacted=compacted)

    def _compact(self, pointer: Pointer, tools: tuple[ToolDefinition, ...]) -> tuple[Compacted, ...]:
        compaction = fit(self.messages, self._scales, window=self.window, tool_tokens=self._weight_of(tools), pointer=pointer)
        self.messages = list(compaction.messages)
        return tuple(Compacted(*replaced, self._turn) for replaced in compaction.replaced)

    def _weight_of(self, tools: tuple[ToolDefinition, ...]) -> int:
        if self._weighed_tools[0] is not tools:
            self._weighed_tools = (tools, _tokens_of_tools(tools))
        return self._weighed_tools[1]

    async def ask_to_continue(self, call: CompletedCall, answer: Message) -> None:
        """Keep an answer that the model's output limit cut, and ask for the rest of it."""
        request = self.recorder.message(ConversationMessage(Role.USER, CONTINUE))
        self.continued = call.open_event
        await self.recorder.commit(messages=(answer, request), opened=call.answer.native_events, llm_interactions=(call.interaction,))
        self.messages += [answer, request]

    async def after_failure(self, call: CompletedCall, error: ErrorChunk) -> ExecutionResult | None:
        """Store a failed call, and go on as far as that can help; a result when it cannot, or not yet."""
        recorder = self.recorder
        self.failed_calls += 1
        decision = after_failure(error, self.failed_calls, has_fallback=len(self._models) > 1)
        match decision:
            case TryAgain():
                note = recorder.message(ConversationMessage(Role.USER, error_note(error.message)))
                await recorder.commit(**self.failures.note(call, error), messages=(note,))
                self.messages.append(note)
                return None
            case FallBack():
                parts = self.failures.end(call, error)
                change, event = self._fall_back(error)
                self.state, self.failed_calls = self.state.renewed(), 0
                parts["opened"] = (*parts["opened"], event)
                await recorder.commit(**parts, execution_changes=(change,))
                return None
            case Outage():
                return await self._wait(call, error, decision)
            case Hopeless(outlasted):
                reason = self.context.mask(told_end(self.provider, error, self.failed_calls, outlasted=outlasted))
                await recorder.commit(
                    **self.failures.end(call, error, reason), execution_changes=(recorder.moved(RunStatus.FAILED, reason),)
                )
                return ExecutionResult(status=RunStatus.FAILED, error=reason)
            case _:
                assert_never(decision)

    async def _wait(self, call: CompletedCall, error: ErrorChunk, outage: Outage) -> ExecutionResult:
        """Leave the execution as it is, to be continued with one more call. The outage is told once, however often the model is asked in vain."""
        reason = self.context.mask(told_outage(self.provider, error))
        await self.recorder.commit(**(self.failures.end(call, error, reason) if outage.begins else self.failures.repeat(call)))
        # What a recording says next does not depend on when it is asked.
        seconds = 0.0 if self.provider.type is ProviderType.REPLAY else outage.seconds
        return ExecutionResult(status=RunStatus.ACTIVE, waits=Wait(reason, seconds))

    def _fall_back(self, error: ErrorChunk) -> tuple[ExecutionChange, TimelineEvent]:
        """Move on to the next model for good."""
        failed, _ = self._models.pop(0)
        self._learned_window = None
        provider, backend = self._models[0]
        metadata = {"from_provider": failed.name, "to_provider": provider.name, "to_model": provider.model, "error_code": error.code.value}
        event = self.recorder.event(
            TimelineEventType.PROVIDER_FALLBACK,
            f"{failed.name} failed ({error.message}); going on with {provider.name}.",
            metadata=metadata,
        )
        change = replace(
            self.recorder.moved(RunStatus.ACTIVE),
            status=None,
            llm_provider=provider.name,
            llm_backend=backend.value,
            model_name=provider.model,
        )
        return change, event


def _tokens_of_tools(tools: tuple[ToolDefinition, ...]) -> int:
    return sum(estimate_tokens(f"{tool.name}{tool.description}{tool.parameters_schema}") for tool in tools)


def lacks(run: Run, text: str, *, cut: bool) -> dict[str, str]:
    """What the timeline entry of an analysis says of its shortcomings; a chat answer is measured by no analysis."""
    if run.context.chat:
        return {}
    told = f"{run.messages[0].body.content}\n{run.context.prompts.context.alert_data}\n{CONCLUSION_FORMS}"
    found = shortcoming_of(text, told, cut=cut)
    return {SHORTCOMING: found.value} if found else {}
