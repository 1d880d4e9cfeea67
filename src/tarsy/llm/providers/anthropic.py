"""Claude through Anthropic's own SDK, on Anthropic's API or on Vertex AI: thinking blocks and prompt caching."""

import json
import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import anthropic
from anthropic.lib.vertex import AsyncAnthropicVertex
from anthropic.types import RawMessageStreamEvent
from langchain_anthropic import ChatAnthropic
from pydantic import SecretStr

from tarsy.domain.conversation import ConversationMessage, Role
from tarsy.domain.llm import Chunk, GenerateInput, ProviderType, TextChunk, ThinkingChunk, ToolCallChunk
from tarsy.domain.tool import ToolDefinition, vendor_name
from tarsy.domain.usage import TokenUsage
from tarsy.llm.access import Access
from tarsy.llm.attempts import CallRetryPolicy, stream_answer
from tarsy.llm.failures import HOOKS
from tarsy.llm.providers.google_credentials import google_credentials
from tarsy.llm.providers.provider import (
    NO_KEY,
    Block,
    ClientCache,
    ModelKey,
    TurnMemory,
    conversation_of,
    key_of,
    longest_answer,
    restored_blocks,
    turn_key,
)
from tarsy.llm.signals import Alive, Finished, Signal
from tarsy.llm.tool_dialect import arguments_object, name_from_vendor, object_schema, own_call_id

# Half of an answer at most goes to thinking where the vendor wants a number.
THINKING_BUDGET = 16_000
# The least the vendor accepts as a budget.
LEAST_THINKING = 1_024
# Every model since version 4.5 can write this much; LangChain may not know the newest of them.
_LONG_ANSWER = 64_000
_CLAUDE_VERSION = re.compile(r"claude-(?:opus|sonnet|haiku|fable|mythos)-(\d+)(?:-(\d{1,2}))?(?!\d)")
_CACHE = {"type": "ephemeral"}
# The refusal of thinking blocks that do not fit the conversation any more.
_UNFIT_THINKING = re.compile(r"thinking`? block")


@dataclass(frozen=True, slots=True)
class ClaudeModel:
    """An SDK client with connections of its own, and LangChain's profile of the model it is used for."""

    sdk: Any
    profile: Mapping[str, Any]
    # The length of an answer that is not limited by its caller; the vendor wants to know one.
    usual_length: int

    async def aclose(self) -> None:
        await self.sdk.close()


def make_model(key: ModelKey) -> ClaudeModel:
    """Make the client for `key`.

    Raises:
        CredentialsMissingError: the credentials file cannot be used.
    """
    access = key.access
    # Time limits and retries are those of `attempts`.
    options: dict[str, Any] = {
        "base_url": access.base_url,
        "max_retries": 0,
        "timeout": None,
        "http_client": anthropic.DefaultAsyncHttpxClient(timeout=None, event_hooks=HOOKS),
    }
    if access.type is ProviderType.VERTEXAI:
        where: dict[str, Any] = {"project_id": access.project, "region": access.location, "credentials": google_credentials(access)}
        sdk: Any = AsyncAnthropicVertex(**where, **options)
    else:
        sdk = anthropic.AsyncAnthropic(api_key=access.api_key or NO_KEY, **options)
    # LangChain publishes what each model can do with its chat models, without the spelling of Vertex AI.
    name = key.model.removesuffix("@default").replace("@", "-")
    known = ChatAnthropic(model_name=name, api_key=SecretStr(NO_KEY), timeout=None, stop=None)
    profile: dict[str, Any] = {**(known.profile or {})}
    if _version(key.model) >= (4, 5):
        profile.setdefault("max_output_tokens", _LONG_ANSWER)
    return ClaudeModel(sdk, profile, profile.get("max_output_tokens") or known.max_tokens or 0)


def _version(model: str) -> tuple[int, int]:
    found = _CLAUDE_VERSION.search(model)
    return (int(found.group(1)), int(found.group(2) or 0)) if found else (0, 0)


