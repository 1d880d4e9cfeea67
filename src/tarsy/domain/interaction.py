"""Interactions: model and tool calls as they were really made, failures included."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from tarsy.domain.usage import Price, TokenUsage


@dataclass(frozen=True, slots=True, kw_only=True)
class Interaction:
    """The common fields of model and tool calls."""

    id: str
    session_id: str
    stage_id: str | None
    execution_id: str
    error_message: str | None
    started_at: datetime
    duration_ms: int


class LLMInteractionKind(StrEnum):
    ITERATION = "iteration"
    FORCED_CONCLUSION = "forced_conclusion"
    # The one turn in which an agent may correct an answer whose check found mistakes.
    CORRECTION = "correction"
    SINGLE_SHOT = "single_shot"
    SUMMARIZATION = "summarization"
    # A model judges whether quotations support what they are cited for.
    SUPPORT = "support"


# Calls beside the conversation of an execution: they have turn numbers of their own.
SIDE_CALL_KINDS = frozenset({LLMInteractionKind.SUMMARIZATION, LLMInteractionKind.SUPPORT})


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMInteraction(Interaction):
    """One model call. It was sent the first `message_count` messages of the execution, unless `request` contains its own messages."""

    kind: LLMInteractionKind
    # The conversation and the number of the call in it: the key by which a recording is replayed.
    track: str
    turn: int
    provider: str
    model: str
    request_hash: str
    message_count: int
    request: Mapping[str, Any]
    # The chunks as received, with text merged: enough to replay the call.
    response: Mapping[str, Any] | None
    usage: TokenUsage
    error_code: str | None
    # Whether `usage` is an estimate: the call was cut off before the vendor reported it.
    usage_estimated: bool = False
    first_chunk_ms: int | None = None
    # At the time of the call; None: not known.
    price: Price | None = None
    # The id of the reservation that the actual use replaces.
    settles: str | None = None

    @property
    def cost_usd(self) -> Decimal | None:
        return self.price.cost(self.usage) if self.price else None


class MCPInteractionKind(StrEnum):
    TOOL_CALL = "tool_call"
    TOOL_LIST = "tool_list"


@dataclass(frozen=True, slots=True, kw_only=True)
class MCPInteraction(Interaction):
    """One exchange with a tool server, masked."""

    kind: MCPInteractionKind
    server: str
    tool: str | None
    call_id: str | None
    # The id by which agents cite the result; None for lists of tools.
    evidence_id: str | None = None
    arguments: str | None
    result: Mapping[str, Any] | None
    is_error: bool
