"""Function calling: tools are bound definitions, calls are structured, results have a role of their own."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from itertools import chain, count

from tarsy.agent.controllers.speech import GivesAnswer, MakesNoSense, PendingCall, Turn, WantsTools
from tarsy.agent.model_call import ModelAnswer, TextRouter, WholeText
from tarsy.agent.prompt.builder import PromptBuilder, is_compaction_pointer
from tarsy.agent.prompt.inputs import ChatPrompt
from tarsy.agent.prompt.nudges import empty_answer_nudge
from tarsy.agent.repetition import Said
from tarsy.domain.conversation import ConversationMessage, Message, Role, ToolCall
from tarsy.domain.timeline import TimelineEventType
from tarsy.domain.tool import ToolCalling, ToolDefinition


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
