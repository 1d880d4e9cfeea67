"""What a measurement may spend. Pure module."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

from tarsy.agent.execution import SessionOverrides
from tarsy.config.load.loader import LoadedConfig
from tarsy.config.resolve.resolved import ResolvedChain, ResolvedChallenge
from tarsy.demo.samples import load_sample
from tarsy.domain.llm import ResolvedProvider
from tarsy.domain.session import NewSession
from tarsy.domain.tool import ToolCalling
from tarsy.evals.cases import Case, WorldKind
from tarsy.evals.chain import chain_for, configuration_digest, configured_chain, model_digest, prompt_digest, spoken_natively
from tarsy.evals.fork import Fork, NoForkError, forked, source_of
from tarsy.evals.models import Model
from tarsy.evals.trials import Identity, Trial
from tarsy.evals.worlds.world import World
from tarsy.kit.clock import FixedClock, SystemClock
from tarsy.session.playback import NotReplayableError, recorded_chain, session_from

_AMOUNT = re.compile(r"\s*\$?\s*(?P<number>\d+(?:\.\d+)?)\s*(?P<scale>[kM]?)\s*(?P<unit>usd|\$|tokens?|)\s*", re.IGNORECASE)
_SCALES = {"": 1, "k": 1_000, "m": 1_000_000}


class NoBudgetError(NotReplayableError):
    """A budget cannot be kept to; the person who gave it can act."""


@dataclass(frozen=True, slots=True)
class Budget:
    """An amount of dollars, or of tokens. Models whose price is not known can only be held to tokens."""

    amount: float
    in_tokens: bool

    def spent_by(self, trial: Trial) -> float:
        """What a trial took of it.

        Raises:
            NoBudgetError: it is in dollars, and what the trial cost is not known.
        """
        if self.in_tokens:
            return trial.total_tokens
        if trial.cost_usd is None:
            raise NoBudgetError(f"The price of {trial.identity.model} is not known: give the budget in tokens, such as --budget 2Mtokens.")
        return trial.cost_usd


def read_budget(text: str) -> Budget:
    """Read `5usd`, `$5`, `5` or `2Mtokens`.

    Raises:
        NoBudgetError: it is none of these.
    """
    found = _AMOUNT.fullmatch(text)
    if found is None:
        raise NoBudgetError(f'"{text}" is no budget: write 5usd or 2Mtokens.')
    return Budget(float(found["number"]) * _SCALES[found["scale"].lower()], found["unit"].lower().startswith("token"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be measured."""

    cases: tuple[Case, ...]
    models: tuple[Model, ...]
    runs: int = 1
    jobs: int = 4
    # None: the chain that the configuration has for an alert of the case's type.
    chain_id: str | None = None
    # No trial begins once it is spent.
    budget: Budget | None = None
    # A second opinion on what was concluded; never part of whether a trial passed.
    judge: ResolvedProvider | None = None
    # How many recorded calls are played before the model is asked, of cases that have a recording; the others are left out.
    fork_at: int | None = None
    # Whether verdicts are challenged; None: as the chain says.
    challenge: bool | None = None


@dataclass(frozen=True, slots=True)
class Planned:
    """A trial that may have been made already."""

    identity: Identity
    case: Case
    session: NewSession
    # When it takes place; None: now.
    overrides: SessionOverrides | None
    fork: Fork | None = None


def trials_of(plan: Plan, loaded: LoadedConfig, worlds: Mapping[str, World]) -> Iterator[Planned]:
    """Every trial of the plan.

    Raises:
        UnknownEntryError: there is no such chain.
        NoForkError: a case cannot be forked there, or none can be forked at all.
    """
    prompts = prompt_digest()
    cases = plan.cases if plan.fork_at is None else _with_recording(plan.cases)
    # Run by run, so that a run that is stopped early has seen every case.
    for run in range(1, plan.runs + 1):
        for case in cases:
            for model in (model for model in plan.models if model.fits(case)):
                yield _Trial(plan, loaded, worlds[case.name], case, model).planned(run, prompts)


