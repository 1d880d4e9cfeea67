"""The model client that calls providers directly, in the caller's own event loop: no serialisation, no other process."""

import os
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from enum import StrEnum
from typing import assert_never

from tarsy.domain.agent import LLMBackend, ProviderType
from tarsy.llm.client import Chunk, GenerateInput
from tarsy.llm.providers.port import Provider
from tarsy.llm.providers.replay import ChangedRequest, RecordingFiles, RecordingLoader, ReplayProvider, ignore_change


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

    def __init__(self, factories: Mapping[Route, Callable[[], Provider]]) -> None:
        self._factories = factories
        self._providers: dict[Route, Provider] = {}

    async def generate(self, request: GenerateInput) -> AsyncGenerator[Chunk]:
        provider = self._provider(route(request.provider.type, request.backend))
        async with aclosing(provider.generate(request)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def healthy(self) -> str | None:
        """None: a client in the same process is there as long as we are."""
        return None

    async def aclose(self) -> None:
        providers, self._providers = self._providers, {}
        for provider in providers.values():
            await provider.aclose()

    def _provider(self, key: Route) -> Provider:
        if key not in self._providers:
            self._providers[key] = self._factories[key]()
        return self._providers[key]


def in_process_client(
    *,
    env: Mapping[str, str] = os.environ,
    recordings: RecordingLoader | None = None,
    replay_speed: float = 0.0,
    on_changed_request: Callable[[ChangedRequest], None] = ignore_change,
) -> InProcessLLMClient:
    """A client with every provider. Keys are looked up in `env` at each call; `recordings` resolves what a replay provider names."""
    return InProcessLLMClient(
        {
            Route.REPLAY: lambda: ReplayProvider(recordings or RecordingFiles(), speed=replay_speed, on_change=on_changed_request),
        }
    )
