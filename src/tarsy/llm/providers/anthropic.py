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

from tarsy.domain.llm import Chunk, GenerateInput, ProviderType, TextChunk, ThinkingChunk, ToolCallChunk
from tarsy.domain.tool import ToolDefinition
from tarsy.domain.usage import TokenUsage
from tarsy.llm.access import Access
from tarsy.llm.attempts import CallRetryPolicy, stream_answer
from tarsy.llm.failures import HOOKS
from tarsy.llm.providers.anthropic_request import claude_version, request_body
from tarsy.llm.providers.google_credentials import google_credentials
from tarsy.llm.providers.provider import NO_KEY, Block, ClientCache, ModelKey, TurnMemory, conversation_of, key_of
from tarsy.llm.signals import Finished, KeepAlive, Signal
from tarsy.llm.tool_dialect import name_from_vendor, own_call_id

# Every model since version 4.5 can write this much; LangChain may not know the newest of them.
_LONG_ANSWER = 64_000
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
    if claude_version(key.model) >= (4, 5):
        profile.setdefault("max_output_tokens", _LONG_ANSWER)
    return ClaudeModel(sdk, profile, profile.get("max_output_tokens") or known.max_tokens or 0)


class AnthropicProvider:
    def __init__(self, *, policy: CallRetryPolicy) -> None:
        self._policy = policy
        self._memory = TurnMemory[tuple[Block, ...]]()
        self._models = ClientCache[ModelKey, ClaudeModel](make_model)

    async def generate(self, request: GenerateInput, access: Access) -> AsyncGenerator[Chunk]:
        if request.clear_cache:
            self._memory.forget(conversation_of(request))
        model = await self._models.get(ModelKey(access, request.provider.model))

        async def attempt() -> AsyncGenerator[Signal]:
            answer = ClaudeAnswer(request.tools)
            async with await self._send(request, model) as events:
                async for event in events:
                    for signal in answer.signals(event):
                        yield signal
            for signal in answer.ending():
                yield signal
            if (turn := answer.turn()) is not None:
                self._memory.keep(conversation_of(request), *turn)

        async with aclosing(stream_answer(attempt, request.provider, self._policy, access.censor)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _send(self, request: GenerateInput, model: ClaudeModel) -> Any:
        try:
            return await model.sdk.messages.create(**self._body(request, model), stream=True)
        except anthropic.BadRequestError as error:
            if not _UNFIT_THINKING.search(error.message):
                raise
        # The newest models bind their thinking to the tools and messages before it, which change when a conversation is shortened or concluded.
        self._memory.forget(conversation_of(request))
        return await model.sdk.messages.create(**self._body(request, model), stream=True)

    def _body(self, request: GenerateInput, model: ClaudeModel) -> dict[str, Any]:
        return request_body(request, self._memory, profile=model.profile, usual_length=model.usual_length)

    async def aclose(self) -> None:
        await self._models.aclose()


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
        yield KeepAlive.EVENT
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
                input_tokens = max(usage.input_tokens, self._input.input_tokens)
                cached = max(usage.cached_tokens, self._input.cached_tokens)
                yield TokenUsage(input_tokens, usage.output_tokens, input_tokens + usage.output_tokens, usage.thinking_tokens, cached)
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
    written = getattr(usage, "cache_creation_input_tokens", None) or 0
    input_tokens = (getattr(usage, "input_tokens", None) or 0) + cached + written
    output_tokens = getattr(usage, "output_tokens", None) or 0
    thinking = getattr(getattr(usage, "output_tokens_details", None), "thinking_tokens", None) or 0
    return TokenUsage(input_tokens, output_tokens, input_tokens + output_tokens, thinking, cached)
