"""Running cases: each trial is a session in a database of its own, worked on by the queue as in production."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import uuid4

import anyio

from tarsy.config.load.loader import LoadedConfig, load_config
from tarsy.config.resolve.resolved import ResolvedChain
from tarsy.demo.samples import load_sample
from tarsy.domain.provider import ResolvedProvider
from tarsy.domain.session import NewSession
from tarsy.evals.budget import Budget
from tarsy.evals.case import Case, WorldKind
from tarsy.evals.chain import chain_for, configuration_digest, configured_chain, model_digest, prompt_digest, spoken_natively
from tarsy.evals.investigators.scripted_models import ScriptedModels
from tarsy.evals.judge import agrees
from tarsy.evals.model import Model
from tarsy.evals.pipeline import Pipeline, pipeline
from tarsy.evals.trial import Identity, Trial, trial_of
from tarsy.evals.trial_file import TrialFile
from tarsy.evals.worlds.world import World
from tarsy.evals.worlds.world_files import open_world
from tarsy.kit.clock import FixedClock, SystemClock
from tarsy.llm.providers.replay import RecordingFiles
from tarsy.session.elsewhere import Elsewhere
from tarsy.session.playback import chain_of
from tarsy.settings import Settings
from tarsy.wiring import llm_client


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


@dataclass(frozen=True, slots=True)
class Planned:
    """A trial that may have been made already."""

    identity: Identity
    case: Case
    session: NewSession
    # Where and when it takes place; None: here and now.
    elsewhere: Elsewhere | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """Every trial that was asked for and is there, and how many the budget did not allow."""

    trials: tuple[Trial, ...]
    left_out: int


Progress = Callable[[Trial, int, int], None]


async def run_evals(settings: Settings, plan: Plan, kept: TrialFile, progress: Progress) -> Outcome:
    """Make every trial of the plan that is not kept yet; `progress` gets each trial with its number and their count.

    Raises:
        ConfigError: the configuration or a world cannot be used.
    """
    loaded = load_config(settings.config_dir, settings.env)
    worlds = {case.name: open_world(case) for case in plan.cases}
    planned = tuple(_planned(plan, loaded, worlds))
    known = kept.read()
    missing = [one for one in planned if one.identity not in known]
    if missing:
        await _Trials(plan, kept, progress, done=len(planned) - len(missing), total=len(planned)).make(settings, loaded, worlds, missing)
        known = kept.read()
    found = tuple(known[one.identity] for one in planned if one.identity in known)
    return Outcome(found, len(planned) - len(found))


def _planned(plan: Plan, loaded: LoadedConfig, worlds: Mapping[str, World]) -> Iterable[Planned]:
    prompts = prompt_digest()
    # Run by run, so that a run that is stopped early has seen every case.
    for run in range(1, plan.runs + 1):
        for case in plan.cases:
            for model in (model for model in plan.models if model.fits(case)):
                provider = model.provider(case)
                base = _base_chain(plan, loaded, case, provider)
                chain = chain_for(spoken_natively(base) if model.is_script else base, case, worlds[case.name], provider)
                identity = Identity(
                    case=case.name,
                    model=model.name,
                    run=run,
                    case_digest=case.digest,
                    model_digest=model_digest(provider),
                    prompt_digest=prompts,
                    configuration_digest=configuration_digest(chain),
                )
                now = worlds[case.name].now
                session = _session(case, identity, chain, now or SystemClock().now())
                yield Planned(identity, case, session, Elsewhere(clock=FixedClock(now)) if now else None)


def _base_chain(plan: Plan, loaded: LoadedConfig, case: Case, provider: ResolvedProvider) -> ResolvedChain:
    if case.file.world.kind is WorldKind.SAMPLE and plan.chain_id is None:
        return load_sample(case.file.world.file).chain
    if case.file.world.kind is WorldKind.RECORDING and plan.chain_id is None:
        recording = RecordingFiles()(str(case.world_path))
        if recording.chain is not None:
            return chain_of(recording, lambda _: provider)
    return configured_chain(loaded.config, case, plan.chain_id)


class _Trials:
    """Makes trials, so many at once, and keeps each as it ends."""

    def __init__(self, plan: Plan, kept: TrialFile, progress: Progress, *, done: int, total: int) -> None:
        self._plan = plan
        self._kept = kept
        self._progress = progress
        self._done = done
        self._total = total
        self._spent = 0.0

    async def make(self, settings: Settings, loaded: LoadedConfig, worlds: Mapping[str, World], missing: Sequence[Planned]) -> None:
        models = ScriptedModels({one.case.name: one.case for one in missing}, llm_client(replace(settings, replay_speed=0.0), loaded.env))
        elsewhere = {one.session.id: one.elsewhere for one in missing if one.elsewhere}
        async with pipeline(settings, loaded, models, worlds, elsewhere, jobs=self._plan.jobs) as running:
            waiting = iter(missing)
            async with anyio.create_task_group() as tasks:
                for number in range(min(self._plan.jobs, len(missing))):
                    tasks.start_soon(self._work_off, running, waiting, name=f"eval {number}")

    async def _work_off(self, running: Pipeline, waiting: Iterable[Planned]) -> None:
        for planned in waiting:
            if self._plan.budget is not None and self._spent >= self._plan.budget.amount:
                return
            attempt = await running.attempt(planned.session)
            judged = await agrees(running.llm, self._plan.judge, planned.case, attempt) if self._plan.judge else None
            trial = trial_of(planned.case, planned.identity, attempt, judged)
            self._kept.append(trial)
            self._spent += self._plan.budget.spent_by(trial) if self._plan.budget else 0.0
            self._done += 1
            self._progress(trial, self._done, self._total)


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
