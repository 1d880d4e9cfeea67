"""Pure module: what a model was asked, as a command that asks its vendor's plain HTTP interface the same.

The command names every secret by the variable that holds it. Of what an SDK adds by itself (how long to think, signatures of earlier thoughts) it
holds nothing: it is the question, not a copy of the bytes.
"""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, assert_never
from urllib.parse import quote

from tarsy.config.resolve.resolved import ResolvedProvider
from tarsy.config.schema.providers import USUAL_KEYS, USUAL_PROJECT
from tarsy.config.templates import text_and_names
from tarsy.domain.conversation import ConversationMessage, Role, ToolCall
from tarsy.domain.llm import ProviderType
from tarsy.domain.tool import ToolDefinition, vendor_name
from tarsy.llm.access import USUAL_LOCATION
from tarsy.llm.tool_dialect import arguments_object, object_schema

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# A name and a password that an operator writes into an address are meant for the server alone.
_USER = re.compile(r"(?<=://)[^/@]*@")
_ADDRESSES = {
    ProviderType.OPENAI: "https://api.openai.com/v1",
    ProviderType.XAI: "https://api.x.ai/v1",
    ProviderType.ANTHROPIC: "https://api.anthropic.com",
    ProviderType.GOOGLE: "https://generativelanguage.googleapis.com",
    ProviderType.VERTEXAI: "https://aiplatform.googleapis.com",
}
# The vendor wants to be told how long an answer may be; what every model of it can say.
_ANTHROPIC_ANSWER = 8_192
_ANTHROPIC_VERSION = "2023-06-01"
_VERTEX_VERSION = "vertex-2023-10-16"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The conversation of a call, and the tools on offer."""

    messages: Sequence[ConversationMessage]
    tools: Sequence[ToolDefinition] = ()


@dataclass(frozen=True, slots=True)
class _Request:
    # In the syntax of a shell, as are the values of the headers.
    address: str
    headers: Sequence[str]
    body: Mapping[str, Any]


def as_curl(provider: ResolvedProvider, asked: Asked) -> str:
    """A command for a POSIX shell.

    Raises:
        ValueError: the provider plays a recording, which no command can ask.
    """
    request = _request(provider, asked)
    headers = [f"  -H {header} \\" for header in ("'Content-Type: application/json'", *request.headers)]
    # Its lines begin with a brace or a space, so that none can be taken for the end; and nothing in it is a shell's to read.
    body = json.dumps(request.body, ensure_ascii=False, indent=1)
    return "\n".join([f"curl -sS {request.address} \\", *headers, "  --data-binary @- <<'JSON'", body, "JSON", ""])


def _request(provider: ResolvedProvider, asked: Asked) -> _Request:
    match provider.type:
        case ProviderType.OPENAI | ProviderType.XAI:
            return _Request(_address(provider, "/chat/completions"), [_key(provider, "Authorization: Bearer ")], _openai(provider, asked))
        case ProviderType.ANTHROPIC:
            version = f"'anthropic-version: {_ANTHROPIC_VERSION}'"
            return _Request(_address(provider, "/v1/messages"), [_key(provider, "x-api-key: "), version], _anthropic(provider, asked))
        case ProviderType.GOOGLE:
            path = f"/v1beta/models/{quote(provider.model)}:generateContent"
            return _Request(_address(provider, path), [_key(provider, "x-goog-api-key: ")], _google(asked))
        case ProviderType.VERTEXAI:
            return _vertex(provider, asked)
        case ProviderType.REPLAY:
            raise ValueError("a recording is played, not asked")
        case _:
            assert_never(provider.type)


def _address(provider: ResolvedProvider, path: str) -> str:
    return _shell((provider.base_url or _ADDRESSES[provider.type]).rstrip("/") + path)


def _vertex(provider: ResolvedProvider, asked: Asked) -> _Request:
    """Google's models and those of another vendor, whose bodies are its own but for the model's name."""
    caller = '"Authorization: Bearer $(gcloud auth print-access-token)"'
    project, location = provider.project_env or USUAL_PROJECT, provider.location_env or USUAL_LOCATION
    place = f"/v1/projects/{{{{.{project}}}}}/locations/{{{{.{location}}}}}/publishers"
    model = quote(provider.model)
    if "claude" not in provider.model:
        return _Request(_address(provider, f"{place}/google/models/{model}:generateContent"), [caller], _google(asked))
    body = {name: value for name, value in _anthropic(provider, asked).items() if name != "model"}
    address = _address(provider, f"{place}/anthropic/models/{model}:rawPredict")
    return _Request(address, [caller], {"anthropic_version": _VERTEX_VERSION, **body})


def _shell(template: str) -> str:
    """A value in which variables are left to the shell, and nothing else is."""
    parts = text_and_names(_USER.sub("", template))
    # Every second part is the name of a variable.
    return "".join(f'"${{{part}}}"' if place % 2 else shlex.quote(part) for place, part in enumerate(parts) if part)


def _key(provider: ResolvedProvider, header: str) -> str:
    named = provider.api_key_env or ""
    variable = named if _VARIABLE.fullmatch(named) else USUAL_KEYS[provider.type]
    return f'"{header}${variable}"'


def _openai(provider: ResolvedProvider, asked: Asked) -> dict[str, Any]:
    tools = [
        {"type": "function", "function": {**_described(tool), "parameters": object_schema(tool.parameters_schema)}} for tool in asked.tools
    ]
    messages = [_openai_message(message) for message in asked.messages]
    return {"model": provider.model, "messages": messages, **({"tools": tools} if tools else {})}


def _openai_message(message: ConversationMessage) -> dict[str, Any]:
    told: dict[str, Any] = {"role": message.role.value, "content": message.content}
    if message.tool_calls:
        told["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": vendor_name(call.name), "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    return told | ({"tool_call_id": message.tool_call_id} if message.role is Role.TOOL else {})


def _described(tool: ToolDefinition) -> dict[str, Any]:
    return {"name": vendor_name(tool.name), "description": tool.description}


def _anthropic(provider: ResolvedProvider, asked: Asked) -> dict[str, Any]:
    tools = [{**_described(tool), "input_schema": object_schema(tool.parameters_schema)} for tool in asked.tools]
    turns = _turns(
        [(_anthropic_role(message), _anthropic_blocks(message)) for message in asked.messages if message.role is not Role.SYSTEM]
    )
    return {
        "model": provider.model,
        "max_tokens": _ANTHROPIC_ANSWER,
        "system": _system(asked),
        "messages": [{"role": role, "content": blocks} for role, blocks in turns],
        **({"tools": tools} if tools else {}),
    }


def _anthropic_role(message: ConversationMessage) -> str:
    return "assistant" if message.role is Role.ASSISTANT else "user"


def _anthropic_blocks(message: ConversationMessage) -> list[dict[str, Any]]:
    if message.role is Role.TOOL:
        return [{"type": "tool_result", "tool_use_id": message.tool_call_id, "content": message.content}]
    text = [{"type": "text", "text": message.content}] if message.content else []
    return [*text, *({"type": "tool_use", **_called(call)} for call in message.tool_calls)]


def _google(asked: Asked) -> dict[str, Any]:
    turns = _turns([(_google_role(message), _google_parts(message)) for message in asked.messages if message.role is not Role.SYSTEM])
    declared = [{**_described(tool), "parametersJsonSchema": object_schema(tool.parameters_schema)} for tool in asked.tools]
    return {
        "systemInstruction": {"parts": [{"text": _system(asked)}]},
        "contents": [{"role": role, "parts": parts} for role, parts in turns],
        **({"tools": [{"functionDeclarations": declared}]} if declared else {}),
    }


def _google_role(message: ConversationMessage) -> str:
    return "model" if message.role is Role.ASSISTANT else "user"


def _google_parts(message: ConversationMessage) -> list[dict[str, Any]]:
    if message.role is Role.TOOL:
        return [{"functionResponse": {"name": vendor_name(message.tool_name or ""), "response": {"output": message.content}}}]
    text = [{"text": message.content}] if message.content else []
    return [
        *text,
        *({"functionCall": {"name": vendor_name(call.name), "args": arguments_object(call.arguments)}} for call in message.tool_calls),
    ]


def _called(call: ToolCall) -> dict[str, Any]:
    return {"id": call.id, "name": vendor_name(call.name), "input": arguments_object(call.arguments)}


def _system(asked: Asked) -> str:
    return "\n\n".join(message.content for message in asked.messages if message.role is Role.SYSTEM)


def _turns(said: Sequence[tuple[str, list[dict[str, Any]]]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """What one side said in a row is one turn of it: vendors want the sides to take turns."""
    turns: list[tuple[str, list[dict[str, Any]]]] = []
    for role, parts in said:
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(parts)
        elif parts:
            turns.append((role, list(parts)))
    return turns
