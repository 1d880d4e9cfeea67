"""Forks: a recorded investigation is played up to some step, and another model or prompt continues from there on the same evidence."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import datetime

from tarsy.agent.execution import SessionOverrides
from tarsy.agent.ports import LLMClient
from tarsy.config.resolve.resolved import ResolvedChain
from tarsy.demo.samples import load_sample, recording_loader
from tarsy.domain.llm import Chunk, GenerateInput, LLMHealth
from tarsy.domain.recording import RecordedCall, RecordedInput, Recording, reaches_fork, track_of
from tarsy.domain.run_input import InputKind
from tarsy.domain.usage import TokenUsage
from tarsy.evals.cases import Case, EvalError, WorldKind
from tarsy.kit.clock import FixedClock
from tarsy.llm.in_process import in_process_client
from tarsy.llm.providers.replay import RecordingFiles
from tarsy.session.plan import plan
from tarsy.session.playback import played_from

# Every trial of a case needs its recording; it is read once.
_FILES = RecordingFiles()


@dataclass(frozen=True, slots=True)
class ForkSource:
    """A recorded investigation, and the name under which it is played."""

    recording: Recording
    name: str


def source_of(case: Case) -> ForkSource | None:
    """Return the recorded investigation of a case, or None if its world is not a recording."""
    file = case.file.world.file
    match case.file.world.kind:
        case WorldKind.RECORDING:
            return ForkSource(_FILES(str(case.world_path)), str(case.world_path))
        case WorldKind.SAMPLE:
            provider = load_sample(file).chain.stages[0].agents[0].provider
            return ForkSource(load_sample(file).recording, provider.recording or "")
        case WorldKind.CLUSTER | WorldKind.SNAPSHOT:
            return None


@dataclass(frozen=True, slots=True)
class Fork:
    """The calls that are played; later ones go to the model."""

    source: ForkSource
    played: tuple[RecordedCall, ...]

    @property
    def places(self) -> frozenset[tuple[str, int]]:
        return frozenset((call.track, call.turn) for call in self.played)

    @property
    def inputs(self) -> Sequence[RecordedInput]:
        """Return the inputs that had reached the investigation when it was forked. Later ones belong to the recorded investigation."""

        def reached(given: RecordedInput) -> bool:
            if given.kind is InputKind.READ:
                return (given.track, given.turn) in self.places
            if given.kind is InputKind.CUT_SHORT:
                return reaches_fork(given, self.played)
            # The others reach a request; the first request that is not played gets those that were recorded for it.
            return given.turn == 0 or (given.track, given.turn - 1) in self.places

        return [given for given in self.source.recording.inputs if reached(given)]

    def overrides(self, now: datetime | None) -> SessionOverrides | None:
        """Return the overrides of the forked session. Its time is that of the last recorded input, or `now`."""
        left = max((datetime.fromisoformat(given.fields["at"]) for given in self.inputs if "at" in given.fields), default=now)
        return SessionOverrides(clock=FixedClock(left), recorded_inputs=tuple(given.placed() for given in self.inputs)) if left else None


def forked(case: Case, source: ForkSource, chain: ResolvedChain, step: int) -> Fork:
    """Play the first `step` recorded calls of the chain's agents; a negative step counts from the last call.

    Raises:
        EvalError: there is no such call.
    """
    # The calls of the chain's agents: neither summaries of the whole, nor answers to questions.
    tracks = tuple(
        track_of(stage.index, stage.name, index, agent.agent_name)
        for stage in plan(chain)
        for index, agent in enumerate(stage.agents, start=1)
    )
    below = tuple(f"{track}/" for track in tracks)
    calls = [call for call in source.recording.calls if call.track in tracks or call.track.startswith(below)]
    played = step if step >= 0 else len(calls) + step
    if not 0 <= played < len(calls):
        has = f"has {len(calls)} calls of the agents of chain {chain.chain_id}" if calls else f"has no call of chain {chain.chain_id}"
        raise EvalError(f"The case {case.name} cannot be forked at {step}: its recording {has}.")
    return Fork(source, tuple(calls[:played]))


class ForkedModels:
    """Plays the first calls of forked sessions, by session id, and sends the others to `inner`."""

    def __init__(self, forks: Mapping[str, Fork], inner: LLMClient) -> None:
        self._forks = forks
        self._inner = inner
        # In this process, which has the files, even if the models run in another.
        self._recorded = in_process_client(env={}, recordings=recording_loader(_FILES))

    async def generate(self, request: GenerateInput) -> AsyncGenerator[Chunk]:
        fork = self._forks.get(request.session_id)
        played = fork is not None and (request.track, request.turn) in fork.places
        if fork and played:
            recorded = replace(request, provider=played_from(fork.source.name)(request.provider))
            generated = self._recorded.generate(recorded)
        else:
            generated = self._inner.generate(request)
        async with aclosing(generated) as chunks:
            async for chunk in chunks:
                # A played call was paid for when it was recorded, perhaps to another model.
                yield TokenUsage() if played and isinstance(chunk, TokenUsage) else chunk

    async def health(self) -> LLMHealth:
        return await self._inner.health()

    async def aclose(self) -> None:
        await self._recorded.aclose()
        await self._inner.aclose()
