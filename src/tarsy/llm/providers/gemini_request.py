"""Our conversation as Gemini's request."""

import base64
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, assert_never, cast

from google.genai import types

from tarsy.domain.conversation import Role
from tarsy.domain.llm import GenerateInput, LLMBackend
from tarsy.domain.tool import ToolDefinition, vendor_name
from tarsy.llm.providers.provider import TurnMemory, conversation_of, turn_key
from tarsy.llm.tool_dialect import LOST_SIGNATURE, arguments_object, declaration, is_gemini_3, is_own_call_id

# The SDK encodes the field as URL-safe base64, so these bytes put exactly the documented words on the wire.
_LOST_SIGNATURE = base64.urlsafe_b64decode(LOST_SIGNATURE)

_SHORT_ANSWER = 8_192
_BUDGET_PRO = 32768
_BUDGET = 24576


@dataclass(frozen=True, slots=True)
class Signatures:
    """The thought signatures of one turn: of its calls, by id, and of its text."""

    calls: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    text: bytes | None = None


def thinking_config(model: str, longest: int | None = None) -> types.ThinkingConfig:
    """Return how much a model may think: at most half of an answer that is limited to `longest` tokens."""
    if is_gemini_3(model):
        return types.ThinkingConfig(include_thoughts=True, thinking_level=types.ThinkingLevel.HIGH)
    budget = _BUDGET_PRO if "2.5-pro" in model else _BUDGET
    return types.ThinkingConfig(include_thoughts=True, thinking_budget=min(budget, longest // 2) if longest else budget)


def answer_limit(request: GenerateInput) -> int | None:
    """Return the limit to send, or None if the call is not limited. Models before 2.5 refuse a limit above their own."""
    model = request.provider.model
    if request.max_output_tokens is None or is_gemini_3(model) or "gemini-2.5" in model:
        return request.max_output_tokens
    return min(request.max_output_tokens, _SHORT_ANSWER)


def native_tool_names(request: GenerateInput) -> Sequence[str]:
    """Return the names of the enabled tools that Google runs itself; only the backend `native-gemini` offers them."""
    if request.backend is not LLMBackend.NATIVE_GEMINI:
        return ()
    return [name for name, enabled in request.provider.native_tools.items() if enabled]


def native_tools(names: Collection[str]) -> list[types.Tool]:
    tools = {
        "google_search": types.Tool(google_search=types.GoogleSearch()),
        "code_execution": types.Tool(code_execution=types.ToolCodeExecution()),
        "url_context": types.Tool(url_context=types.UrlContext()),
    }
    return [tool for name, tool in tools.items() if name in names]


def function_tools(tools: Iterable[ToolDefinition]) -> list[types.Tool]:
    declarations = [types.FunctionDeclaration(**declaration(tool, "parameters_json_schema")) for tool in tools]
    return [types.Tool(function_declarations=declarations)] if declarations else []


def config(request: GenerateInput) -> types.GenerateContentConfig:
    """Build everything but the conversation. Google's own tools cannot be combined with function calls, which take precedence."""
    system = "\n\n".join(message.content for message in request.messages if message.role is Role.SYSTEM)
    tools = function_tools(request.tools) or native_tools(native_tool_names(request))
    return types.GenerateContentConfig(
        system_instruction=system or None,
        tools=cast("list[Any]", tools) or None,
        thinking_config=thinking_config(request.provider.model, answer_limit(request)),
        max_output_tokens=answer_limit(request),
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )


def contents(request: GenerateInput, memory: TurnMemory[Signatures]) -> list[types.Content]:
    """Build the conversation, with each signature on the part that it came with."""
    placeholder = _LOST_SIGNATURE if is_gemini_3(request.provider.model) else None
    built: list[types.Content] = []
    for message in request.messages:
        match message.role:
            case Role.SYSTEM:
                continue
            case Role.USER:
                built.append(types.Content(role="user", parts=[types.Part(text=message.content)]))
            case Role.ASSISTANT:
                signatures = memory.recall(conversation_of(request), turn_key(message)) or Signatures()
                parts: list[types.Part] = []
                if message.content or not message.tool_calls:
                    parts.append(types.Part(text=message.content, thought_signature=signatures.text))
                for position, call in enumerate(message.tool_calls):
                    # Of parallel calls only the first has a signature.
                    signature = placeholder if position == 0 and not signatures.calls else signatures.calls.get(call.id)
                    function = types.FunctionCall(id=_sent_id(call.id), name=vendor_name(call.name), args=arguments_object(call.arguments))
                    parts.append(types.Part(function_call=function, thought_signature=signature))
                built.append(types.Content(role="model", parts=parts))
            case Role.TOOL:
                response = types.FunctionResponse(
                    id=_sent_id(message.tool_call_id or ""), name=vendor_name(message.tool_name or ""), response={"output": message.content}
                )
                part = types.Part(function_response=response)
                last = built[-1] if built else None
                # The results of parallel calls belong into one turn.
                if last is not None and last.role == "user" and last.parts and all(known.function_response for known in last.parts):
                    last.parts.append(part)
                else:
                    built.append(types.Content(role="user", parts=[part]))
            case _:
                assert_never(message.role)
    return built


def _sent_id(call_id: str) -> str | None:
    return None if not call_id or is_own_call_id(call_id) else call_id
