"""Our conversation in LangChain's terms, with what each vendor wants back from earlier turns. Pure; imported on first use."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, assert_never, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from tarsy.domain.conversation import ConversationMessage, Role, ToolCall
from tarsy.domain.llm import GenerateInput
from tarsy.domain.tool import ToolDefinition, vendor_name
from tarsy.llm.providers.langchain_models import Dialect
from tarsy.llm.providers.provider import TurnMemory, turn_key
from tarsy.llm.tool_dialect import arguments_object, object_schema

Block = dict[str, Any]

# Half of it at most goes to thinking where a model must be given a number.
_THINKING_BUDGET = 16_000
# What the vendor takes for a budget at least.
_LEAST_THINKING = 1_024
# What a model can say at once that the library has no profile of.
_MODEST_ANSWER = 8_192
_CLAUDE_VERSION = re.compile(r"claude-(?:opus|sonnet|haiku|fable|mythos)-(\d+)(?:-(\d{1,2}))?(?!\d)")
_CACHE: Mapping[str, str] = {"type": "ephemeral"}
CALL_BLOCKS = {"tool_use", "function_call"}


@dataclass(frozen=True, slots=True)
class Remembered:
    """One turn as its vendor said it: blocks in their order, sealed ones included, and what LangChain carries beside them."""

    blocks: tuple[Block, ...] = ()
    beside: Mapping[str, Any] = field(default_factory=dict[str, Any])


def messages(request: GenerateInput, dialect: Dialect, memory: TurnMemory[Remembered]) -> list[BaseMessage]:
    """The conversation, each earlier turn as its vendor wants to see it again."""
    built = [_message(message, request.execution_id, dialect, memory) for message in request.messages]
    if dialect is Dialect.ANTHROPIC:
        _mark_for_caching(built)
    return built


def _message(message: ConversationMessage, execution_id: str, dialect: Dialect, memory: TurnMemory[Remembered]) -> BaseMessage:
    match message.role:
        case Role.SYSTEM:
            return SystemMessage(message.content)
        case Role.USER:
            return HumanMessage(message.content)
        case Role.ASSISTANT:
            remembered = memory.recall(execution_id, turn_key(message))
            return _assistant(message, remembered or Remembered(), dialect)
        case Role.TOOL:
            return ToolMessage(message.content, tool_call_id=message.tool_call_id or "", name=vendor_name(message.tool_name or ""))
        case _:
            assert_never(message.role)


def _assistant(message: ConversationMessage, remembered: Remembered, dialect: Dialect) -> AIMessage:
    calls: Any = [{"name": vendor_name(call.name), "args": arguments_object(call.arguments), "id": call.id} for call in message.tool_calls]
    content: Any = list(_restored(message, remembered.blocks)) if remembered.blocks else message.content
    provider = {Dialect.ANTHROPIC: "anthropic", Dialect.GOOGLE: "google_genai"}.get(dialect, "openai")
    return AIMessage(
        content=content, tool_calls=calls, additional_kwargs=dict(remembered.beside), response_metadata={"model_provider": provider}
    )


def _restored(message: ConversationMessage, blocks: Sequence[Block]) -> Iterator[Block]:
    """The remembered blocks around today's words and arguments: these may have been masked since."""
    same = "".join(block["text"] for block in blocks if block["type"] == "text") == message.content
    calls = {call.id: call for call in message.tool_calls}
    said = False
    for block in blocks:
        if block["type"] == "text":
            if same or not said:
                yield block if same else {**block, "text": message.content}
            said = True
        elif block["type"] in CALL_BLOCKS:
            call = calls.get(block["call_id"])
            if call is not None:
                yield _call_block(block["type"], call)
        else:
            yield dict(block)


def _call_block(kind: str, call: ToolCall) -> Block:
    name = vendor_name(call.name)
    if kind == "function_call":
        return {"type": kind, "call_id": call.id, "name": name, "arguments": call.arguments}
    return {"type": kind, "id": call.id, "name": name, "input": arguments_object(call.arguments)}


