"""Our conversation as a request to Anthropic's Messages API. Without the SDK: the command that repeats a call (`curl`) is built by it too."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tarsy.domain.conversation import ConversationMessage, Role
from tarsy.domain.llm import GenerateInput
from tarsy.domain.tool import ToolDefinition, vendor_name
from tarsy.llm.providers.provider import Block, TurnMemory, conversation_of, output_token_limit, restored_blocks, turn_key
from tarsy.llm.tool_dialect import arguments_object, declaration

# Half of an answer at most goes to thinking where the vendor wants a number.
THINKING_BUDGET = 16_000
# The least the vendor accepts as a budget.
LEAST_THINKING = 1_024
_CLAUDE_VERSION = re.compile(r"claude-(?:opus|sonnet|haiku|fable|mythos)-(\d+)(?:-(\d{1,2}))?(?!\d)")
_CACHE = {"type": "ephemeral"}

# Returns the blocks with which a turn of the model came, if they are known.
Recall = Callable[[ConversationMessage], Sequence[Block] | None]


def request_body(
    request: GenerateInput, memory: TurnMemory[tuple[Block, ...]], *, profile: Mapping[str, Any], usual_length: int
) -> dict[str, Any]:
    """Build the body of a call; each earlier turn has the thinking blocks it came with.

    `profile` is LangChain's of the model, `usual_length` that of an answer which the caller does not limit.
    """

    def recall(message: ConversationMessage) -> tuple[Block, ...] | None:
        return memory.recall(conversation_of(request), turn_key(message))

    longest = output_token_limit(request, profile)
    body = {
        "model": request.provider.model,
        "max_tokens": longest or usual_length,
        **conversation_body(request.messages, request.tools, recall),
    }
    complete = _thinking_is_complete(request.messages, recall)
    if thinking := thinking_config(request.provider.model, profile, complete=complete, longest=longest):
        body["thinking"] = thinking
    return body


def conversation_body(
    messages: Sequence[ConversationMessage], tools: Sequence[ToolDefinition], recall: Recall = lambda _message: None
) -> dict[str, Any]:
    """Build the part of a body that holds the conversation and the tools."""
    system = [_text(message.content) for message in messages if message.role is Role.SYSTEM and message.content.strip()]
    turns: list[tuple[str, list[Block]]] = []
    for message in messages:
        role, blocks = _turn(message, recall(message) or ())
        # The model often writes line breaks before its calls, and the vendor refuses a text of nothing but white space.
        blocks = [block for block in blocks if block["type"] != "text" or block["text"].strip()]
        # The sides have to alternate: the results of parallel calls and the next question are one turn.
        if turns and turns[-1][0] == role == "user":
            turns[-1][1].extend(blocks)
        elif blocks:
            turns.append((role, blocks))
    # The next call begins with the same instructions and the same conversation: both are worth caching.
    if system:
        system[0]["cache_control"] = _CACHE
    if turns:
        _mark_for_caching(turns[-1][1][-1])
    body: dict[str, Any] = {
        # A turn of one plain text is sent as that text.
        "messages": [
            {"role": role, "content": blocks[0]["text"] if len(blocks) == 1 and set(blocks[0]) == {"type", "text"} else blocks}
            for role, blocks in turns
        ],
    }
    if system:
        body["system"] = system
    if tools:
        body["tools"] = [declaration(tool, "input_schema") for tool in tools]
    elif used := dict.fromkeys(call.name for message in messages for call in message.tool_calls):
        # The vendor refuses a conversation with calls in it that offers no tools at all, and a conclusion is asked for without any.
        body |= {"tools": [declaration(ToolDefinition(name), "input_schema") for name in used], "tool_choice": {"type": "none"}}
    return body


def _turn(message: ConversationMessage, remembered: Sequence[Block]) -> tuple[str, list[Block]]:
    match message.role:
        case Role.SYSTEM:
            return "system", []
        case Role.USER:
            return "user", [_text(message.content)]
        case Role.TOOL:
            result: Block = {"type": "tool_result", "tool_use_id": message.tool_call_id, "content": message.content, "is_error": False}
            return "user", [result]
        case Role.ASSISTANT:
            calls = {
                call.id: {"type": "tool_use", "id": call.id, "name": vendor_name(call.name), "input": arguments_object(call.arguments)}
                for call in message.tool_calls
            }
            if remembered:
                return "assistant", list(restored_blocks(message.content, calls, remembered))
            return "assistant", [_text(message.content), *calls.values()]


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _mark_for_caching(block: Block) -> None:
    """Ask the vendor to cache the conversation up to `block`; an empty one cannot be marked."""
    if block["type"] == "tool_result" and block["content"]:
        block |= {"content": [_text(block["content"])], "cache_control": _CACHE}
    elif block["type"] == "text" and block["text"]:
        block["cache_control"] = _CACHE


def claude_version(model: str) -> tuple[int, int]:
    found = _CLAUDE_VERSION.search(model)
    return (int(found.group(1)), int(found.group(2) or 0)) if found else (0, 0)


def thinking_config(model: str, profile: Mapping[str, Any], *, complete: bool, longest: int | None = None) -> dict[str, Any] | None:
    """Decide how the model thinks, if it does, in an answer of at most `longest` tokens.

    Where thinking has a budget, the vendor refuses an open turn whose thinking blocks are lost (not `complete`): such a turn does not think.
    """
    levels: list[str] = profile.get("reasoning_effort_levels") or []
    # The model itself chooses how much to think; the newest refuse a budget, and their profiles may lack the levels.
    if "max" in levels or claude_version(model) >= (4, 6):
        # The newest models show a summary of their thoughts only on request.
        return {"type": "adaptive", "display": "summarized"} if claude_version(model) >= (4, 7) else {"type": "adaptive"}
    limit = int(profile.get("max_output_tokens") or 0)
    budget = min(THINKING_BUDGET, min(limit, longest or limit) // 2)
    if not profile.get("reasoning_output") or not complete or budget < LEAST_THINKING:
        return None
    return {"type": "enabled", "budget_tokens": budget}


def _thinking_is_complete(messages: Sequence[ConversationMessage], recall: Recall) -> bool:
    """Return whether the thinking of every call since the last user message is still remembered."""
    for message in reversed(messages):
        if message.role is Role.USER:
            return True
        if message.role is Role.ASSISTANT and message.tool_calls and recall(message) is None:
            return False
    return True
