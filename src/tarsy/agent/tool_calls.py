"""The two formats in which models call tools: function calling, and ReAct text for models without it."""

from bisect import bisect_left
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain, count
from typing import Protocol, assert_never

from tarsy.agent.answer_text import TextRouter, WholeText
from tarsy.agent.model_call import ModelAnswer
from tarsy.agent.prompt.builder import PromptBuilder, is_compaction_pointer
from tarsy.agent.prompt.fence import OBSERVATION
from tarsy.agent.prompt.nudges import EMPTY_ANSWER_NUDGE
from tarsy.agent.react.call import ReActFinalAnswer
from tarsy.agent.react.feedback import format_observation
from tarsy.agent.react.parser import ReActAction, ReActMalformed, forced_answer
from tarsy.agent.react.parser import parse as parse_react
from tarsy.agent.react.streaming import ReActRouter
from tarsy.agent.repetition import StoredTurn
from tarsy.domain.conversation import ConversationMessage, Message, Role, ToolCall
from tarsy.domain.timeline import TimelineEventType
from tarsy.domain.tool import ToolCalling


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

    def router(self, *, concluding: bool = False) -> TextRouter: ...

    def parse(self, answer: ModelAnswer, sequence_number: int, taken: AbstractSet[str]) -> Turn:
        """Parse an answer; `sequence_number` is that of its message, `taken` are the ids of the calls before it."""
        ...

    def assistant_message(self, answer: ModelAnswer, calls: tuple[ToolCall, ...]) -> ConversationMessage:
        """Return the answer as it is stored; `calls` have masked arguments."""
        ...

    def read(self, message: Message) -> StoredTurn:
        """Return the text and the calls of a stored answer."""
        ...

    def result_message(self, call: ToolCall, content: str) -> ConversationMessage: ...

    def pointer(self, prompts: PromptBuilder, messages: Sequence[Message], message: Message) -> str | None:
        """Return what replaces `message` when room is needed, or None if it must stay."""
        ...

    def conclusion(self, text: str) -> GivesAnswer:
        """Parse the answer to a forced conclusion, in any form."""
        ...


class NativeToolCalls:
    """Function calling: tools are sent as definitions, calls are structured, results have a role of their own."""

    def router(self, *, concluding: bool = False) -> TextRouter:
        # Whether the text accompanies calls or is the answer is known when it ends: the event is renamed then.
        return WholeText(TimelineEventType.FINAL_ANALYSIS if concluding else TimelineEventType.LLM_RESPONSE)

    def parse(self, answer: ModelAnswer, sequence_number: int, taken: AbstractSet[str]) -> Turn:
        if answer.tool_calls:
            return WantsTools(_with_ids(answer.tool_calls, sequence_number, taken))
        if answer.text.strip():
            return GivesAnswer(answer.text)
        return Malformed(EMPTY_ANSWER_NUDGE, "the model's answer was empty")

    def assistant_message(self, answer: ModelAnswer, calls: tuple[ToolCall, ...]) -> ConversationMessage:
        return ConversationMessage(Role.ASSISTANT, answer.text_without_loop, calls)

    def read(self, message: Message) -> StoredTurn:
        return StoredTurn(message.body.content, message.body.tool_calls)

    def result_message(self, call: ToolCall, content: str) -> ConversationMessage:
        return ConversationMessage(Role.TOOL, content, tool_call_id=call.id, tool_name=call.name)

    def pointer(self, prompts: PromptBuilder, messages: Sequence[Message], message: Message) -> str | None:
        del messages
        body = message.body
        if body.role is not Role.TOOL or body.tool_call_id is None or is_compaction_pointer(body.content):
            return None
        return prompts.build_compaction_pointer(body.tool_call_id, body.tool_name or "a tool", body.content)

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


class ReActToolCalls:
    """ReAct: tools are described in the prompt, calls are parsed from text, results are `Observation:` messages."""

    def router(self, *, concluding: bool = False) -> TextRouter:
        del concluding  # a section's name says what it is
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

    def read(self, message: Message) -> StoredTurn:
        match parse_react(message.body.content):
            case ReActAction(thought, tool, tool_input):
                return StoredTurn(thought, (ToolCall(_call_id(message.sequence_number), tool, tool_input),))
            case ReActFinalAnswer() | ReActMalformed():
                return StoredTurn(message.body.content)

    def result_message(self, call: ToolCall, content: str) -> ConversationMessage:
        del call  # the line before the result names it
        return ConversationMessage(Role.USER, format_observation(content))

    def pointer(self, prompts: PromptBuilder, messages: Sequence[Message], message: Message) -> str | None:
        if message.body.role is not Role.USER or not message.body.content.startswith(OBSERVATION):
            return None
        content = message.body.content.removeprefix(OBSERVATION).lstrip()
        if is_compaction_pointer(content):
            return None
        place = bisect_left(messages, message.sequence_number - 1, key=lambda before: before.sequence_number)
        tool = next((call.name for call in self.read(messages[place]).calls), "a tool")
        return format_observation(prompts.build_compaction_pointer(_call_id(message.sequence_number - 1), tool, content))

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
