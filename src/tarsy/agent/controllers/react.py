"""ReAct: tools are described in the prompt, calls are parsed from text, results are `Observation:` messages."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import assert_never

from tarsy.agent.controllers.speech import GivesAnswer, MakesNoSense, PendingCall, Turn, WantsTools
from tarsy.agent.model_call import ModelAnswer, TextRouter
from tarsy.agent.prompt.builder import PromptBuilder, is_compaction_pointer
from tarsy.agent.prompt.inputs import ChatPrompt
from tarsy.agent.react.feedback import format_observation
from tarsy.agent.react.parsed import ReActAction, ReActFinalAnswer, ReActMalformed
from tarsy.agent.react.parser import forced_answer, parse
from tarsy.agent.react.streaming import SectionSplitter
from tarsy.agent.react.streaming import StreamSection as Section
from tarsy.agent.repetition import Said
from tarsy.domain.conversation import ConversationMessage, Message, Role, ToolCall
from tarsy.domain.timeline import TimelineEventType
from tarsy.domain.tool import ToolDefinition

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
