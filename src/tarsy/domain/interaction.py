"""What really went over the wire, failures included."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from tarsy.domain.usage import Price, TokenUsage


@dataclass(frozen=True, slots=True, kw_only=True)
class Interaction:
    """What calls of models and of tools have in common."""

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
    # The one turn in which an answer that did not stand up to checking may be mended.
    CORRECTION = "correction"
    SINGLE_SHOT = "single_shot"
    SUMMARIZATION = "summarization"


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMInteraction(Interaction):
    """One model call. The conversation it was sent is the execution's first `message_count` messages, unless `request` says otherwise."""

    kind: LLMInteractionKind
    # Which call of which conversation this was: the key a recording is replayed by.
    track: str
    turn: int
    provider: str
    model: str
    request_hash: str
    message_count: int
    request: Mapping[str, Any]
    # The chunks as they came, text merged: enough to play the call again.
    response: Mapping[str, Any] | None
    usage: TokenUsage
    error_code: str | None
    first_chunk_ms: int | None = None
    # As it was when the call was made; None: not known.
    price: Price | None = None
    # The reservation that its use takes the place of.
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
    # By which agents cite the result; None for lists of tools.
    evidence_id: str | None = None
    arguments: str | None
    result: Mapping[str, Any] | None
    is_error: bool
