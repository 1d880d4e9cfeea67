"""Gemini through Google's own SDK: thinking apart from text, thought signatures, Google's own tools, on AI Studio or Vertex AI."""

import json
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import httpx
import structlog
from google.genai import Client, types

from tarsy.domain.llm import (
    Chunk,
    CodeExecutionChunk,
    ErrorChunk,
    ErrorCode,
    GenerateInput,
    GroundingChunk,
    GroundingSource,
    GroundingSupport,
    ProviderType,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
)
from tarsy.domain.tool import ToolDefinition
from tarsy.domain.usage import TokenUsage
from tarsy.llm.access import Access
from tarsy.llm.attempts import CallRetryPolicy, stream_answer
from tarsy.llm.failures import HOOKS, RefusedAnswerError
from tarsy.llm.providers import gemini_request
from tarsy.llm.providers.gemini_request import Signatures
from tarsy.llm.providers.google_credentials import google_credentials
from tarsy.llm.providers.provider import NO_KEY, ClientCache, TurnMemory, conversation_of, key_of, vendor_stream
from tarsy.llm.signals import CodeExecutions, Finished, KeepAlive, Signal
from tarsy.llm.tool_dialect import name_from_vendor, own_call_id

log = structlog.get_logger(__name__)

# The HTTP library's default is a hundred, and every agent of every session may have a call.
_LIMITS = httpx.Limits(max_connections=1000, max_keepalive_connections=100)


@dataclass(frozen=True, slots=True)
class GoogleClient:
    """The SDK's client and its HTTP client, which the SDK does not close because we made it."""

    sdk: Client
    http: httpx.AsyncClient

    async def aclose(self) -> None:
        await self.http.aclose()
        self.sdk.close()


def make_client(access: Access) -> GoogleClient:
    """Make a client for `access`.

    Raises:
        CredentialsMissingError: the credentials file cannot be used.
    """
    http = httpx.AsyncClient(limits=_LIMITS, timeout=None, follow_redirects=True, event_hooks=HOOKS)  # noqa: S113 - time limits are those of `attempts`
    # Retries are those of `attempts`.
    once = types.HttpRetryOptions(attempts=1)
    options = types.HttpOptions(base_url=access.base_url, retry_options=once, httpx_async_client=http)
    if access.type is ProviderType.VERTEXAI:
        where: dict[str, Any] = {"project": access.project, "location": access.location, "credentials": google_credentials(access)}
        return GoogleClient(Client(vertexai=True, http_options=options, **where), http)
    return GoogleClient(Client(vertexai=False, api_key=access.api_key or NO_KEY, http_options=options), http)


