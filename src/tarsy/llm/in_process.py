"""The model client that calls providers directly, in the caller's own event loop: no serialisation, no other process."""

import os
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from enum import StrEnum
from typing import assert_never

from tarsy.domain.llm import Chunk, ErrorChunk, ErrorCode, GenerateInput, LLMBackend, LLMHealth, ProviderType
from tarsy.llm.access import CredentialsMissingError, resolve_access
from tarsy.llm.attempts import RetryPolicy
from tarsy.llm.providers.provider import ClientCache, Provider, ProviderNotInstalledError
from tarsy.llm.providers.replay import RecordingFiles, RecordingLoader, ReplayProvider


class Route(StrEnum):
    """The provider implementations there are."""

    REPLAY = "replay"
    GOOGLE_NATIVE = "google-native"
    LANGCHAIN = "langchain"


def route(provider: ProviderType, backend: LLMBackend) -> Route:
    """Decide which implementation answers; a recording is played whatever the backend."""
    if provider is ProviderType.REPLAY:
        return Route.REPLAY
    match backend:
        case LLMBackend.NATIVE_GEMINI:
            return Route.GOOGLE_NATIVE
        case LLMBackend.LANGCHAIN:
            return Route.LANGCHAIN
        case _:
            assert_never(backend)


class InProcessLLMClient:
    """Routes each call to its provider; a provider is made when it is first needed, and kept."""

    def __init__(self, factories: Mapping[Route, Callable[[], Provider]], env: Mapping[str, str]) -> None:
        self._env = env
        self._providers = ClientCache[Route, Provider](lambda key: factories[key]())

    def generate(self, request: GenerateInput) -> AsyncGenerator[Chunk]:
        return self.generate_for(request)

    async def generate_for(
        self, request: GenerateInput, *, project: str | None = None, location: str | None = None
    ) -> AsyncGenerator[Chunk]:
        """As `generate`, for a caller who knows the cloud project and location by value instead of by variable."""
        try:
            access = resolve_access(request.provider, self._env, project=project, location=location)
            provider = await self._providers.get(route(request.provider.type, request.backend))
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
    policy: RetryPolicy | None = None,
) -> InProcessLLMClient:
    """A client with every provider. Keys are looked up in `env` at each call; `recordings` resolves what a replay provider names."""
    retries = policy or RetryPolicy()

    def google_native() -> Provider:
        from tarsy.llm.providers.gemini import GoogleNativeProvider  # noqa: PLC0415 - heavy, imported on first use

        return GoogleNativeProvider(policy=retries)

    def langchain() -> Provider:
        from tarsy.llm.providers.langchain import LangChainProvider  # noqa: PLC0415 - heavy, imported on first use

        return LangChainProvider(policy=retries)

    return InProcessLLMClient(
        {
            Route.REPLAY: lambda: ReplayProvider(recordings or RecordingFiles(), speed=replay_speed),
            Route.GOOGLE_NATIVE: google_native,
            Route.LANGCHAIN: langchain,
        },
        env,
    )
