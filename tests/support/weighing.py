"""Listens to model calls and compares what was estimated before each with what its usage says after it."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field

from tarsy.agent.budget.token_estimate import TokenEstimate
from tarsy.agent.ports import LLMClient
from tarsy.domain.llm import Chunk, GenerateInput, LLMHealth
from tarsy.domain.usage import TokenUsage


@dataclass
class Weighing:
    """Passes every call on. `ratios`: estimated by counted tokens, of the first call of each execution and of the later ones."""

    inner: LLMClient
    first: list[float] = field(default_factory=list[float])
    later: list[float] = field(default_factory=list[float])
    _estimates: dict[str, TokenEstimate] = field(default_factory=dict[str, TokenEstimate])

    async def generate(self, request: GenerateInput) -> AsyncGenerator[Chunk]:
        known = request.execution_id in self._estimates
        estimate = self._estimates.setdefault(request.execution_id, TokenEstimate())
        async with aclosing(self.inner.generate(request)) as stream:
            async for chunk in stream:
                if isinstance(chunk, TokenUsage) and chunk.input_tokens:
                    (self.later if known else self.first).append(estimate.tokens(request) / chunk.input_tokens)
                    estimate.learn(request, chunk)
                yield chunk

    async def health(self) -> LLMHealth:
        return await self.inner.health()

    async def aclose(self) -> None:
        await self.inner.aclose()