class GeminiProvider:
    def __init__(self, *, policy: CallRetryPolicy) -> None:
        self._policy = policy
        self._memory = TurnMemory[Signatures]()
        self._clients = ClientCache[Access, GoogleClient](make_client)

    async def generate(self, request: GenerateInput, access: Access) -> AsyncGenerator[Chunk]:
        if access.type not in {ProviderType.GOOGLE, ProviderType.VERTEXAI}:
            yield ErrorChunk(
                f"the backend native-gemini works with providers of type google or vertexai, not {access.type}: use llm_backend langchain",
                ErrorCode.INVALID_REQUEST,
            )
            return
        if request.clear_cache:
            self._memory.forget(conversation_of(request))
        for name in gemini_request.native_tool_names(request) if request.tools else ():
            log.warning("llm.native_tool.suppressed", tool=name, execution_id=request.execution_id, reason="function calls are on offer")
        models: Any = (await self._clients.get(access)).sdk.aio.models
        contents, config = gemini_request.contents(request, self._memory), gemini_request.config(request)

        async def attempt() -> AsyncGenerator[Signal]:
            answer = GeminiAnswer(request.tools)
            responses = await models.generate_content_stream(model=request.provider.model, contents=contents, config=config)
            async with vendor_stream(responses) as stream:
                async for response in stream:
                    for signal in answer.signals(response):
                        yield signal
            if (turn := answer.turn()) is not None:
                self._memory.keep(conversation_of(request), *turn)

        async with aclosing(stream_answer(attempt, request.provider, self._policy, access.censor)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def aclose(self) -> None:
        await self._clients.aclose()


class GeminiAnswer:
    """One answer while it arrives: translates each piece into signals and keeps the signatures."""

    def __init__(self, tools: Sequence[ToolDefinition]) -> None:
        self._tools = tools
        self._text: list[str] = []
        self._call_ids: list[str] = []
        self._call_signatures: dict[str, bytes] = {}
        self._text_signature: bytes | None = None
        self._executions = CodeExecutions()

    def signals(self, response: types.GenerateContentResponse) -> Iterator[Signal]:
        """Yield the signals of one piece of the stream.

        Raises:
            RefusedAnswerError: the prompt was blocked.
        """
        feedback = response.prompt_feedback
        if feedback is not None and feedback.block_reason is not None:
            detail = feedback.block_reason_message or feedback.block_reason.name.lower()
            raise RefusedAnswerError(f"the prompt was blocked: {detail}")
        yield KeepAlive.EVENT
        for signal in self._translated(response):
            yield from self._executions.feed(signal)

    def turn(self) -> tuple[str, Signatures] | None:
        """Return the turn's key and signatures, or None if there are none to keep."""
        if not self._call_signatures and self._text_signature is None:
            return None
        key = key_of(tuple(self._call_ids), "".join(self._text))
        return key, Signatures(dict(self._call_signatures), self._text_signature)

    def _translated(self, response: types.GenerateContentResponse) -> Iterator[Signal]:
        if (usage := response.usage_metadata) is not None:
            # Thinking counts as output, because it is billed as such, as with the other vendors.
            input_tokens = (usage.prompt_token_count or 0) + (usage.tool_use_prompt_token_count or 0)
            thinking = usage.thoughts_token_count or 0
            output_tokens = (usage.candidates_token_count or 0) + thinking
            total = usage.total_token_count or input_tokens + output_tokens
            yield TokenUsage(input_tokens, output_tokens, total, thinking, usage.cached_content_token_count or 0)
        for candidate in (response.candidates or [])[:1]:
            content = candidate.content
            for part in (content.parts if content is not None else None) or []:
                yield from self._part(part)
            if (metadata := candidate.grounding_metadata) is not None:
                sites = [chunk.web for chunk in metadata.grounding_chunks or () if chunk.web is not None]
                supports = [
                    (support.segment or types.Segment(), support.grounding_chunk_indices or ())
                    for support in metadata.grounding_supports or ()
                ]
                found = GroundingChunk(
                    web_search_queries=tuple(metadata.web_search_queries or ()),
                    sources=tuple(GroundingSource(site.uri or "", site.title or "") for site in sites),
                    supports=tuple(
                        GroundingSupport(segment.start_index or 0, segment.end_index or 0, segment.text or "", tuple(indices))
                        for segment, indices in supports
                    ),
                    search_entry_point_html=(metadata.search_entry_point.rendered_content or "") if metadata.search_entry_point else "",
                )
                if found != GroundingChunk():
                    yield found
            pages = candidate.url_context_metadata
            if pages is not None and pages.url_metadata:
                yield GroundingChunk(sources=tuple(GroundingSource(page.retrieved_url or "", "") for page in pages.url_metadata))
            if candidate.finish_reason is not None:
                yield Finished(candidate.finish_reason.name.lower())

    def _part(self, part: types.Part) -> Iterator[Signal]:
        if (call := part.function_call) is not None:
            call_id = call.id or own_call_id()
            self._call_ids.append(call_id)
            if part.thought_signature is not None:
                self._call_signatures[call_id] = part.thought_signature
            name = name_from_vendor(call.name or "", self._tools)
            yield ToolCallChunk(call_id, name, json.dumps(call.args or {}, ensure_ascii=False))
            return
        if part.thought_signature is not None:
            self._text_signature = part.thought_signature
        if part.executable_code is not None:
            yield CodeExecutionChunk(part.executable_code.code or "", "")
        elif (result := part.code_execution_result) is not None:
            # Code that failed without any output is reported by its outcome.
            failed = result.outcome and result.outcome is not types.Outcome.OUTCOME_OK
            outcome = result.outcome.name.removeprefix("OUTCOME_").replace("_", " ").lower() if result.outcome and failed else ""
            yield CodeExecutionChunk("", result.output or outcome)
        elif part.text and part.thought:
            yield ThinkingChunk(part.text)
        elif part.text:
            self._text.append(part.text)
            yield TextChunk(part.text)
