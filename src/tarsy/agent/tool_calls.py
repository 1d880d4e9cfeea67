"""The two formats of tool calls: function calling, and ReAct text."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain, count
from typing import Protocol, assert_never

from tarsy.agent.answer_text import TextRouter, WholeText
from tarsy.agent.model_call import ModelAnswer
from tarsy.agent.prompt.builder import ChatPrompt, PromptBuilder, is_compaction_pointer
from tarsy.agent.prompt.nudges import empty_answer_nudge
from tarsy.agent.react.feedback import format_observation
from tarsy.agent.react.parser import ReActAction, ReActFinalAnswer, ReActMalformed, forced_answer, parse
from tarsy.agent.react.streaming import SectionSplitter
from tarsy.agent.react.streaming import StreamSection as Section
from tarsy.agent.repetition import Said
from tarsy.domain.conversation import ConversationMessage, Message, Role, ToolCall
from tarsy.domain.timeline import TimelineEventType
from tarsy.domain.tool import ToolCalling, ToolDefinition


@dataclass(frozen=True, slots=True)
class WantsTools:
    """The model asks for tools; each call with the place its result will take in the conversation."""

    calls: tuple[ToolCall, ...]
    thought: str = ""


@dataclass(frozen=True, slots=True)
class GivesAnswer:
    text: str
    thought: str = ""


@dataclass(frozen=True, slots=True)
class MakesNoSense:
    """Neither; `feedback` goes back to the model."""

    feedback: str
    problem: str
    thought: str = ""


Turn = WantsTools | GivesAnswer | MakesNoSense


@dataclass(frozen=True, slots=True)
class PendingCall:
    """A call whose result is not stored yet, and the sequence number waiting for it."""

    call: ToolCall
    sequence_number: int


class ToolSpeech(Protocol):
    """Everything the iterating controller must know about the protocol in use."""

    def initial_messages(
        self, prompts: PromptBuilder, tools: Sequence[ToolDefinition], previous: str, chat: ChatPrompt | None
    ) -> tuple[ConversationMessage, ...]: ...

    def bound_tools(self, tools: tuple[ToolDefinition, ...]) -> tuple[ToolDefinition, ...]:
        """The tools that go along with a call as structured definitions."""
        ...

    def router(self) -> TextRouter: ...

    def read(self, answer: ModelAnswer, sequence_number: int, taken: AbstractSet[str]) -> Turn:
        """Understand an answer; `sequence_number` is its place in the conversation, `taken` the ids of the calls before it."""
        ...

    def assistant_message(self, answer: ModelAnswer, calls: tuple[ToolCall, ...]) -> ConversationMessage:
        """The answer as it is stored, its calls with masked arguments."""
        ...

    def said(self, message: ConversationMessage) -> Said:
        """What an answer comes to when it is compared with others."""
        ...

    def result_message(self, call: ToolCall, content: str) -> ConversationMessage: ...

    def calls_of(self, message: Message) -> tuple[ToolCall, ...]:
        """The calls that a stored answer makes."""
        ...

    def pending_calls(self, messages: Sequence[Message]) -> tuple[PendingCall, ...]:
        """What an interrupted predecessor asked for and never got."""
        ...

    def pointer(self, prompts: PromptBuilder, messages: Sequence[Message], message: Message) -> str | None:
        """What may stand in for `message` when room is needed, or None when it must stay."""
        ...

    def concluding_router(self) -> TextRouter: ...

    def conclusion(self, text: str) -> GivesAnswer:
        """Read the answer to a forced conclusion, in whatever form it came."""
        ...


class NativeSpeech:
    def initial_messages(
        self, prompts: PromptBuilder, tools: Sequence[ToolDefinition], previous: str, chat: ChatPrompt | None
    ) -> tuple[ConversationMessage, ...]:
        del tools  # bound to each call instead
        return prompts.build_native_chat_messages(chat) if chat else prompts.build_native_messages(previous)

    def bound_tools(self, tools: tuple[ToolDefinition, ...]) -> tuple[ToolDefinition, ...]:
        return tools

    def router(self) -> TextRouter:
        # Whether text stands beside calls or is the answer is known when it ends: it is renamed then.
        return WholeText(TimelineEventType.LLM_RESPONSE)

    def read(self, answer: ModelAnswer, sequence_number: int, taken: AbstractSet[str]) -> Turn:
        if answer.tool_calls:
            return WantsTools(_with_ids(answer.tool_calls, sequence_number, taken))
        if answer.text.strip():
            return GivesAnswer(answer.text)
        return MakesNoSense(empty_answer_nudge(ToolCalling.NATIVE), "the model's answer was empty")

    def assistant_message(self, answer: ModelAnswer, calls: tuple[ToolCall, ...]) -> ConversationMessage:
        return ConversationMessage(Role.ASSISTANT, answer.told, calls)

    def said(self, message: ConversationMessage) -> Said:
        return Said(message.content, tuple((call.name, call.arguments) for call in message.tool_calls))

    def result_message(self, call: ToolCall, content: str) -> ConversationMessage:
        return ConversationMessage(Role.TOOL, content, tool_call_id=call.id, tool_name=call.name)

    def calls_of(self, message: Message) -> tuple[ToolCall, ...]:
        return message.body.tool_calls

    def pending_calls(self, messages: Sequence[Message]) -> tuple[PendingCall, ...]:
        asked = next((message for message in reversed(messages) if message.body.role is Role.ASSISTANT), None)
        if asked is None:
            return ()
        answered = {message.body.tool_call_id for message in messages if message.sequence_number > asked.sequence_number}
        return tuple(
            PendingCall(call, asked.sequence_number + 1 + place)
            for place, call in enumerate(asked.body.tool_calls)
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
    """Every call of an execution under an id of its own: some models send none, or count from one in every answer."""
    seen: set[str] = set()
    unique: list[ToolCall] = []
    for place, call in enumerate(calls, start=1):
        ours = (f"call-{sequence_number}-{number}" for number in count(place))
        call_id = next(name for name in chain((call.id,), ours) if name and name not in seen and name not in taken)
        seen.add(call_id)
        unique.append(ToolCall(call_id, call.name, call.arguments))
    return tuple(unique)


_OBSERVATION = "Observation:"


class ReActRouter:
    """Shows a Thought as thinking and a Final Answer as the analysis, while they are being written."""

    def __init__(self) -> None:
        self._splitter = SectionSplitter()

    def route(self, delta: str) -> Iterable[tuple[TimelineEventType, str]]:
        return _shown(self._splitter.feed(delta))

    def finish(self) -> Iterable[tuple[TimelineEventType, str]]:
        return _shown(self._splitter.finish())


def _shown(pieces: Iterable[tuple[Section, str]]) -> Iterator[tuple[TimelineEventType, str]]:
    for section, text in pieces:
        match section:
            case Section.THOUGHT:
                yield TimelineEventType.LLM_THINKING, text
            case Section.FINAL_ANSWER:
                yield TimelineEventType.FINAL_ANALYSIS, text
            case Section.ACTION:
                continue
            case _:
                assert_never(section)


class ReActSpeech:
    def initial_messages(
        self, prompts: PromptBuilder, tools: Sequence[ToolDefinition], previous: str, chat: ChatPrompt | None
    ) -> tuple[ConversationMessage, ...]:
        return prompts.build_react_chat_messages(tools, chat) if chat else prompts.build_react_messages(tools, previous)

    def bound_tools(self, tools: tuple[ToolDefinition, ...]) -> tuple[ToolDefinition, ...]:
        del tools  # described in the prompt instead
        return ()

    def router(self) -> TextRouter:
        return ReActRouter()

    def read(self, answer: ModelAnswer, sequence_number: int, taken: AbstractSet[str]) -> Turn:
        del taken  # a place in the conversation is taken once
        parsed = parse(answer.text)
        match parsed:
            case ReActFinalAnswer(thought, text):
                return GivesAnswer(text, thought)
            case ReActAction(thought, tool, tool_input):
                # The tool gets what the model wrote, as with function calling; stored and shown is what was masked.
                written = parse(answer.unmasked)
                tool_input = written.tool_input if isinstance(written, ReActAction) and written.tool == tool else tool_input
                return WantsTools((ToolCall(_call_id(sequence_number), tool, tool_input),), thought)
            case ReActMalformed(thought, problem, feedback):
                return MakesNoSense(feedback, f"the model's answer was not in the expected form: {problem.value}", thought)
            case _:
                assert_never(parsed)

    def assistant_message(self, answer: ModelAnswer, calls: tuple[ToolCall, ...]) -> ConversationMessage:
        # A call is its text, to the letter: a worker that continues the run reads it again.
        return ConversationMessage(Role.ASSISTANT, answer.text if calls else answer.told)

    def said(self, message: ConversationMessage) -> Said:
        match parse(message.content):
            case ReActAction(thought, tool, tool_input):
                return Said(thought, ((tool, tool_input),))
            case ReActFinalAnswer() | ReActMalformed():
                return Said(message.content)

    def result_message(self, call: ToolCall, content: str) -> ConversationMessage:
        del call  # the line before the result names it
        return ConversationMessage(Role.USER, format_observation(content))

    def calls_of(self, message: Message) -> tuple[ToolCall, ...]:
        parsed = parse(message.body.content)
        if not isinstance(parsed, ReActAction):
            return ()
        return (ToolCall(_call_id(message.sequence_number), parsed.tool, parsed.tool_input),)

    def pending_calls(self, messages: Sequence[Message]) -> tuple[PendingCall, ...]:
        if not messages or messages[-1].body.role is not Role.ASSISTANT:
            return ()
        asked = messages[-1]
        return tuple(PendingCall(call, asked.sequence_number + 1) for call in self.calls_of(asked))

    def pointer(self, prompts: PromptBuilder, messages: Sequence[Message], message: Message) -> str | None:
        if message.body.role is not Role.USER or not message.body.content.startswith(_OBSERVATION):
            return None
        content = message.body.content.removeprefix(_OBSERVATION).lstrip()
        if is_compaction_pointer(content):
            return None
        place = bisect_left(messages, message.sequence_number - 1, key=lambda before: before.sequence_number)
        parsed = parse(messages[place].body.content)
        tool = parsed.tool if isinstance(parsed, ReActAction) else "a tool"
        return format_observation(prompts.build_compaction_pointer(_call_id(message.sequence_number - 1), tool, content))

    def concluding_router(self) -> TextRouter:
        return ReActRouter()

    def conclusion(self, text: str) -> GivesAnswer:
        answer = forced_answer(text)
        return GivesAnswer(answer.answer, answer.thought)


def _call_id(sequence_number: int) -> str:
    """Text calls have no id: the place of the message that makes one is as good, and the same after a restart."""
    return f"react-{sequence_number}"
