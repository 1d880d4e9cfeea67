"""Gemini through Google's own SDK: thinking apart from text, thought signatures, Google's own tools, on AI Studio or Vertex AI."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import structlog

from tarsy.domain.llm import Chunk, ErrorChunk, ErrorCode, GenerateInput, ProviderType
from tarsy.llm.access import Access
from tarsy.llm.attempts import RetryPolicy, Signal, TimeLimits, answer
from tarsy.llm.client_cache import ClientCache
from tarsy.llm.providers import gemini_request
from tarsy.llm.providers.gemini_answer import GeminiAnswer
from tarsy.llm.providers.gemini_request import Signatures
from tarsy.llm.providers.google_client import GoogleClient, make_client
from tarsy.llm.tool_dialect import ToolNames
from tarsy.llm.turn_memory import TurnMemory
from tarsy.llm.vendor_stream import vendor_stream

log = structlog.get_logger(__name__)


class GoogleNativeProvider:
    """Speaks to Gemini models."""

    def __init__(self, *, policy: RetryPolicy, memory: TurnMemory[Signatures] | None = None) -> None:
        self._policy = policy
        self._memory = memory or TurnMemory[Signatures]()
        self._clients = ClientCache[Access, GoogleClient](make_client)

    async def generate(self, request: GenerateInput, access: Access) -> AsyncGenerator[Chunk]:
        if access.type not in {ProviderType.GOOGLE, ProviderType.VERTEXAI}:
            yield ErrorChunk(
                f"the backend native-gemini speaks to providers of type google or vertexai, not {access.type}: use llm_backend langchain",
                ErrorCode.INVALID_REQUEST,
            )
            return
        if request.clear_cache:
            self._memory.forget(request.execution_id)
        for name in gemini_request.suppressed_tools(request):
            log.warning("llm.native_tool.suppressed", tool=name, execution_id=request.execution_id, reason="function calls are on offer")
        models: Any = (await self._clients.get(access)).sdk.aio.models
        names = ToolNames(tool.name for tool in request.tools)
        question = {
            "model": request.provider.model,
            "contents": gemini_request.contents(request, self._memory),
            "config": gemini_request.config(request),
        }
        limits = TimeLimits.of(request.provider)

        async def attempt() -> AsyncGenerator[Signal]:
            heard = GeminiAnswer(names)
            async with vendor_stream(await models.generate_content_stream(**question)) as stream:
                async for response in stream:
                    for signal in heard.signals(response):
                        yield signal
            turn = heard.turn()
            if turn is not None:
                self._memory.keep(request.execution_id, *turn)

        async with aclosing(answer(attempt, limits=limits, policy=self._policy, censor=access.censor)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def aclose(self) -> None:
        await self._clients.aclose()