def _with_recording(cases: tuple[Case, ...]) -> tuple[Case, ...]:
    found = tuple(case for case in cases if case.file.world.kind in (WorldKind.RECORDING, WorldKind.SAMPLE))
    if not found:
        raise NoForkError("None of these cases has a recording to fork: make one of a session with `tarsy eval add`.")
    return found


@dataclass(frozen=True, slots=True)
class _Trial:
    """What a trial is made of."""

    plan: Plan
    loaded: LoadedConfig
    world: World
    case: Case
    model: Model

    def planned(self, run: int, prompts: str) -> Planned:
        provider = self.model.provider(self.case)
        chain = self._chain(provider)
        identity = Identity(
            case=self.case.name,
            model=self.name,
            run=run,
            case_digest=self.case.digest,
            model_digest=model_digest(provider),
            prompt_digest=prompts,
            configuration_digest=configuration_digest(chain),
        )
        if fork := self._fork(chain):
            return Planned(identity, self.case, self._forked_session(fork, identity, chain), fork.overrides(self.world.now), fork)
        session = _session(self.case, identity, chain, self._now)
        return Planned(identity, self.case, session, SessionOverrides(clock=FixedClock(self._now)) if self.world.now else None)

    @property
    def name(self) -> str:
        step = self.plan.fork_at
        return self.model.name if step is None else f"{self.model.name} from call {step}"

    @property
    def _now(self) -> datetime:
        return self.world.now or SystemClock().now()

    def _chain(self, provider: ResolvedProvider) -> ResolvedChain:
        base = _base_chain(self.plan, self.loaded, self.case, provider)
        natively = self.model.is_script and self.plan.fork_at is None
        chain = chain_for(spoken_natively(base) if natively else base, self.case, self.world, provider)
        if self.plan.challenge is None:
            return chain
        return chain.model_copy(update={"challenge": ResolvedChallenge() if self.plan.challenge else None})

    def _fork(self, chain: ResolvedChain) -> Fork | None:
        source = source_of(self.case) if self.plan.fork_at is not None else None
        if source is None or self.plan.fork_at is None:
            return None
        if self.model.is_script and any(agent.tool_calling is ToolCalling.REACT for stage in chain.stages for agent in stage.agents):
            raise NoForkError(
                f"{self.model.name} cannot go on where {self.case.name} was left: it is a script, and that recording is in ReAct."
            )
        return forked(self.case, source, chain, self.plan.fork_at)

    def _forked_session(self, fork: Fork, identity: Identity, chain: ResolvedChain) -> NewSession:
        recording = fork.source.recording
        return session_from(recording, chain, now=self._now) if recording.alert else _session(self.case, identity, chain, self._now)


def _base_chain(plan: Plan, loaded: LoadedConfig, case: Case, provider: ResolvedProvider) -> ResolvedChain:
    if case.file.world.kind is WorldKind.SAMPLE and plan.chain_id is None:
        return load_sample(case.file.world.file).chain
    source = source_of(case) if case.file.world.kind is WorldKind.RECORDING and plan.chain_id is None else None
    if source and source.recording.chain is not None:
        return recorded_chain(source.recording, lambda _: provider)
    return configured_chain(loaded.config, case, plan.chain_id)


def _session(case: Case, identity: Identity, chain: ResolvedChain, now: datetime) -> NewSession:
    return NewSession(
        id=str(uuid4()),
        alert_data=case.file.alert,
        alert_type=case.file.alert_type,
        chain_id=chain.chain_id,
        chain_snapshot=chain.model_dump(mode="json"),
        author="eval",
        # The same in every run of the same trial, so that a model is asked the same.
        nonce=hashlib.sha256(f"{identity.case}/{identity.run}".encode()).hexdigest()[:32],
        runbook=case.file.runbook,
        created_at=now,
    )
