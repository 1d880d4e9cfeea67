"""Models of OpenAI and of compatible servers, and of xAI, through LangChain."""

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import structlog
from langchain_core.messages import AIMessageChunk

from tarsy.domain.llm import Chunk, GenerateInput, TextChunk, ThinkingChunk, ToolCallChunk
from tarsy.domain.tool import ToolDefinition
from tarsy.domain.usage import TokenUsage
from tarsy.llm.access import Access
from tarsy.llm.attempts import CallRetryPolicy, stream_answer
from tarsy.llm.failures import RefusedAnswerError
from tarsy.llm.providers import langchain_request
from tarsy.llm.providers.langchain_models import ChatModel, make_model
from tarsy.llm.providers.provider import Block, ClientCache, ModelKey, TurnMemory, conversation_of, key_of, vendor_stream
from tarsy.llm.signals import Finished, KeepAlive, Signal, ThinkTags
from tarsy.llm.tool_dialect import name_from_vendor, own_call_id

log = structlog.get_logger(__name__)


class LangChainProvider:
    def __init__(self, *, policy: CallRetryPolicy) -> None:
        self._policy = policy
        self._memory = TurnMemory[tuple[Block, ...]]()
        self._models = ClientCache[ModelKey, ChatModel](make_model)
        # Models whose vendor shows their reasoning only to organizations it has verified.
        self._without_summaries: set[ModelKey] = set()

    async def generate(self, request: GenerateInput, access: Access) -> AsyncGenerator[Chunk]:
        if request.clear_cache:
            self._memory.forget(conversation_of(request))
        key = ModelKey(access, request.provider.model)
        model = await self._models.get(key)
        messages = langchain_request.messages(request, self._memory)
        chat: Any = model.chat
        if tools := langchain_request.tools(request.tools):
            chat = chat.bind_tools(tools)

        def send() -> AsyncGenerator[Any]:
            summaries = key not in self._without_summaries
            return chat.astream(messages, **langchain_request.options(request, model, summaries=summaries))

        attempt = partial(self._attempt, key, model, request, send)
        async with aclosing(stream_answer(attempt, request.provider, self._policy, access.censor)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def aclose(self) -> None:
        await self._models.aclose()

    async def _attempt(
        self, key: ModelKey, model: ChatModel, request: GenerateInput, send: Callable[[], AsyncGenerator[Any]]
    ) -> AsyncGenerator[Signal]:
        while True:
            answer = LangChainAnswer(request.tools, thinks_in_text=not model.uses_responses)
            try:
                async with vendor_stream(send()) as stream:
                    async for chunk in stream:
                        for signal in answer.signals(chunk):
                            yield signal
            except Exception as error:
                if key in self._without_summaries or not refuses_summaries(error):
                    raise
                self._without_summaries.add(key)
                log.warning("llm.reasoning_summary.refused", model=key.model, reason=key.access.censor(str(error)))
            else:
                break
        for signal in answer.ending():
            yield signal
        if (turn := answer.turn()) is not None:
            self._memory.keep(conversation_of(request), *turn)


def refuses_summaries(error: Exception) -> bool:
    """Return whether the vendor refuses to show this organization the model's reasoning."""
    return "reasoning summar" in str(error).lower() or "reasoning.summary" in str(error)


@dataclass(slots=True)
class _Call:
    # The id that the server gave, and the one that we use.
    given: str
    call_id: str
    name: str = ""
    arguments: str = ""


class LangChainAnswer:
    """One answer while it arrives: text and thinking become signals at once, calls when they are complete.

    A model that `thinks_in_text` may write its thinking in tags; others have a field for it, and may quote the tags.
    """

    def __init__(self, tools: Sequence[ToolDefinition], *, thinks_in_text: bool) -> None:
        self._tools = tools
        self._calls: dict[object, _Call] = {}
        self._blocks: dict[object, Block] = {}
        self._think_tags = ThinkTags() if thinks_in_text else None
        self._finished: Finished | None = None
        self._text: list[str] = []
        self._paragraph: tuple[Any, Any] | None = None

    def signals(self, chunk: AIMessageChunk) -> Iterator[Signal]:
        """Yield the signals of one piece of the stream.

        Raises:
            RefusedAnswerError: the model declined to answer.
        """
        yield KeepAlive.EVENT
        content: Any = chunk.content
        for block in [content] if isinstance(content, str) else content:
            yield from self._block({"type": "text", "text": block} if isinstance(block, str) else block)
        for piece in chunk.tool_call_chunks:
            self._add_call(cast("Mapping[str, Any]", piece))
        if chunk.usage_metadata:
            # At once, because an answer that breaks off has cost something too. Compatible servers repeat the total in each chunk.
            yield _usage(chunk.usage_metadata)
        metadata = chunk.response_metadata
        details: Mapping[str, Any] = metadata.get("incomplete_details") or {}
        if reason := metadata.get("finish_reason") or details.get("reason") or metadata.get("status"):
            self._finished = Finished(str(reason).lower())

    def ending(self) -> Iterator[Signal]:
        """Yield the signals that are certain only when the stream is over."""
        yield from self._think_tags.end() if self._think_tags else ()
        if self._finished is not None:
            for call in self._calls.values():
                yield ToolCallChunk(call.call_id, name_from_vendor(call.name, self._tools), call.arguments or "{}")
            yield self._finished

    def turn(self) -> tuple[str, tuple[Block, ...]] | None:
        """Return the turn's key and its blocks, or None if there is no reasoning to send back."""
        has_reasoning = any(block["type"] == "reasoning" for block in self._blocks.values())
        if self._finished is None or not has_reasoning:
            return None
        key = key_of(tuple(call.call_id for call in self._calls.values()), "".join(self._text))
        return key, tuple(self._blocks.values())

    def _block(self, block: Block) -> Iterator[Signal]:
        match block.get("type"):
            case "text":
                text = block.get("text") or ""
                if self._think_tags is not None:
                    yield from self._think_tags.feed(text)
                elif text:
                    known = self._blocks.setdefault(block.get("index"), {"type": "text", "text": ""})
                    known["text"] += text
                    self._text.append(text)
                    yield TextChunk(text)
            case "reasoning_content":  # from `ReasoningCompletions`
                if thought := block.get("text"):
                    yield ThinkingChunk(thought)
            case "reasoning":
                yield from self._reasoning(block)
            case "function_call":
                if call_id := block.get("call_id"):
                    self._blocks.setdefault(block.get("index"), {"type": "function_call", "call_id": call_id})
            case "refusal":
                raise RefusedAnswerError(f"the model refused to answer: {block.get('refusal')}")
            case _:
                return

    def _reasoning(self, block: Block) -> Iterator[Signal]:
        known = self._blocks.setdefault(block.get("index"), {"type": "reasoning", "summary": []})
        known |= {name: block[name] for name in ("id", "encrypted_content") if block.get(name)}
        summary: list[dict[str, Any]] = block.get("summary") or []
        for part in summary:
            if not (text := str(part.get("text") or "")):
                continue
            # The paragraphs of a summary come without anything between them.
            paragraph = (block.get("index"), part.get("index"))
            separator = ""
            if paragraph != self._paragraph:
                separator = "\n\n" if self._paragraph is not None else ""
                self._paragraph = paragraph
                known["summary"].append({"type": "summary_text", "text": ""})
            known["summary"][-1]["text"] += text
            yield ThinkingChunk(separator + text)

    def _add_call(self, piece: Mapping[str, Any]) -> None:
        """Merge the pieces of a call by index. Servers without an index send whole calls.

        Some servers give every call the same index, others every piece of a call another id: a new call is what has another id and a name.
        Servers that give no id, or the same twice, get one of ours.
        """
        index, given = piece.get("index"), piece.get("id") or ""
        key: object = index if index is not None else object()
        call = self._calls.get(key)
        if call is not None and piece.get("name") and given and call.given and given != call.given:
            self._calls[object()] = self._calls.pop(key)
            call = None
        if call is None:
            taken = not given or any(known.call_id == given for known in self._calls.values())
            call = self._calls[key] = _Call(given, own_call_id() if taken else given)
        call.name += piece.get("name") or ""
        call.arguments += piece.get("args") or ""


def _usage(usage: Any) -> TokenUsage:
    input_details: dict[str, int] = usage.get("input_token_details") or {}
    output_details: dict[str, int] = usage.get("output_token_details") or {}
    thinking, cached = output_details.get("reasoning") or 0, input_details.get("cache_read") or 0
    return TokenUsage(usage["input_tokens"], usage["output_tokens"], usage["total_tokens"], thinking, cached)
