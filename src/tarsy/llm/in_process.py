"""The model client that calls providers directly, in the caller's own process and event loop."""

import os
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing
from enum import StrEnum
from importlib import import_module
from typing import assert_never

from tarsy.domain.llm import Chunk, ErrorChunk, ErrorCode, GenerateInput, LLMBackend, LLMHealth, ProviderType, ResolvedProvider
from tarsy.llm.access import CredentialsMissingError, resolve_access
from tarsy.llm.attempts import CallRetryPolicy
from tarsy.llm.providers.provider import ClientCache, Provider, ProviderNotInstalledError
from tarsy.llm.providers.replay import RecordingFiles, RecordingLoader, ReplayProvider


class Implementation(StrEnum):
    """The provider implementations, by their modules."""

    REPLAY = "replay"
    GEMINI = "gemini"
    ANTHROPIC = "anthropic"
    LANGCHAIN = "langchain"


def implementation_for(provider: ResolvedProvider, backend: LLMBackend) -> Implementation:
    """Return the implementation that calls the model. A recording is played with any backend."""
    if provider.type is ProviderType.REPLAY:
        return Implementation.REPLAY
    if backend is LLMBackend.NATIVE_GEMINI:
        # It refuses providers of other vendors.
        return Implementation.GEMINI
    match provider.type:
        case ProviderType.GOOGLE:
            return Implementation.GEMINI
        case ProviderType.VERTEXAI:
            return Implementation.ANTHROPIC if "claude" in provider.model else Implementation.GEMINI
        case ProviderType.ANTHROPIC:
            return Implementation.ANTHROPIC
        case ProviderType.OPENAI | ProviderType.XAI:
            return Implementation.LANGCHAIN
        case _:
            assert_never(provider.type)


def load_sdks(models: Iterable[tuple[ResolvedProvider, LLMBackend]]) -> None:
    """Import the SDKs of these models, which takes seconds, so that their first call is as fast as the next ones."""
    for provider, backend in models:
        import_module(f"tarsy.llm.providers.{implementation_for(provider, backend)}")


class InProcessLLMClient:
    """Calls the implementation that serves the model of each request; `make` creates it on first use."""

    def __init__(self, make: Callable[[Implementation], Provider], env: Mapping[str, str]) -> None:
        self._env = env
        self._providers = ClientCache[Implementation, Provider](make)

    async def generate(self, request: GenerateInput) -> AsyncGenerator[Chunk]:
        try:
            access = resolve_access(request.provider, self._env, project=request.project, location=request.location)
            provider = await self._providers.get(implementation_for(request.provider, request.backend))
            async with aclosing(provider.generate(request, access)) as chunks:
                async for chunk in chunks:
                    yield chunk
        except CredentialsMissingError as error:
            yield ErrorChunk(str(error), ErrorCode.CREDENTIALS)
        except ProviderNotInstalledError as error:
            yield ErrorChunk(str(error), ErrorCode.INVALID_REQUEST)

    async def health(self) -> LLMHealth:
        return LLMHealth(ok=True, detail="in process")

    async def aclose(self) -> None:
        await self._providers.aclose()


def in_process_client(
    *,
    env: Mapping[str, str] = os.environ,
    recordings: RecordingLoader | None = None,
    replay_speed: float = 0.0,
    policy: CallRetryPolicy | None = None,
) -> InProcessLLMClient:
    """Return a client with all providers. Keys are looked up in `env` at each call.

    `recordings` loads what a replay provider names. `replay_speed` 0 plays it without pauses, 1 as fast as the recorded model was.
    """

    def make(wanted: Implementation) -> Provider:
        retries = policy or CallRetryPolicy()
        # A vendor's SDK is imported when a provider of that vendor is first used: it is large, and few installations use several.
        match wanted:
            case Implementation.REPLAY:
                return ReplayProvider(recordings or RecordingFiles(), speed=replay_speed)
            case Implementation.GEMINI:
                from tarsy.llm.providers.gemini import GeminiProvider  # noqa: PLC0415 - a vendor's SDK

                return GeminiProvider(policy=retries)
            case Implementation.ANTHROPIC:
                from tarsy.llm.providers.anthropic import AnthropicProvider  # noqa: PLC0415 - a vendor's SDK

                return AnthropicProvider(policy=retries)
            case Implementation.LANGCHAIN:
                from tarsy.llm.providers.langchain import LangChainProvider  # noqa: PLC0415 - a vendor's SDK

                return LangChainProvider(policy=retries)

    return InProcessLLMClient(make, env)
