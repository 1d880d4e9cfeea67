"""The fingerprint of what a model was asked. Pure: the same question gives the same hash in every run and on every machine."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson

from tarsy.domain.conversation import ConversationMessage
from tarsy.domain.llm import GenerateInput
from tarsy.domain.tool import ToolDefinition


def request_hash(request: GenerateInput) -> str:
    """Hash the messages, the tools on offer and the model; nothing that differs between two runs of the same conversation."""
    messages, model = list(_messages(request.messages)), request.provider.model
    tools = _offered(_Offer(request.tools))
    try:
        # The same bytes ten times sooner: there are no fractions in messages, which the two would write differently.
        said = orjson.dumps(messages, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        said = _canonical(messages)
    return hashlib.sha256(b'{"messages":%b,"model":%b,"tools":%b}' % (said, _canonical(model), tools)).hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class _Offer:
    """Tools that are offered. An agent is offered the very same ones with each call, and only itself is told from others."""

    tools: Sequence[ToolDefinition]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Offer) and self.tools is other.tools

    def __hash__(self) -> int:
        return id(self.tools)


# The newest: they are large.
@lru_cache(maxsize=8)
def _offered(offer: _Offer) -> bytes:
    return _canonical([_tool(tool) for tool in offer.tools])


def _canonical(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")


def _messages(messages: Iterable[ConversationMessage]) -> Iterable[Mapping[str, Any]]:
    # Call ids are made up anew by some vendors: only which result belongs to which call counts.
    ordinals: dict[str, int] = {}

    def ordinal(call_id: str) -> int:
        return ordinals.setdefault(call_id, len(ordinals))

    for message in messages:
        yield {
            "role": message.role.value,
            "content": message.content,
            "tool_calls": [[ordinal(call.id), call.name, call.arguments] for call in message.tool_calls],
            "tool_call": None if message.tool_call_id is None else ordinal(message.tool_call_id),
            "tool_name": message.tool_name,
        }


def _tool(tool: ToolDefinition) -> Mapping[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters_schema": tool.parameters_schema}
