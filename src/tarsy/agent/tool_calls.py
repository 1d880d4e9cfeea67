"""The two formats in which models call tools: function calling, and ReAct text for models without it."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain, count
from typing import Protocol, assert_never

from tarsy.agent.answer_text import TextPiece, TextRouter, WholeText
from tarsy.agent.model_call import ModelAnswer
from tarsy.agent.prompt.builder import ChatPrompt, PromptBuilder, is_compaction_pointer
from tarsy.agent.prompt.nudges import empty_answer_nudge
from tarsy.agent.react.feedback import format_observation
from tarsy.agent.react.parser import ReActAction, ReActFinalAnswer, ReActMalformed, forced_answer
from tarsy.agent.react.parser import parse as parse_react
from tarsy.agent.react.streaming import SectionSplitter, StreamSection
from tarsy.agent.repetition import TurnSummary
from tarsy.domain.conversation import ConversationMessage, Message, Role, ToolCall
from tarsy.domain.timeline import TimelineEventType
from tarsy.domain.tool import ToolCalling, ToolDefinition

_OBSERVATION = "Observation:"


@dataclass(frozen=True, slots=True)
class WantsTools:
    """The model calls tools."""

    calls: tuple[ToolCall, ...]
    thought: str = ""


@dataclass(frozen=True, slots=True)
class GivesAnswer:
    text: str
    thought: str = ""


@dataclass(frozen=True, slots=True)
class Malformed:
    """An answer in no valid form; `feedback` is sent back to the model, `problem` is shown to people."""

    feedback: str
    problem: str
    thought: str = ""


Turn = WantsTools | GivesAnswer | Malformed


@dataclass(frozen=True, slots=True)
class PendingCall:
    """A call whose result is not stored yet, and the sequence number reserved for it."""

    call: ToolCall
    sequence_number: int


class ToolCallFormat(Protocol):
    """The format in which a model calls tools: how requests are built, answers parsed, and calls and results stored."""

    def initial_messages(
        self, prompts: PromptBuilder, tools: Sequence[ToolDefinition], previous: str, chat: ChatPrompt | None
    ) -> tuple[ConversationMessage, ...]: ...

    def bound_tools(self, tools: tuple[ToolDefinition, ...]) -> tuple[ToolDefinition, ...]:
        """Return the tools that are sent with each call as structured definitions."""
        ...

    def router(self) -> TextRouter: ...

    def parse(self, answer: ModelAnswer, sequence_number: int, taken: AbstractSet[str]) -> Turn:
        """Parse an answer; `sequence_number` is that of its message, `taken` are the ids of the calls before it."""
        ...

    def assistant_message(self, answer: ModelAnswer, calls: tuple[ToolCall, ...]) -> ConversationMessage:
        """Return the answer as it is stored; `calls` have masked arguments."""
        ...

    def summary_of(self, message: ConversationMessage) -> TurnSummary:
        """Return the text and the calls of an answer, to compare it with others."""
        ...

    def result_message(self, call: ToolCall, content: str) -> ConversationMessage: ...

    def calls_of(self, message: Message) -> tuple[ToolCall, ...]:
        """Return the calls of a stored answer."""
        ...

    def pending_calls(self, messages: Sequence[Message]) -> tuple[PendingCall, ...]:
        """Return the calls of an interrupted run that have no result."""
        ...

    def pointer(self, prompts: PromptBuilder, messages: Sequence[Message], message: Message) -> str | None:
        """Return what replaces `message` when room is needed, or None if it must stay."""
        ...

    def concluding_router(self) -> TextRouter: ...

    def conclusion(self, text: str) -> GivesAnswer:
        """Parse the answer to a forced conclusion, in any form."""
        ...


class NativeToolCalls:
    """Function calling: tools are sent as definitions, calls are structured, results have a role of their own."""

    def initial_messages(
        self, prompts: PromptBuilder, tools: Sequence[ToolDefinition], previous: str, chat: ChatPrompt | None
    ) -> tuple[ConversationMessage, ...]:
        del tools  # sent with each call instead
        return prompts.build_native_chat_messages(chat) if chat else prompts.build_native_messages(previous)

    def bound_tools(self, tools: tuple[ToolDefinition, ...]) -> tuple[ToolDefinition, ...]:
        return tools

    def router(self) -> TextRouter:
        # Whether the text accompanies calls or is the answer is known when it ends: the event is renamed then.
        return WholeText(TimelineEventType.LLM_RESPONSE)

    def parse(self, answer: ModelAnswer, sequence_number: int, taken: AbstractSet[str]) -> Turn:
        if answer.tool_calls:
            return WantsTools(_with_ids(answer.tool_calls, sequence_number, taken))
        if answer.text.strip():
            return GivesAnswer(answer.text)
        return Malformed(empty_answer_nudge(ToolCalling.NATIVE), "the model's answer was empty")

    def assistant_message(self, answer: ModelAnswer, calls: tuple[ToolCall, ...]) -> ConversationMessage:
        return ConversationMessage(Role.ASSISTANT, answer.text_without_loop, calls)

    def summary_of(self, message: ConversationMessage) -> TurnSummary:
        return TurnSummary(message.content, tuple((call.name, call.arguments) for call in message.tool_calls))

    def result_message(self, call: ToolCall, content: str) -> ConversationMessage:
        return ConversationMessage(Role.TOOL, content, tool_call_id=call.id, tool_name=call.name)

    def calls_of(self, message: Message) -> tuple[ToolCall, ...]:
        return message.body.tool_calls

    def pending_calls(self, messages: Sequence[Message]) -> tuple[PendingCall, ...]:
        last = next((message for message in reversed(messages) if message.body.role is Role.ASSISTANT), None)
        if last is None:
            return ()
        answered = {message.body.tool_call_id for message in messages if message.sequence_number > last.sequence_number}
        return tuple(
            PendingCall(call, last.sequence_number + 1 + place)
            for place, call in enumerate(last.body.tool_calls)
            if call.id not in answered
        )

    def pointer(self, prompts: PromptBuilder, messages: Sequence[Message], message: Message) -> str | None:
        del messages
        body = message.body
        if body.role is not Role.TOOL or body.tool_call_id is None or is_compaction_pointer(body.content):
            return None
        return prompts.build_compaction_pointer(body.tool_call_id, body.tool_name or "a tool", body.content)

    def concluding_router(self) -> TextRouter:
        return WholeText(TimelineEventType.FINAL_ANALYSIS)

    def conclusion(self, text: str) -> GivesAnswer:
        return GivesAnswer(text)


def _with_ids(calls: tuple[ToolCall, ...], sequence_number: int, taken: AbstractSet[str]) -> tuple[ToolCall, ...]:
    """Give every call of an execution an id of its own: some models send none, or count from one in every answer."""
    seen: set[str] = set()
    unique: list[ToolCall] = []
    for place, call in enumerate(calls, start=1):
        ours = (f"call-{sequence_number}-{number}" for number in count(place))
        call_id = next(name for name in chain((call.id,), ours) if name and name not in seen and name not in taken)
        seen.add(call_id)
        unique.append(ToolCall(call_id, call.name, call.arguments))
    return tuple(unique)


class ReActRouter:
    """Shows a Thought as thinking and a Final Answer as the analysis, while they are written; calls are not shown."""

    def __init__(self) -> None:
        self._splitter = SectionSplitter()

    def route(self, delta: str) -> Iterable[TextPiece]:
        return _shown(self._splitter.feed(delta))

    def finish(self) -> Iterable[TextPiece]:
        return _shown(self._splitter.finish())


def _shown(pieces: Iterable[tuple[StreamSection, str]]) -> Iterator[TextPiece]:
    for section, text in pieces:
        match section:
            case StreamSection.THOUGHT:
                yield TimelineEventType.LLM_THINKING, text
            case StreamSection.FINAL_ANSWER:
                yield TimelineEventType.FINAL_ANALYSIS, text
            case StreamSection.ACTION:
                continue
            case _:
                assert_never(section)


class ReActToolCalls:
    """ReAct: tools are described in the prompt, calls are parsed from text, results are `Observation:` messages."""

    def initial_messages(
        self, prompts: PromptBuilder, tools: Sequence[ToolDefinition], previous: str, chat: ChatPrompt | None
    ) -> tuple[ConversationMessage, ...]:
        return prompts.build_react_chat_messages(tools, chat) if chat else prompts.build_react_messages(tools, previous)

    def bound_tools(self, tools: tuple[ToolDefinition, ...]) -> tuple[ToolDefinition, ...]:
        del tools  # described in the prompt instead
        return ()

    def router(self) -> TextRouter:
        return ReActRouter()

    def parse(self, answer: ModelAnswer, sequence_number: int, taken: AbstractSet[str]) -> Turn:
        del taken  # a sequence number is used once
        parsed = parse_react(answer.text)
        match parsed:
            case ReActFinalAnswer(thought, text):
                return GivesAnswer(text, thought)
            case ReActAction(thought, tool, tool_input):
                # The tool gets the arguments as the model wrote them, as with function calling; stored and shown are the masked ones.
                written = parse_react(answer.unmasked)
                tool_input = written.tool_input if isinstance(written, ReActAction) and written.tool == tool else tool_input
                return WantsTools((ToolCall(_call_id(sequence_number), tool, tool_input),), thought)
            case ReActMalformed(thought, problem, feedback):
                return Malformed(feedback, f"the model's answer was not in the expected form: {problem.value}", thought)
            case _:
                assert_never(parsed)

    def assistant_message(self, answer: ModelAnswer, calls: tuple[ToolCall, ...]) -> ConversationMessage:
        # A call is stored as its exact text: a worker that continues the run parses it again.
        return ConversationMessage(Role.ASSISTANT, answer.text if calls else answer.text_without_loop)

    def summary_of(self, message: ConversationMessage) -> TurnSummary:
        match parse_react(message.content):
            case ReActAction(thought, tool, tool_input):
                return TurnSummary(thought, ((tool, tool_input),))
            case ReActFinalAnswer() | ReActMalformed():
                return TurnSummary(message.content)

    def result_message(self, call: ToolCall, content: str) -> ConversationMessage:
        del call  # the line before the result names it
        return ConversationMessage(Role.USER, format_observation(content))

    def calls_of(self, message: Message) -> tuple[ToolCall, ...]:
        parsed = parse_react(message.body.content)
        if not isinstance(parsed, ReActAction):
            return ()
        return (ToolCall(_call_id(message.sequence_number), parsed.tool, parsed.tool_input),)

    def pending_calls(self, messages: Sequence[Message]) -> tuple[PendingCall, ...]:
        if not messages or messages[-1].body.role is not Role.ASSISTANT:
            return ()
        last = messages[-1]
        return tuple(PendingCall(call, last.sequence_number + 1) for call in self.calls_of(last))

    def pointer(self, prompts: PromptBuilder, messages: Sequence[Message], message: Message) -> str | None:
        if message.body.role is not Role.USER or not message.body.content.startswith(_OBSERVATION):
            return None
        content = message.body.content.removeprefix(_OBSERVATION).lstrip()
        if is_compaction_pointer(content):
            return None
        place = bisect_left(messages, message.sequence_number - 1, key=lambda before: before.sequence_number)
        parsed = parse_react(messages[place].body.content)
        tool = parsed.tool if isinstance(parsed, ReActAction) else "a tool"
        return format_observation(prompts.build_compaction_pointer(_call_id(message.sequence_number - 1), tool, content))

    def concluding_router(self) -> TextRouter:
        return ReActRouter()

    def conclusion(self, text: str) -> GivesAnswer:
        answer = forced_answer(text)
        return GivesAnswer(answer.answer, answer.thought)


def _call_id(sequence_number: int) -> str:
    """Text calls have no id: the sequence number of their message serves as one, and is the same after a restart."""
    return f"react-{sequence_number}"


def tool_call_format(tool_calling: ToolCalling) -> ToolCallFormat:
    match tool_calling:
        case ToolCalling.NATIVE:
            return NativeToolCalls()
        case ToolCalling.REACT:
            return ReActToolCalls()
        case _:
            assert_never(tool_calling)
