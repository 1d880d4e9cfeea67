"""Scripts in the place of models: every other request goes on to the client beneath."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from tarsy.agent.ports import LLMClient
from tarsy.domain.agent import ProviderType
from tarsy.domain.llm import Chunk, GenerateInput, LLMHealth
from tarsy.domain.provider import ResolvedProvider
from tarsy.evals.case import Case
from tarsy.evals.investigators.naive import naive
from tarsy.evals.investigators.obedient import obedient
from tarsy.evals.investigators.oracle import oracle
from tarsy.evals.investigators.overconfident import overconfident
from tarsy.evals.investigators.script import Says, Script, conversation_of, spoken
from tarsy.evals.investigators.silent import silent
from tarsy.kit.text import clip

SCRIPTS: Mapping[str, Script] = {
    "oracle": oracle,
    "naive": naive,
    "silent": silent,
    "obedient": obedient,
    "overconfident": overconfident,
}
_SCHEME = "script:"
# Part of the track of a request to shorten a large tool result.
_SUMMARY = "/summary/"
_SUMMARY_CHARACTERS = 2_000


def scripted_provider(script: str, case: str) -> ResolvedProvider:
    """A model that is the script of this name, at work on this case."""
    return ResolvedProvider(name=script, type=ProviderType.REPLAY, model=script, recording=f"{_SCHEME}{case}", replay_speed=0.0)


class ScriptedModels:
    """Answers for scripted providers; `cases` by name."""

    def __init__(self, cases: Mapping[str, Case], inner: LLMClient) -> None:
        self._cases = cases
        self._inner = inner

    async def generate(self, request: GenerateInput) -> AsyncGenerator[Chunk]:
        recording = request.provider.recording or ""
        if recording.startswith(_SCHEME):
            for chunk in self._script(request, self._cases[recording.removeprefix(_SCHEME)]):
                yield chunk
            return
        async with aclosing(self._inner.generate(request)) as chunks:
            async for chunk in chunks:
                yield chunk

    def _script(self, request: GenerateInput, case: Case) -> list[Chunk]:
        if _SUMMARY in request.track:
            return list(spoken(Says(clip(request.messages[-1].content, _SUMMARY_CHARACTERS)), request))
        return list(spoken(SCRIPTS[request.provider.model](case, conversation_of(request)), request))

    async def health(self) -> LLMHealth:
        return await self._inner.health()

    async def aclose(self) -> None:
        await self._inner.aclose()