class AnthropicProvider:
    def __init__(self, *, policy: CallRetryPolicy, memory: TurnMemory[tuple[Block, ...]] | None = None) -> None:
        self._policy = policy
        self._memory = memory or TurnMemory[tuple[Block, ...]]()
        self._models = ClientCache[ModelKey, ClaudeModel](make_model)

    async def generate(self, request: GenerateInput, access: Access) -> AsyncGenerator[Chunk]:
        if request.clear_cache:
            self._memory.forget(conversation_of(request))
        model = await self._models.get(ModelKey(access, request.provider.model))

        async def attempt() -> AsyncGenerator[Signal]:
            received = ClaudeAnswer(request.tools)
            async with await self._send(request, model) as events:
                async for event in events:
                    for signal in received.signals(event):
                        yield signal
            for signal in received.ending():
                yield signal
            if (turn := received.turn()) is not None:
                self._memory.keep(conversation_of(request), *turn)

        async with aclosing(stream_answer(attempt, request.provider, self._policy, access.censor)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _send(self, request: GenerateInput, model: ClaudeModel) -> Any:
        try:
            return await model.sdk.messages.create(**request_body(request, model, self._memory), stream=True)
        except anthropic.BadRequestError as error:
            if not _UNFIT_THINKING.search(error.message):
                raise
        # The newest models bind their thinking to the tools and messages before it, which change when a conversation is shortened or concluded.
        self._memory.forget(conversation_of(request))
        return await model.sdk.messages.create(**request_body(request, model, self._memory), stream=True)

    async def aclose(self) -> None:
        await self._models.aclose()


# ---- the request


def request_body(request: GenerateInput, model: ClaudeModel, memory: TurnMemory[tuple[Block, ...]]) -> dict[str, Any]:
    """Build the body of a call to the Messages API; each earlier turn has the thinking blocks it came with."""
    system = [_text(message.content) for message in request.messages if message.role is Role.SYSTEM and message.content.strip()]
    turns: list[tuple[str, list[Block]]] = []
    for message in request.messages:
        role, blocks = _turn(message, memory.recall(conversation_of(request), turn_key(message)) or ())
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
    longest = longest_answer(request, model.profile)
    body: dict[str, Any] = {
        "model": request.provider.model,
        "max_tokens": longest or model.usual_length,
        # A turn of one plain text is sent as that text.
        "messages": [
            {"role": role, "content": blocks[0]["text"] if len(blocks) == 1 and set(blocks[0]) == {"type", "text"} else blocks}
            for role, blocks in turns
        ],
    }
    if system:
        body["system"] = system
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    elif used := dict.fromkeys(call.name for message in request.messages for call in message.tool_calls):
        # The vendor refuses a conversation with calls in it that offers no tools at all, and a conclusion is asked for without any.
        body |= {"tools": [_tool(ToolDefinition(name)) for name in used], "tool_choice": {"type": "none"}}
    complete = _thinking_is_complete(request, memory)
    if thinking := thinking_config(request.provider.model, model.profile, complete=complete, longest=longest):
        body["thinking"] = thinking
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


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    return {"name": vendor_name(tool.name), "description": tool.description, "input_schema": object_schema(tool.parameters_schema)}


def _mark_for_caching(block: Block) -> None:
    """Ask the vendor to cache the conversation up to `block`; an empty one cannot be marked."""
    if block["type"] == "tool_result" and block["content"]:
        block |= {"content": [_text(block["content"])], "cache_control": _CACHE}
    elif block["type"] == "text" and block["text"]:
        block["cache_control"] = _CACHE


def thinking_config(model: str, profile: Mapping[str, Any], *, complete: bool, longest: int | None = None) -> dict[str, Any] | None:
    """Decide how the model thinks, if it does, in an answer of at most `longest` tokens.

    Where thinking has a budget, the vendor refuses an open turn whose thinking blocks are lost (not `complete`): such a turn does not think.
    """
    levels: list[str] = profile.get("reasoning_effort_levels") or []
    # The model itself chooses how much to think; the newest refuse a budget, and their profiles may lack the levels.
    if "max" in levels or _version(model) >= (4, 6):
        # The newest models show a summary of their thoughts only on request.
        return {"type": "adaptive", "display": "summarized"} if _version(model) >= (4, 7) else {"type": "adaptive"}
    limit = int(profile.get("max_output_tokens") or 0)
    budget = min(THINKING_BUDGET, min(limit, longest or limit) // 2)
    if not profile.get("reasoning_output") or not complete or budget < LEAST_THINKING:
        return None
    return {"type": "enabled", "budget_tokens": budget}


def _thinking_is_complete(request: GenerateInput, memory: TurnMemory[tuple[Block, ...]]) -> bool:
    """Return whether the thinking of every call since the last user message is still remembered."""
    for message in reversed(request.messages):
        if message.role is Role.USER:
            return True
        if message.role is Role.ASSISTANT and message.tool_calls and memory.recall(conversation_of(request), turn_key(message)) is None:
            return False
    return True


# ---- the answer


@dataclass(slots=True)
class _Call:
    id: str
    name: str
    arguments: str


class ClaudeAnswer:
    """One answer while it arrives: translates each event into signals and keeps the blocks to send back."""

    def __init__(self, tools: Sequence[ToolDefinition]) -> None:
        self._tools = tools
        self._calls: dict[int, _Call] = {}
        self._blocks: dict[int, Block] = {}
        self._input = TokenUsage()
        self._finished: Finished | None = None

    def signals(self, event: RawMessageStreamEvent) -> Iterator[Signal]:
        yield Alive.SIGN
        match event.type:
            case "message_start":
                self._input = _usage(event.message.usage)
            case "content_block_start":
                yield from self._start(event.index, event.content_block)
            case "content_block_delta":
                yield from self._delta(event.index, event.delta)
            case "message_delta":
                usage = _usage(event.usage)
                # Compatible servers report the input tokens only in the first event.
                given = max(usage.input_tokens, self._input.input_tokens)
                cached = max(usage.cached_tokens, self._input.cached_tokens)
                yield TokenUsage(given, usage.output_tokens, given + usage.output_tokens, usage.thinking_tokens, cached)
                if event.delta.stop_reason:
                    self._finished = Finished(event.delta.stop_reason.lower())
            case _:
                pass

    def ending(self) -> Iterator[Signal]:
        """Yield the signals that are certain only when the stream is over."""
        if self._finished is not None:
            for call in self._calls.values():
                yield ToolCallChunk(call.id, name_from_vendor(call.name, self._tools), call.arguments or "{}")
            yield self._finished

    def turn(self) -> tuple[str, tuple[Block, ...]] | None:
        """Return the turn's key and its blocks, or None if there is no thinking to send back."""
        if self._finished is None or all(block["type"] in {"text", "tool_use"} for block in self._blocks.values()):
            return None
        text = "".join(block["text"] for block in self._blocks.values() if block["type"] == "text")
        return key_of(tuple(call.id for call in self._calls.values()), text), tuple(self._blocks.values())

    def _start(self, index: int, block: Any) -> Iterator[Signal]:
        match block.type:
            case "text":
                self._blocks[index] = {"type": "text", "text": ""}
                yield from self._append(index, "text", block.text or "")
            case "thinking":
                self._blocks[index] = {"type": "thinking", "thinking": "", "signature": block.signature or ""}
                yield from self._append(index, "thinking", block.thinking or "")
            case "redacted_thinking":
                self._blocks[index] = {"type": "redacted_thinking", "data": block.data}
            case "tool_use":
                # Compatible servers may give no id, or the same one twice.
                taken = not block.id or any(call.id == block.id for call in self._calls.values())
                call = _Call(own_call_id() if taken else block.id, block.name, json.dumps(block.input) if block.input else "")
                self._calls[index] = call
                self._blocks[index] = {"type": "tool_use", "call_id": call.id}
            case _:
                pass

    def _delta(self, index: int, delta: Any) -> Iterator[Signal]:
        match delta.type:
            case "text_delta":
                yield from self._append(index, "text", delta.text)
            case "thinking_delta":
                yield from self._append(index, "thinking", delta.thinking)
            case "signature_delta":
                self._blocks[index]["signature"] = delta.signature
            case "input_json_delta" if index in self._calls:
                self._calls[index].arguments += delta.partial_json
            case _:
                pass

    def _append(self, index: int, name: str, piece: str) -> Iterator[Signal]:
        if piece:
            self._blocks[index][name] += piece
            yield ThinkingChunk(piece) if name == "thinking" else TextChunk(piece)


def _usage(usage: Any) -> TokenUsage:
    """Count cached tokens as input, which the vendor reports beside it, and thinking as part of the output."""
    cached = getattr(usage, "cache_read_input_tokens", None) or 0
    given = (getattr(usage, "input_tokens", None) or 0) + cached + (getattr(usage, "cache_creation_input_tokens", None) or 0)
    made = getattr(usage, "output_tokens", None) or 0
    thinking = getattr(getattr(usage, "output_tokens_details", None), "thinking_tokens", None) or 0
    return TokenUsage(given, made, given + made, thinking, cached)
