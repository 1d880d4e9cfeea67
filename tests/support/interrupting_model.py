"""A recorded model during whose answers something happens."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field

from tarsy.agent.ports import LLMClient
from tarsy.domain.llm import Chunk, GenerateInput, LLMHealth, TextChunk
from tarsy.domain.recording import Recording
from tarsy.llm.in_process import in_process_client


@dataclass
class InterruptingModel:
    """Awaits `happens` for each call, as soon as its text has begun."""

    recording: Recording
    happens: Callable[[GenerateInput], Awaitable[None]]
    _inner: LLMClient = field(init=False)

    def __post_init__(self) -> None:
        self._inner = in_process_client(env={}, recordings=lambda _: self.recording)

    async def generate(self, request: GenerateInput) -> AsyncGenerator[Chunk]:
        begun = False
        async for chunk in self._inner.generate(request):
            yield chunk
            if not begun and isinstance(chunk, TextChunk):
                # Its text so far is on the timeline by now.
                begun = True
                await self.happens(request)

    async def health(self) -> LLMHealth:
        return await self._inner.health()

    async def aclose(self) -> None:
        await self._inner.aclose()
