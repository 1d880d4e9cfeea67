"""Gemini through Google's own SDK: thinking apart from text, thought signatures, Google's own tools, on AI Studio or Vertex AI."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import httpx
import structlog
from google.genai import Client, types

from tarsy.domain.agent import ProviderType
from tarsy.llm.access import Access
from tarsy.llm.attempts import RetryPolicy, Signal, TimeLimits, answer
from tarsy.llm.client import Chunk, ErrorChunk, ErrorCode, GenerateInput
from tarsy.llm.client_cache import ClientCache
from tarsy.llm.memory import TurnMemory
from tarsy.llm.providers import gemini_request
from tarsy.llm.providers.gemini_answer import GeminiAnswer
from tarsy.llm.providers.gemini_request import Signatures
from tarsy.llm.providers.google_credentials import google_credentials
from tarsy.llm.tool_names import ToolNames

log = structlog.get_logger(__name__)

# The HTTP library allows a hundred by default, and every agent of every session may be talking at once.
CONNECTIONS = 1000


class GoogleNativeProvider:
    """Speaks to Gemini models."""

    def __init__(self, *, policy: RetryPolicy, memory: TurnMemory[Signatures] | None = None) -> None:
        self._policy = policy
        self._memory = memory or TurnMemory[Signatures]()
        self._clients = ClientCache[Access, Client](make_client, close_client)

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
        models: Any = (await self._clients.get(access)).aio.models
        names = ToolNames(tool.name for tool in request.tools)
        question = {
            "model": request.provider.model,
            "contents": gemini_request.contents(request, self._memory),
            "config": gemini_request.config(request),
        }
        limits = TimeLimits(first_chunk=request.provider.first_chunk_timeout, stall=request.provider.stall_timeout)

        async def attempt() -> AsyncGenerator[Signal]:
            heard = GeminiAnswer(names)
            async with aclosing(await models.generate_content_stream(**question)) as stream:
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


def make_client(access: Access) -> Client:
    options = types.HttpOptions(
        base_url=access.base_url,
        # Retries are counted in one place, ours.
        retry_options=types.HttpRetryOptions(attempts=1),
        async_client_args={"limits": httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=100), "timeout": None},
    )
    if access.type is ProviderType.VERTEXAI:
        return Client(
            vertexai=True, project=access.project, location=access.location, credentials=google_credentials(access), http_options=options
        )
    return Client(vertexai=False, api_key=access.api_key or "none", http_options=options)


async def close_client(client: Client) -> None:
    await client.aio.aclose()
    client.close()
