"""A model call as a curl command that sends the same question to the vendor's plain HTTP API.

The command names each secret by the variable that holds it. It lacks what an SDK adds by itself (how long to think, signatures of earlier
thinking): it is the question, not a copy of the bytes.
"""

import json
import re
import shlex
from collections.abc import Sequence
from typing import Any, assert_never
from urllib.parse import quote

from tarsy.config.resolve.resolved import ResolvedProvider
from tarsy.config.schema.providers import USUAL_KEYS, USUAL_PROJECT
from tarsy.config.templates import text_and_names
from tarsy.domain.conversation import ConversationMessage, Role
from tarsy.domain.llm import ProviderType
from tarsy.domain.tool import ToolDefinition, vendor_name
from tarsy.llm.access import USUAL_LOCATION
from tarsy.llm.providers.anthropic_request import conversation_body
from tarsy.llm.tool_dialect import LOST_SIGNATURE, arguments_object, declaration, is_gemini_3

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# A login in an address is left out.
_USER = re.compile(r"(?<=://)[^/@]*@")
_ADDRESSES = {
    ProviderType.OPENAI: "https://api.openai.com/v1",
    ProviderType.XAI: "https://api.x.ai/v1",
    ProviderType.ANTHROPIC: "https://api.anthropic.com",
    ProviderType.GOOGLE: "https://generativelanguage.googleapis.com",
    ProviderType.VERTEXAI: "https://aiplatform.googleapis.com",
}
# The vendor requires a limit; every model of it can write this much.
_ANTHROPIC_ANSWER = 8_192
_ANTHROPIC_VERSION = "2023-06-01"
_VERTEX_VERSION = "vertex-2023-10-16"


Body = dict[str, Any]
Messages = Sequence[ConversationMessage]


def as_curl(provider: ResolvedProvider, messages: Messages, tools: Sequence[ToolDefinition]) -> str:
    """Return a command for a POSIX shell that sends this conversation, with these tools on offer.

    Raises:
        ValueError: the provider replays a recording, which no command can ask.
    """
    # The path of the address, the headers in the syntax of a shell, and the body.
    match provider.type:
        case ProviderType.OPENAI | ProviderType.XAI:
            path, headers, body = "/chat/completions", [_key(provider, "Authorization: Bearer ")], _openai(provider, messages, tools)
        case ProviderType.ANTHROPIC:
            headers = [_key(provider, "x-api-key: "), f"'anthropic-version: {_ANTHROPIC_VERSION}'"]
            path, body = "/v1/messages", _anthropic(provider, messages, tools)
        case ProviderType.GOOGLE:
            path = f"/v1beta/models/{quote(provider.model)}:generateContent"
            headers, body = [_key(provider, "x-goog-api-key: ")], _google(provider, messages, tools)
        case ProviderType.VERTEXAI:
            project, location = provider.project_env or USUAL_PROJECT, provider.location_env or USUAL_LOCATION
            path = f"/v1/projects/{{{{.{project}}}}}/locations/{{{{.{location}}}}}/publishers"
            headers = ['"Authorization: Bearer $(gcloud auth print-access-token)"']
            if "claude" in provider.model:
                path += f"/anthropic/models/{quote(provider.model)}:rawPredict"
                # The path has the model's name here.
                without_model = {name: value for name, value in _anthropic(provider, messages, tools).items() if name != "model"}
                body = {"anthropic_version": _VERTEX_VERSION, **without_model}
            else:
                path, body = f"{path}/google/models/{quote(provider.model)}:generateContent", _google(provider, messages, tools)
        case ProviderType.REPLAY:
            raise ValueError("a recording is played back; no model is called")
        case _:
            assert_never(provider.type)
    template = _USER.sub("", (provider.base_url or _ADDRESSES[provider.type]).rstrip("/") + path)
    # Every second part is the name of a variable, which the shell expands; it expands nothing else.
    parts = enumerate(text_and_names(template))
    address = "".join(f'"${{{part}}}"' if place % 2 else shlex.quote(part) for place, part in parts if part)
    lines = [f"  -H {header} \\" for header in ("'Content-Type: application/json'", *headers)]
    # The lines of the body begin with a brace or a space, so that none ends the here-document; the shell expands nothing in it.
    return "\n".join(
        [f"curl -sS {address} \\", *lines, "  --data-binary @- <<'JSON'", json.dumps(body, ensure_ascii=False, indent=1), "JSON", ""]
    )


def _key(provider: ResolvedProvider, header: str) -> str:
    named = provider.api_key_env or ""
    variable = named if _VARIABLE.fullmatch(named) else USUAL_KEYS[provider.type]
    return f'"{header}${variable}"'


def _openai(provider: ResolvedProvider, messages: Messages, tools: Sequence[ToolDefinition]) -> Body:
    entries: list[Body] = []
    for message in messages:
        entry: Body = {"role": message.role.value, "content": message.content}
        if message.tool_calls:
            entry["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": vendor_name(call.name), "arguments": call.arguments}}
                for call in message.tool_calls
            ]
        if message.role is Role.TOOL:
            entry["tool_call_id"] = message.tool_call_id
        entries.append(entry)
    declared = [{"type": "function", "function": declaration(tool, "parameters")} for tool in tools]
    return {"model": provider.model, "messages": entries, **({"tools": declared} if declared else {})}


def _anthropic(provider: ResolvedProvider, messages: Messages, tools: Sequence[ToolDefinition]) -> Body:
    return {"model": provider.model, "max_tokens": _ANTHROPIC_ANSWER, **conversation_body(messages, tools)}


def _google(provider: ResolvedProvider, messages: Messages, tools: Sequence[ToolDefinition]) -> Body:
    contents: list[Body] = []
    for message in messages:
        if message.role is Role.SYSTEM:
            continue
        role, parts = "model" if message.role is Role.ASSISTANT else "user", _google_parts(message, provider.model)
        # The sides have to alternate.
        if contents and contents[-1]["role"] == role:
            contents[-1]["parts"].extend(parts)
        elif parts:
            contents.append({"role": role, "parts": parts})
    system = "\n\n".join(message.content for message in messages if message.role is Role.SYSTEM)
    declared = [declaration(tool, "parametersJsonSchema") for tool in tools]
    return {
        "systemInstruction": {"parts": [{"text": system}]},
        "contents": contents,
        **({"tools": [{"functionDeclarations": declared}]} if declared else {}),
    }


def _google_parts(message: ConversationMessage, model: str) -> list[Body]:
    if message.role is Role.TOOL:
        return [{"functionResponse": {"name": vendor_name(message.tool_name or ""), "response": {"output": message.content}}}]
    text: list[Body] = [{"text": message.content}] if message.content else []
    calls: list[Body] = [
        {"functionCall": {"name": vendor_name(call.name), "args": arguments_object(call.arguments)}} for call in message.tool_calls
    ]
    if calls and is_gemini_3(model):
        calls[0]["thoughtSignature"] = LOST_SIGNATURE
    return [*text, *calls]
