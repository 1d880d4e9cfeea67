"""A model client that replays a recording up to a step, and then calls a live model."""

from collections.abc import AsyncGenerator
from dataclasses import replace

from tarsy.agent.ports import LLMClient
from tarsy.config.resolve.resolved import ResolvedProvider, reaches
from tarsy.domain.llm import Chunk, GenerateInput, LLMBackend, LLMHealth
from tarsy.domain.recording import Recording


class ForkingClient:
    """Replays the first `from_step` calls of a recording and sends later ones to a live model; without a live model, replays all."""

    def __init__(self, recording: Recording, from_step: int, live: ResolvedProvider | None, inner: LLMClient) -> None:
        self._played = {(call.track, call.turn) for call in recording.calls[:from_step]}
        self._live = live
        self._inner = inner

    async def generate(self, request: GenerateInput) -> AsyncGenerator[Chunk]:
        if self._live and (request.track, request.turn) not in self._played:
            fits = reaches(request.backend, self._live.type, self._live.model)
            request = replace(request, provider=self._live, backend=request.backend if fits else LLMBackend.LANGCHAIN)
        async for chunk in self._inner.generate(request):
            yield chunk

    async def health(self) -> LLMHealth:
        return await self._inner.health()

    async def aclose(self) -> None:
        await self._inner.aclose()
