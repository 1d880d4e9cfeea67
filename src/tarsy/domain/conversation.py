"""The conversation with a model: roles, messages and tool calls."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Role(StrEnum):
    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's request to run a tool; `arguments` is the text as the model wrote it, usually JSON."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ConversationMessage:
    """One message as it is sent to a model."""

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    tool_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A stored message. `sequence_number` orders the conversation of an execution, without gaps."""

    id: str
    execution_id: str
    sequence_number: int
    body: ConversationMessage
    created_at: datetime
