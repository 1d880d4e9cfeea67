"""The state of one run of an agent: its conversation, the counters of its loop, and the models it may call."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Never, assert_never

from tarsy.agent.answer_text import CONTINUE, TextRouter, WithoutVerdict, pieces_so_far
from tarsy.agent.context_window import (
    USABLE_SHARE,
    Pointer,
    TokenCounter,
    cut_to,
    fit,
    tokens_of,
    tokens_of_tools,
    window_of,
    without_oldest_turns,
)
from tarsy.agent.execution import ExecutionContext, ExecutionResult, Inputs, RecordedCut
from tarsy.agent.failures import (
    Fail,
    FailureLog,
    FallBack,
    Outage,
    Retry,
    after_failure,
    failed_in_a_row,
    failure_message,
    outage_message,
)
from tarsy.agent.iteration_state import IterationState, state_after
from tarsy.agent.model_call import CompletedCall, ModelCall
from tarsy.agent.prompt.builder import CONCLUSION_FORMS, PromptBuilder
from tarsy.agent.prompt.fence import line_of, result_text, shown_result, utc
from tarsy.agent.prompt.nudges import failed_call_message, note_text
from tarsy.agent.prompt.sections import brief_tool
from tarsy.agent.recorder import Recorder, StepParts, as_draft
from tarsy.domain.conclusion import SHORTCOMING, shortcoming_of
from tarsy.domain.conversation import ConversationMessage, Message, Role
from tarsy.domain.execution import AgentType, ExecutionChange, Wait
from tarsy.domain.interaction import SIDE_CALL_KINDS, LLMInteractionKind
from tarsy.domain.llm import ErrorChunk, ErrorCode, GenerateInput, LLMBackend, ProviderType, ResolvedProvider
from tarsy.domain.run_input import DeliveredNote, PlacedInput
from tarsy.domain.status import RunStatus
from tarsy.domain.step import Compacted, ExecutionInput, StoredRun
from tarsy.domain.timeline import TimelineEvent, TimelineEventType
from tarsy.domain.tool import READ_RESULT_TOOL, ToolCatalog, ToolDefinition, name_for_model


class Run:
    """Built from the stored run, so that a new and a continued execution are the same. Mutable, owned by one controller."""

    def __init__(self, context: ExecutionContext, recorder: Recorder, stored: StoredRun) -> None:
        config = context.config
        self.context = context
        self.recorder = recorder
        self.messages: list[Message] = list(stored.messages)
        self.state: IterationState = state_after(stored.calls, config.max_iterations, provider=config.provider.name)
        # The places of the results that the conversation holds, by the hashes of their texts.
        self.results: dict[int, int] = {}
        self.remember(stored.messages)
        self.failures = FailureLog(recorder)
        # The errors of the calls in a row that the model has failed.
        self.failed_calls = failed_in_a_row(stored.calls, config.provider.name)
        self.catalog = ToolCatalog()
        self.call_ids = {call.id for message in stored.messages for call in message.body.tool_calls}
        overrides = context.overrides
        self.inputs = Inputs(
            context.place.track, (*overrides.recorded_inputs, *stored.inputs), overrides.clock, is_replay=bool(overrides.recorded_inputs)
        )
        # The number of the next model call of the conversation.
        self.turn = sum(call.kind not in SIDE_CALL_KINDS for call in stored.calls)
        context.ceilings.begin(stored, self.turn)
        # The first is the one in use.
        self._models: list[tuple[ResolvedProvider, LLMBackend]] = [
            (config.provider, config.llm_backend),
            *((fallback.provider, fallback.backend) for fallback in config.fallback_providers),
        ]
        # The open event of an answer that was cut, and that the model is asked to continue.
        self._continued: TimelineEvent | None = None
        self._counter = TokenCounter()
        self._learned_window: int | None = None
        # The most tokens of the conclusion's request, if a ceiling has no room for more.
        self._narrowed: int | None = None
        # Tokens of the results of this turn, which are not among the messages yet.
        self.pending_result_tokens = 0
        self._sent_tokens = 0

    @property
    def provider(self) -> ResolvedProvider:
        return self._models[0][0]

    @property
    def backend(self) -> LLMBackend:
        return self._models[0][1]

    @property
    def window(self) -> int:
        """The model's context window: as configured, or as learned when the model rejected a conversation as too long."""
        return self._learned_window or window_of(self.provider)

    @property
    def read_tool(self) -> str:
        """The name of the tool that reads shortened results, as the model calls it; empty if the agent does not have it."""
        has_it = self.catalog.find(READ_RESULT_TOOL) is not None
        return name_for_model(READ_RESULT_TOOL, self.context.config.tool_calling) if has_it else ""

    @property
    def must_cite(self) -> bool:
        """Whether an answer without a citation is incomplete: not that to a question, nor that of a sub-agent without tools, nor the report on actions."""
        is_without_tools = bool(self.context.prompts.context.task) and not self.catalog.tools
        return self.context.chat is None and not is_without_tools and self.context.config.type is not AgentType.ACTION

    def opening(self) -> tuple[PromptBuilder, tuple[ExecutionInput, ...]]:
        """Return the prompts for the first messages, and the inputs that they state."""
        now = self.inputs.now(self.turn)
        prompts = replace(
            self.context.prompts.context, now=utc(now.value.at), tool_warnings=self.catalog.warnings, read_tool=self.read_tool
        )
        return PromptBuilder(prompts), self.recorder.inputs(now)

    async def call(
        self,
        kind: LLMInteractionKind,
        router: TextRouter,
        *,
        tools: tuple[ToolDefinition, ...] = (),
        extra: tuple[ConversationMessage, ...] = (),
    ) -> CompletedCall:
        """Deliver pending notes, then call the model with the conversation and `extra` at its end.

        Raises:
            CeilingMetError: the call does not fit under a ceiling.
        """
        context, config = self.context, self.context.config
        # A model that is asked for the rest of an answer gives that first.
        while not pieces_so_far(self.messages) and (notes := self.recorder.notes.take(self.turn)):
            await self._deliver(notes, {})
        if context.cut and context.cut.is_at_call(self.turn):
            await self.stop_at_cut(context.cut)
        messages = self._fitting(tools, extra)
        self._sent_tokens = sum(map(tokens_of, messages)) - sum(map(tokens_of, extra))
        request = GenerateInput(
            session_id=context.place.session_id,
            execution_id=context.place.execution_id,
            messages=messages,
            provider=self.provider,
            backend=self.backend,
            tools=tuple(map(brief_tool, tools)),
            track=context.place.track,
            turn=self.turn,
        )
        # The rest of an answer that was cut is shown in the event of its beginning.
        continued = self._continued
        shown = WithoutVerdict(router, pieces_so_far(self.messages), continued.event_type if continued else None)
        call = await ModelCall(context, self.recorder, shown, continued).run(
            request,
            kind,
            within=min(config.llm_call_timeout, config.iteration_timeout),
            iteration=self.state.used + 1,
            # A request from which turns were left out differs from the stored conversation: its own messages are recorded.
            own_messages=len(messages) != len(self.messages) + len(extra) or self._narrowed is not None,
        )
        self.turn += 1
        self._continued = None
        if call.answer.error is None:
            self.failures.close_with(call.interaction.id)
            self.failed_calls = []
        return call

    def remember(self, messages: Iterable[Message]) -> None:
        """Take note of the results among new messages, so that an equal one of a later turn is not sent again."""
        for message in messages:
            if line_of(shown_result(message.body.content))[0]:
                self.results[hash(result_text(message.body.content))] = message.sequence_number

    async def stop_at_cut(self, cut: RecordedCut) -> Never:
        """Show the texts that were being written when the recorded run was stopped, and stop."""
        await self.recorder.commit(opened=self.recorder.restore(cut.streaming_texts))
        await cut.reach()

    async def reconsider(self, concluding: StepParts) -> None:
        """Store a step that was to conclude as a draft, and deliver the notes that arrived meanwhile."""
        self.messages += concluding.get("messages", ())
        await self._deliver(self.recorder.notes.take(self.turn, held=True), as_draft(concluding))

    async def _deliver(self, notes: tuple[DeliveredNote, ...], draft: StepParts) -> None:
        """Add notes to the conversation, in one step with `draft`."""
        recorder, fence = self.recorder, self.context.prompts.fence
        bodies = [ConversationMessage(Role.USER, note_text(one, fence, last=one is notes[-1])) for one in notes]
        messages = [recorder.message(body) for body in bodies]
        events = [
            recorder.event(
                TimelineEventType.NOTE,
                one.note.text,
                metadata={
                    "evidence_id": one.note.id,
                    "kind": one.note.kind.value,
                    "author": one.note.author,
                    "noted_at": one.note.at.isoformat(),
                    **({"held": True} if one.held else {}),
                },
            )
            for one in notes
        ]
        step = StepParts(**draft)
        step["messages"] = (*draft.get("messages", ()), *messages)
        step["opened"] = (*draft.get("opened", ()), *events)
        inputs = recorder.inputs(*(PlacedInput(self.context.place.track, self.turn, one) for one in notes))
        step["inputs"] = (*draft.get("inputs", ()), *inputs)
        await recorder.commit(**step)
        self.messages += messages

    def _fitting(self, tools: tuple[ToolDefinition, ...], extra: tuple[ConversationMessage, ...] = ()) -> tuple[ConversationMessage, ...]:
        tokens = [*map(self._counter.count, self.messages), *map(tokens_of, extra)]
        messages = (*(message.body for message in self.messages), *extra)
        kept = without_oldest_turns(messages, tokens, window=self.window, tool_tokens=tokens_of_tools(tools))
        return kept if self._narrowed is None else cut_to(kept, self._narrowed)

    def conversation_tokens(self) -> int:
        """Estimate the tokens of the conversation with the tools that are offered, and with the results of this turn so far."""
        return sum(map(self._counter.count, self.messages)) + tokens_of_tools(self.catalog.tools) + self.pending_result_tokens

    @property
    def is_narrowed(self) -> bool:
        return self._narrowed is not None

    def narrow(self, tokens: int) -> None:
        """Shorten the conversation to `tokens` from now on, because the budget has no room for more."""
        self._learned_window, self._narrowed = min(self.window, int(tokens / USABLE_SHARE)), tokens

    def shrink(self, pointer: Pointer, tools: tuple[ToolDefinition, ...]) -> tuple[Compacted, ...] | None:
        """Halve a conversation that the model rejected as too long; return what was compacted for it, None if it does not get shorter."""
        before, rejected = self.messages, self._sent_tokens
        self._learned_window = rejected // 2
        compacted = self._compact(pointer, tools)
        if sum(map(tokens_of, self._fitting(tools))) < rejected:
            return compacted
        self.messages, self._counter = before, TokenCounter()
        return None

    async def make_room(self, pointer: Pointer, tools: tuple[ToolDefinition, ...]) -> None:
        """Compact the oldest tool results if the next call would exceed the model's window."""
        if compacted := self._compact(pointer, tools):
            await self.recorder.commit(compacted=compacted)

    def _compact(self, pointer: Pointer, tools: tuple[ToolDefinition, ...]) -> tuple[Compacted, ...]:
        compaction = fit(self.messages, self._counter, window=self.window, tool_tokens=tokens_of_tools(tools), pointer=pointer)
        self.messages = list(compaction.messages)
        return tuple(Compacted(*replaced, self.turn) for replaced in compaction.replaced)

    async def ask_to_continue(self, call: CompletedCall, answer: Message) -> None:
        """Store an answer that the model's output limit cut, and ask for the rest of it."""
        request = self.recorder.message(ConversationMessage(Role.USER, CONTINUE))
        self._continued = call.open_event
        await self.recorder.commit(messages=(answer, request), opened=call.answer.native_events, llm_interactions=(call.interaction,))
        self.messages += [answer, request]

    def gives_up(self, error: ErrorChunk) -> bool:
        """Whether `after_failure` ends the run, because no model is left and waiting does not help."""
        decision = after_failure(error, [*self.failed_calls, error.code], has_fallback=len(self._models) > 1)
        return error.code is not ErrorCode.CEILING and isinstance(decision, Fail)

    async def after_failure(self, call: CompletedCall, error: ErrorChunk) -> ExecutionResult | None:
        """Store a failed call; return None if the run continues with another call, else how it ends or what it waits for."""
        recorder, mask = self.recorder, self.context.services.mask
        if error.code is ErrorCode.CEILING:
            # The next call of this kind is refused for the same reason.
            await recorder.commit(**self.failures.parts_for_end(call, error))
            return None
        self.failed_calls.append(error.code)
        decision = after_failure(error, self.failed_calls, has_fallback=len(self._models) > 1)
        match decision:
            case Retry():
                note = recorder.message(ConversationMessage(Role.USER, failed_call_message(error.message)))
                await recorder.commit(**self.failures.parts_for_retry(call, error), messages=(note,))
                self.messages.append(note)
                return None
            case FallBack():
                parts = self.failures.parts_for_end(call, error)
                change, event = self._fall_back(error)
                self.state, self.failed_calls = self.state.without_failures(), []
                parts["opened"] = (*parts["opened"], event)
                await recorder.commit(**parts, execution_changes=(change,))
                return None
            case Outage(seconds, begins):
                # The execution stays active, to be continued with one more call. However often that fails, the outage is shown once.
                reason = mask(outage_message(self.provider, error))
                await recorder.commit(
                    **(self.failures.parts_for_end(call, error, reason) if begins else self.failures.parts_for_repeat(call))
                )
                # The next answer of a recording does not depend on when it is requested.
                wait = 0.0 if self.provider.type is ProviderType.REPLAY else seconds
                return ExecutionResult(status=RunStatus.ACTIVE, waits=Wait(reason, wait))
            case Fail(outlasted):
                reason = mask(failure_message(self.provider, error, len(self.failed_calls), outlasted=outlasted))
                failed = recorder.moved(RunStatus.FAILED, reason)
                await recorder.commit(**self.failures.parts_for_end(call, error, reason), execution_changes=(failed,))
                return ExecutionResult(status=RunStatus.FAILED, error=reason)
            case _:
                assert_never(decision)

    def _fall_back(self, error: ErrorChunk) -> tuple[ExecutionChange, TimelineEvent]:
        """Switch to the next model for good."""
        failed, _ = self._models.pop(0)
        self._learned_window = None
        provider, backend = self._models[0]
        metadata = {"from_provider": failed.name, "to_provider": provider.name, "to_model": provider.model, "error_code": error.code.value}
        event = self.recorder.event(
            TimelineEventType.PROVIDER_FALLBACK,
            f"{failed.name} failed ({error.message}); continuing with {provider.name}.",
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

    def shortcoming(self, text: str, *, cut: bool) -> dict[str, str]:
        """Return what the timeline event of an analysis states about its shortcomings; nothing for a chat answer."""
        if self.context.chat:
            return {}
        prompted = f"{self.messages[0].body.content}\n{self.context.prompts.context.alert_data}\n{CONCLUSION_FORMS}"
        found = shortcoming_of(text, prompted, cut=cut)
        return {SHORTCOMING: found.value} if found else {}
