"""Scripts in the place of models: every other request goes on to the client beneath."""

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial

from tarsy.agent.ports import LLMClient
from tarsy.config.load.loader import LoadedConfig
from tarsy.config.problems import did_you_mean
from tarsy.config.resolve.resolved import resolved_provider
from tarsy.demo.chain import replay_provider
from tarsy.domain.llm import Chunk, GenerateInput, LLMHealth, ProviderType, ResolvedProvider
from tarsy.evals.cases import Case, WorldKind
from tarsy.evals.investigators.naive import naive, overconfident
from tarsy.evals.investigators.oracle import obedient, oracle, silent
from tarsy.evals.investigators.script import Says, Script, conversation_of, spoken
from tarsy.kit.text import clip
from tarsy.session.playback import NotReplayableError

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


# What a model once said about the sample incidents.
RECORDED = "recorded"


class NoSuchModelError(NotReplayableError):
    """A model cannot be measured; the operator can act."""


@dataclass(frozen=True, slots=True)
class Model:
    name: str
    provider: Callable[[Case], ResolvedProvider]
    # Scripts speak of tools in one way only, whatever the chain says.
    is_script: bool = False
    # A recording has answers to what it was recorded on.
    fits: Callable[[Case], bool] = lambda _: True


def find_models(loaded: LoadedConfig, names: Iterable[str]) -> tuple[Model, ...]:
    """The models of these names; without any, the one that alerts are investigated with.

    Raises:
        NoSuchModelError: one is neither configured nor a script, or there is no key for it.
    """
    wanted = tuple(dict.fromkeys(names)) or _default(loaded)
    return tuple(_find(loaded, name) for name in wanted)


def _default(loaded: LoadedConfig) -> tuple[str, ...]:
    name = loaded.config.defaults.llm_provider or loaded.config.default_provider
    if name is None:
        raise NoSuchModelError(f"No model is configured. Name one with --model: {', '.join(SCRIPTS)} need no key.")
    return (name,)


def _find(loaded: LoadedConfig, name: str) -> Model:
    if name in SCRIPTS:
        return Model(name, partial(_scripted, name), is_script=True)
    if name == RECORDED:
        return Model(name, _recorded, fits=_is_recorded)
    providers = loaded.config.llm_providers
    if name not in providers:
        raise NoSuchModelError(f'There is no model "{name}"; {did_you_mean(name, [*providers, *SCRIPTS, RECORDED])}')
    if providers[name].type is not ProviderType.REPLAY and (missing := providers[name].missing_variables(loaded.env)):
        raise NoSuchModelError(f'The model "{name}" cannot be asked: set {" and ".join(missing)} in the environment or in .env.')
    resolved = resolved_provider(name, providers[name])
    return Model(name, lambda _: resolved)


def _recorded(case: Case) -> ResolvedProvider:
    return replay_provider(case.file.world.file, 0.0)


def _is_recorded(case: Case) -> bool:
    return case.file.world.kind is WorldKind.SAMPLE


def _scripted(name: str, case: Case) -> ResolvedProvider:
    return scripted_provider(name, case.name)
