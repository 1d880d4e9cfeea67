"""How tools are spoken: the one difference between models with function calling and models without."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Protocol

from tarsy.agent.model_call import ModelAnswer, TextRouter
from tarsy.agent.prompt.builder import PromptBuilder
from tarsy.agent.prompt.inputs import ChatPrompt
from tarsy.agent.repetition import Said
from tarsy.domain.conversation import ConversationMessage, Message, ToolCall
from tarsy.domain.tool import ToolDefinition


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
