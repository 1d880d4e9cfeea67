"""What every provider is to the clients above: one method that streams, one that lets go."""

from collections.abc import AsyncGenerator
from typing import Protocol

from tarsy.llm.client import Chunk, GenerateInput


class Provider(Protocol):
    """Speaks to one kind of model service. Failures are ErrorChunks; only cancellation and bugs raise."""

    def generate(self, request: GenerateInput) -> AsyncGenerator[Chunk]: ...

    async def aclose(self) -> None: ...
