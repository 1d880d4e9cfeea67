"""LangChain's stream in our terms: text and thinking at once, calls when they are whole. Pure; imported on first use."""

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, assert_never, cast

import structlog
from langchain_core.messages import AIMessageChunk

from tarsy.domain.llm import Chunk, GenerateInput, TextChunk, ThinkingChunk, ToolCallChunk
from tarsy.domain.usage import TokenUsage
from tarsy.llm.access import Access
from tarsy.llm.attempts import RetryPolicy, TimeLimits, answer
from tarsy.llm.failures import RefusedAnswerError
from tarsy.llm.providers import langchain_request
from tarsy.llm.providers.langchain_models import ChatModel, Dialect, ModelKey, make_model
from tarsy.llm.providers.langchain_request import CALL_BLOCKS, Block, Remembered
from tarsy.llm.providers.provider import ClientCache, TurnMemory, key_of, vendor_stream
from tarsy.llm.signals import Alive, Finished, Signal, ThinkTags
from tarsy.llm.tool_dialect import ToolNames, own_call_id

REASONING = "reasoning_content"
USAGE_AT_START = "usage_at_start"
GOOGLE_SIGNATURES = "__gemini_function_call_thought_signatures__"


@dataclass(slots=True)
class _Call:
    # As the server calls it, and as we do.
    given: str
    call_id: str
    name: str = ""
    arguments: str = ""