def _mark_for_caching(built: list[BaseMessage]) -> None:
    """Ask for the tools and instructions, and for the conversation so far, to be kept: the next turn begins with both."""
    first = next((place for place, message in enumerate(built) if isinstance(message, SystemMessage)), None)
    last = len(built) - 1
    for place in {first, last} - {None}:
        message = built[cast("int", place)]
        content: Any = message.content
        if isinstance(content, str) and content:
            marked: Any = [{"type": "text", "text": content, "cache_control": dict(_CACHE)}]
            built[cast("int", place)] = message.model_copy(update={"content": marked})


def tools(definitions: Sequence[ToolDefinition]) -> list[dict[str, Any]]:
    return [
        {
            "type": "function",
            "function": {
                "name": vendor_name(tool.name),
                "description": tool.description,
                "parameters": object_schema(tool.parameters_schema),
            },
        }
        for tool in definitions
    ]


def used_tools(conversation: Sequence[ConversationMessage]) -> list[dict[str, Any]]:
    """The tools that a conversation has called, as far as it tells of them."""
    names = dict.fromkeys(call.name for message in conversation for call in message.tool_calls)
    return tools([ToolDefinition(name, "") for name in names])


def options(
    request: GenerateInput, dialect: Dialect, chat: BaseChatModel, memory: TurnMemory[Remembered], *, summaries: bool = True
) -> dict[str, Any]:
    """What goes along with this call only. Without `summaries`, a model behind the Responses API keeps its thoughts to itself."""
    profile = cast("Mapping[str, Any]", chat.profile or {})
    longest = longest_answer(request, profile)
    match dialect:
        case Dialect.ANTHROPIC:
            complete = _thinking_is_complete(request, memory)
            thinking = anthropic_thinking(request.provider.model, profile, complete=complete, longest=longest)
            return {**({"thinking": thinking} if thinking else {}), **_named("max_tokens", longest)}
        case Dialect.RESPONSES:
            reasoning = {"reasoning": {"summary": "auto"}} if summaries else {}
            return {"prompt_cache_key": request.execution_id, **reasoning, **_named("max_tokens", longest)}
        case Dialect.CHAT_COMPLETIONS:
            return _named("max_tokens", longest)
        case Dialect.GOOGLE:
            return _named("max_output_tokens", longest)
        case _:
            assert_never(dialect)


def longest_answer(request: GenerateInput, profile: Mapping[str, Any]) -> int | None:
    """What may be asked of this model, where the call is limited: vendors refuse a limit beyond what their model can say."""
    if request.max_output_tokens is None:
        return None
    return min(request.max_output_tokens, int(profile.get("max_output_tokens") or _MODEST_ANSWER))


def _named(name: str, limit: int | None) -> dict[str, Any]:
    return {} if limit is None else {name: limit}


def anthropic_thinking(model: str, profile: Mapping[str, Any], *, complete: bool, longest: int | None = None) -> dict[str, Any] | None:
    """How this model thinks, if it does, in an answer of at most `longest` tokens.

    Where thinking has a budget, an open turn without its thinking blocks is refused: better not think.
    """
    if _is_adaptive(model, profile):
        # The newest show a summary of their thoughts only when asked for it.
        return {"type": "adaptive", "display": "summarized"} if _version(model) >= (4, 7) else {"type": "adaptive"}
    limit = int(profile.get("max_output_tokens") or 0)
    budget = min(_THINKING_BUDGET, min(limit, longest or limit) // 2)
    if not profile.get("reasoning_output") or not complete or budget < _LEAST_THINKING:
        return None
    return {"type": "enabled", "budget_tokens": budget}


def _is_adaptive(model: str, profile: Mapping[str, Any]) -> bool:
    """Whether the model itself chooses how much to think; one that the library has no profile of is judged by its version."""
    levels: list[str] = profile.get("reasoning_effort_levels") or []
    return "max" in levels or (not profile and _version(model) >= (4, 6))


def _version(model: str) -> tuple[int, int]:
    found = _CLAUDE_VERSION.search(model)
    return (int(found.group(1)), int(found.group(2) or 0)) if found else (0, 0)


def _thinking_is_complete(request: GenerateInput, memory: TurnMemory[Remembered]) -> bool:
    """Whether every call since the user last spoke still has its thinking."""
    for message in reversed(request.messages):
        if message.role is Role.USER:
            return True
        if message.role is Role.ASSISTANT and message.tool_calls and memory.recall(request.execution_id, turn_key(message)) is None:
            return False
    return True
