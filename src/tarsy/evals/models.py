"""The models that a measurement compares: configured ones, scripted investigators, and the recorded one of the samples."""

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass

from tarsy.agent.ports import LLMClient
from tarsy.config.load.loader import LoadedConfig
from tarsy.config.problems import did_you_mean
from tarsy.config.resolve.resolved import resolved_provider
from tarsy.demo.chain import replay_provider
from tarsy.domain.llm import Chunk, GenerateInput, LLMHealth, ProviderType, ResolvedProvider
from tarsy.evals.cases import Case, EvalError, WorldKind
from tarsy.evals.investigators.adversaries import ADVERSARIES
from tarsy.evals.investigators.naive import naive, overconfident
from tarsy.evals.investigators.oracle import obedient, oracle, silent
from tarsy.evals.investigators.script import Reply, Script, chunks_of, conversation_of
from tarsy.kit.text import clip

SCRIPTS: Mapping[str, Script] = {
    "oracle": oracle,
    "naive": naive,
    "silent": silent,
    "obedient": obedient,
    "overconfident": overconfident,
    **ADVERSARIES,
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
            script, case = SCRIPTS[request.provider.model], self._cases[recording.removeprefix(_SCHEME)]
            summarises = _SUMMARY in request.track
            summary = Reply(clip(request.messages[-1].content, _SUMMARY_CHARACTERS))
            for chunk in chunks_of(summary if summarises else script(case, conversation_of(request)), request):
                yield chunk
            return
        async with aclosing(self._inner.generate(request)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def health(self) -> LLMHealth:
        return await self._inner.health()

    async def aclose(self) -> None:
        await self._inner.aclose()


# What a model once answered about the sample incidents.
RECORDED = "recorded"


@dataclass(frozen=True, slots=True)
class Model:
    name: str
    provider: Callable[[Case], ResolvedProvider]
    # Scripts use one tool call format, independent of the one of the chain.
    is_script: bool = False
    # A recording has answers to what it was recorded on.
    fits: Callable[[Case], bool] = lambda _: True


def find_models(loaded: LoadedConfig, names: Iterable[str]) -> tuple[Model, ...]:
    """The models of these names; without any, the one that alerts are investigated with.

    Raises:
        EvalError: one is neither configured nor a script, or there is no key for it.
    """
    config, wanted = loaded.config, list(dict.fromkeys(names))
    if not wanted:
        default = config.defaults.llm_provider or config.default_provider
        if default is None:
            raise EvalError("No model is configured. Name one with --model: oracle, naive, silent, obedient, overconfident need no key.")
        wanted = [default]
    models: list[Model] = []
    for name in wanted:
        if name in SCRIPTS:
            models.append(Model(name, lambda case, name=name: scripted_provider(name, case.name), is_script=True))
        elif name == RECORDED:
            models.append(
                Model(
                    name,
                    lambda case: replay_provider(case.file.world.file, 0.0),
                    fits=lambda case: case.file.world.kind is WorldKind.SAMPLE,
                )
            )
        else:
            models.append(_configured(loaded, name))
    return tuple(models)


def _configured(loaded: LoadedConfig, name: str) -> Model:
    providers = loaded.config.llm_providers
    if name not in providers:
        raise EvalError(f'There is no model "{name}"; {did_you_mean(name, [*providers, *SCRIPTS, RECORDED])}')
    if providers[name].type is not ProviderType.REPLAY and (missing := providers[name].missing_variables(loaded.env)):
        raise EvalError(f'The model "{name}" cannot be asked: set {" and ".join(missing)} in the environment or in .env.')
    resolved = resolved_provider(name, providers[name])
    return Model(name, lambda _: resolved)