class LangChainAnswer:
    """One answer as it arrives."""

    def __init__(self, names: ToolNames, dialect: Dialect) -> None:
        self._names = names
        self._dialect = dialect
        self._calls: dict[object, _Call] = {}
        self._blocks: dict[object, Block] = {}
        self._beside: dict[str, Any] = {}
        self._usage = TokenUsage()
        self._usage_at_start = TokenUsage()
        # The others have a place of their own for thinking, and may quote the tags.
        self._think_tags = ThinkTags() if dialect is Dialect.CHAT_COMPLETIONS else None
        self._finished: Finished | None = None
        self._text: list[str] = []
        self._paragraph: tuple[Any, Any] | None = None

    def signals(self, chunk: AIMessageChunk) -> Iterator[Signal]:
        """What one piece of the stream says to a reader now.

        Raises:
            RefusedAnswerError: the model declined to answer.
        """
        yield Alive.SIGN
        content: Any = chunk.content
        reasoning = chunk.additional_kwargs.get(REASONING)
        if isinstance(reasoning, str) and reasoning:
            yield ThinkingChunk(reasoning)
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            yield from self._block(block)
        for piece in chunk.tool_call_chunks:
            self._take_call(cast("Mapping[str, Any]", piece))
        if chunk.usage_metadata:
            # At once: an answer that breaks off has cost something too.
            yield self._take_usage(chunk.usage_metadata)
        self._take_metadata(chunk)

    def ending(self) -> Iterator[Signal]:
        """What can only be said when the stream is over."""
        yield from self._think_tags.end() if self._think_tags else ()
        if self._finished is not None:
            for call in self._calls.values():
                yield ToolCallChunk(call.call_id, self._names.from_vendor(call.name), call.arguments or "{}")
            yield self._finished

    def turn(self) -> tuple[str, Remembered] | None:
        """The turn's key and what its vendor wants back; None when it wants nothing."""
        sealed = any(block["type"] not in {"text"} | CALL_BLOCKS for block in self._blocks.values())
        if self._finished is None or not (sealed or self._beside):
            return None
        key = key_of(tuple(call.call_id for call in self._calls.values()), "".join(self._text))
        blocks = tuple(self._blocks.values()) if self._dialect is not Dialect.GOOGLE else ()
        return key, Remembered(blocks, self._beside)

    def _block(self, block: Any) -> Iterator[Signal]:
        piece: Block = {"type": "text", "text": block} if isinstance(block, str) else block
        match piece.get("type"):
            case "text":
                text = piece.get("text") or ""
                self._keep(piece, "text", text)
                yield from self._said(text)
            case "thinking":
                thinking = piece.get("thinking") or ""
                self._keep(piece, "thinking", thinking, signature=piece.get("signature"))
                if thinking:
                    yield ThinkingChunk(thinking)
            case "redacted_thinking":
                self._keep(piece, "data", piece.get("data") or "")
            case "reasoning":
                yield from self._reasoning(piece)
            case "tool_use" | "function_call":
                call_id = piece.get("id") if piece["type"] == "tool_use" else piece.get("call_id")
                if call_id:
                    self._blocks.setdefault(piece.get("index"), {"type": piece["type"], "call_id": call_id})
            case "refusal":
                raise RefusedAnswerError(f"the model refused to answer: {piece.get('refusal')}")
            case _:
                return

    def _said(self, text: str) -> Iterator[Signal]:
        if self._think_tags is not None:
            yield from self._think_tags.feed(text)
        elif text:
            self._text.append(text)
            yield TextChunk(text)

    def _keep(self, piece: Block, name: str, value: str, *, signature: str | None = None) -> None:
        known = self._blocks.setdefault(piece.get("index"), {"type": piece["type"], name: ""})
        known[name] = known.get(name, "") + value
        if signature:
            known["signature"] = signature

    def _reasoning(self, piece: Block) -> Iterator[Signal]:
        known = self._blocks.setdefault(piece.get("index"), {"type": "reasoning", "summary": []})
        for name in ("id", "encrypted_content"):
            if piece.get(name):
                known[name] = piece[name]
        summary: list[dict[str, Any]] = piece.get("summary") or []
        for part in summary:
            text = str(part.get("text") or "")
            if text:
                yield ThinkingChunk(self._paragraph_lead(known, (piece.get("index"), part.get("index"))) + text)
                known["summary"][-1]["text"] += text

    def _paragraph_lead(self, known: Block, paragraph: tuple[Any, Any]) -> str:
        """The summary comes in paragraphs that know nothing of each other: say what parts this one from the last."""
        if paragraph == self._paragraph:
            return ""
        lead = "\n\n" if self._paragraph is not None else ""
        self._paragraph = paragraph
        known["summary"].append({"type": "summary_text", "text": ""})
        return lead

    def _take_call(self, piece: Mapping[str, Any]) -> None:
        """Merge by index. Servers that give none send whole calls; those that give no id, or the same twice, get one of ours.

        Some give every call the same index, others every piece of a call another id: another call is what has another id and a name.
        """
        index, given = piece.get("index"), piece.get("id") or ""
        key: object = index if index is not None else object()
        call = self._calls.get(key)
        if call is not None and piece.get("name") and given and call.given and given != call.given:
            self._calls[object()] = self._calls.pop(key)
            call = None
        if call is None:
            call = self._calls[key] = _Call(given, self._free_id(given))
        call.name += piece.get("name") or ""
        call.arguments += piece.get("args") or ""

    def _free_id(self, given: str) -> str:
        taken = any(known.call_id == given for known in self._calls.values())
        return given if given and not taken else own_call_id()

    def _take_usage(self, usage: Any) -> TokenUsage:
        """What has been used so far: told in parts by some, anew each time by servers that speak like OpenAI or Claude."""
        told = _usage(usage)
        match self._dialect:
            case Dialect.CHAT_COMPLETIONS:
                self._usage = told
            case Dialect.ANTHROPIC:
                self._usage = _with_input_of(told, self._usage_at_start)
            case Dialect.RESPONSES | Dialect.GOOGLE:
                self._usage += told
            case _:
                assert_never(self._dialect)
        return self._usage

    def _take_metadata(self, chunk: AIMessageChunk) -> None:
        metadata = chunk.response_metadata
        reason = metadata.get("finish_reason") or metadata.get("stop_reason") or _responses_end(metadata)
        if reason:
            self._finished = Finished(str(reason).lower())
        if USAGE_AT_START in metadata:
            self._usage_at_start = _usage(metadata[USAGE_AT_START])
        signatures = chunk.additional_kwargs.get(GOOGLE_SIGNATURES)
        if signatures:
            self._beside[GOOGLE_SIGNATURES] = {**self._beside.get(GOOGLE_SIGNATURES, {}), **signatures}


