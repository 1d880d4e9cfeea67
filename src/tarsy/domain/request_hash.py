"""The fingerprint of what a model was asked. Pure: the same question gives the same hash in every run and on every machine."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from tarsy.domain.conversation import ConversationMessage
from tarsy.domain.llm import GenerateInput
from tarsy.domain.tool import ToolDefinition


def request_hash(request: GenerateInput) -> str:
    """Hash the messages, the tools on offer and the model; nothing that differs between two runs of the same conversation."""
    question = {
        "model": request.provider.model,
        "messages": list(_messages(request.messages)),
        "tools": [_tool(tool) for tool in request.tools],
    }
    canonical = json.dumps(question, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


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
