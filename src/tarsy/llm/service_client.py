"""The way to an LLM service that costs nothing until it is used: protobuf and HTTP/2 are loaded with the first question, beside the event loop."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING

from tarsy.domain.llm import Chunk, GenerateInput, LLMHealth
from tarsy.kit.imports import load

if TYPE_CHECKING:
    from tarsy.llm.grpc_client import GrpcLLMClient


class ServiceLLMClient:
    """Asks the LLM service at `address`, as `GrpcLLMClient` does, which it makes when it is first asked."""

    def __init__(self, address: str, *, env: Mapping[str, str]) -> None:
        self._address = address
        self._env = env
        self._made: GrpcLLMClient | None = None

    def generate(self, request: GenerateInput) -> AsyncGenerator[Chunk]:
        # Once it is there, it stands between no chunk and its reader.
        return self._made.generate(request) if self._made is not None else self._generate_first(request)

    async def _generate_first(self, request: GenerateInput) -> AsyncGenerator[Chunk]:
        client = await self._client()
        async with aclosing(client.generate(request)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def health(self) -> LLMHealth:
        return await (await self._client()).health()

    async def aclose(self) -> None:
        if self._made is not None:
            await self._made.aclose()

    async def _client(self) -> "GrpcLLMClient":
        await load("tarsy.llm.grpc_client")
        from tarsy.llm.grpc_client import GrpcLLMClient  # noqa: PLC0415 - just loaded, off the event loop

        if self._made is None:
            self._made = GrpcLLMClient(self._address, env=self._env)
        return self._made