def _usage(usage: Any) -> TokenUsage:
    given: dict[str, int] = usage.get("input_token_details") or {}
    made: dict[str, int] = usage.get("output_token_details") or {}
    thinking, cached = made.get("reasoning") or 0, given.get("cache_read") or 0
    return TokenUsage(usage["input_tokens"], usage["output_tokens"], usage["total_tokens"], thinking, cached)


def _with_input_of(usage: TokenUsage, start: TokenUsage) -> TokenUsage:
    """Servers that speak like Claude leave out of the last event what they said in the first."""
    given = max(usage.input_tokens, start.input_tokens)
    return TokenUsage(
        given, usage.output_tokens, given + usage.output_tokens, usage.thinking_tokens, max(usage.cached_tokens, start.cached_tokens)
    )


def _responses_end(metadata: Mapping[str, Any]) -> str | None:
    details: Mapping[str, Any] = metadata.get("incomplete_details") or {}
    return details.get("reason") or metadata.get("status")


log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Question:
    """One call, ready to be sent as often as it takes."""

    key: ModelKey
    dialect: Dialect
    execution_id: str
    names: ToolNames
    send: Callable[[], AsyncGenerator[Any]]


class LangChainProvider:
    """Speaks to a model of any vendor."""

    def __init__(self, *, policy: RetryPolicy, memory: TurnMemory[Remembered] | None = None) -> None:
        self._policy = policy
        self._memory = memory or TurnMemory[Remembered]()
        self._models = ClientCache[ModelKey, ChatModel](make_model)
        # Models whose vendor shows their thoughts only to organizations it has verified.
        self._without_summaries: set[ModelKey] = set()

    async def generate(self, request: GenerateInput, access: Access) -> AsyncGenerator[Chunk]:
        if request.clear_cache:
            self._memory.forget(request.execution_id)
        key = ModelKey(access, request.provider.model)
        question = self._question(key, await self._models.get(key), request)
        limits = TimeLimits.of(request.provider)
        chunks = answer(lambda: self._attempt(question), limits=limits, policy=self._policy, censor=access.censor)
        async with aclosing(chunks):
            async for chunk in chunks:
                yield chunk

    async def aclose(self) -> None:
        await self._models.aclose()

    def _question(self, key: ModelKey, model: ChatModel, request: GenerateInput) -> Question:
        """Put the call together, so that each attempt only has to send it."""
        built = langchain_request.messages(request, model.dialect, self._memory)
        chat: Any = model.chat
        if tools := langchain_request.tools(request.tools):
            chat = chat.bind_tools(tools)
        elif model.dialect is Dialect.ANTHROPIC and (used := langchain_request.used_tools(request.messages)):
            # Refuses a conversation with calls in it that offers no tools at all, and a last word is asked for without any.
            chat = chat.bind_tools(used, tool_choice={"type": "none"})

        def send() -> AsyncGenerator[Any]:
            summaries = key not in self._without_summaries
            return chat.astream(built, **langchain_request.options(request, model.dialect, model.chat, self._memory, summaries=summaries))

        return Question(key, model.dialect, request.execution_id, ToolNames(tool.name for tool in request.tools), send)

    async def _attempt(self, question: Question) -> AsyncGenerator[Signal]:
        try:
            async with aclosing(self._listen(question)) as signals:
                async for signal in signals:
                    yield signal
        except Exception as error:
            if question.key in self._without_summaries or not refuses_summaries(error):
                raise
            self._without_summaries.add(question.key)
            log.warning("llm.reasoning_summary.refused", model=question.key.model, reason=question.key.access.censor(str(error)))
        else:
            return
        async with aclosing(self._listen(question)) as signals:
            async for signal in signals:
                yield signal

    async def _listen(self, question: Question) -> AsyncGenerator[Signal]:
        heard = LangChainAnswer(question.names, question.dialect)
        async with vendor_stream(question.send()) as stream:
            async for chunk in stream:
                for signal in heard.signals(chunk):
                    yield signal
        for signal in heard.ending():
            yield signal
        turn = heard.turn()
        if turn is not None:
            self._memory.keep(question.execution_id, *turn)


def refuses_summaries(error: Exception) -> bool:
    """Whether the vendor will not show this organization what the model thinks."""
    return "reasoning summar" in str(error).lower() or "reasoning.summary" in str(error)
