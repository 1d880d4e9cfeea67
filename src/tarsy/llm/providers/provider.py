"""What every provider is to the clients above: one method that streams, one that lets go."""

from collections.abc import AsyncGenerator
from typing import Protocol

from tarsy.domain.llm import Chunk, GenerateInput
from tarsy.llm.access import Access


class Provider(Protocol):
    """Speaks to one kind of model service. Failures are ErrorChunks; only cancellation and bugs raise."""

    def generate(self, request: GenerateInput, access: Access) -> AsyncGenerator[Chunk]: ...

    async def aclose(self) -> None: ...


class ProviderNotInstalledError(Exception):
    """The package that speaks to a vendor is an extra and not installed; the message holds the command."""
