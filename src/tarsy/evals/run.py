"""Running cases: each trial is a session in a database of its own, worked on by the queue as in production."""

import hashlib
import tempfile
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

import anyio

from tarsy.agent.ports import LLMClient
from tarsy.config.load.loader import LoadedConfig, load_config
from tarsy.config.resolve.resolved import ResolvedChain
from tarsy.db.embedded.server import embedded_postgres
from tarsy.db.recordings import RecordingSource
from tarsy.demo.samples import load_sample
from tarsy.domain.provider import ResolvedProvider
from tarsy.domain.recording import Recording
from tarsy.domain.session import AlertSession, NewSession
from tarsy.evals.attempt import Attempt
from tarsy.evals.budget import Budget
from tarsy.evals.case import Case, WorldKind
from tarsy.evals.chain import chain_for, configuration_digest, configured_chain, model_digest, prompt_digest, spoken_natively
from tarsy.evals.investigators.scripted_models import ScriptedModels
from tarsy.evals.judge import agrees
from tarsy.evals.model import Model
from tarsy.evals.reading import attempt_of
from tarsy.evals.trial import Identity, Trial, trial_of
from tarsy.evals.trial_file import TrialFile
from tarsy.evals.worlds.tool_servers import WorldServers
from tarsy.evals.worlds.world import World
from tarsy.evals.worlds.world_files import open_world
from tarsy.kit.clock import SystemClock
from tarsy.kit.groups import single_errors
from tarsy.llm.providers.replay import RecordingFiles
from tarsy.session.playback import chain_of
from tarsy.settings import Role, Settings
from tarsy.wiring import Application, application, llm_client

# A scripted case takes a tenth of a second: asking more seldom would be most of the run, more often would be work for nothing.
POLL_SECONDS = 0.05


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
    chain: ResolvedChain


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
                yield Planned(identity, case, chain)


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
        async with _pipeline(settings, loaded, self._plan, worlds) as running:
            waiting = iter(missing)
            async with anyio.create_task_group() as tasks:
                for number in range(min(self._plan.jobs, len(missing))):
                    tasks.start_soon(self._work_off, running, waiting, name=f"eval {number}")

    async def _work_off(self, running: "_Pipeline", waiting: Iterable[Planned]) -> None:
        for planned in waiting:
            if self._plan.budget is not None and self._spent >= self._plan.budget.amount:
                return
            attempt = await _attempt(running, planned)
            judged = await agrees(running.llm, self._plan.judge, planned.case, attempt) if self._plan.judge else None
            trial = trial_of(planned.case, planned.identity, attempt, judged)
            self._kept.append(trial)
            self._spent += self._plan.budget.spent_by(trial) if self._plan.budget else 0.0
            self._done += 1
            self._progress(trial, self._done, self._total)


@dataclass(frozen=True, slots=True)
class _Pipeline:
    application: Application
    llm: LLMClient


@asynccontextmanager
async def _pipeline(settings: Settings, loaded: LoadedConfig, plan: Plan, worlds: Mapping[str, World]) -> AsyncGenerator[_Pipeline]:
    """The application as in production, in a database that is thrown away: an eval touches nothing of the installation."""
    with _scratch_directory() as directory:
        own = replace(settings, data_dir=directory, role=Role.WORKER, replay_speed=0.0)
        models = ScriptedModels({case.name: case for case in plan.cases}, llm_client(own, loaded.env))
        async with embedded_postgres(directory, throwaway=True) as url:
            own = replace(own, database_url=url)
            async with application(own, tools=WorldServers(worlds), llm=models, loaded=_apart(loaded, plan.jobs)) as running:
                with single_errors():
                    async with anyio.create_task_group() as tasks:
                        if running.pool:
                            tasks.start_soon(running.pool.run, name="workers")
                        yield _Pipeline(running, models)
                        if running.pool:
                            running.pool.stop_now()


def _apart(loaded: LoadedConfig, jobs: int) -> LoadedConfig:
    """The configuration with so many workers; the installation's traces are of its alerts, not of these."""
    queue = loaded.config.queue.model_copy(update={"worker_count": jobs, "max_concurrent_sessions": jobs})
    env = {name: value for name, value in loaded.env.items() if not name.startswith("OTEL_")}
    return replace(loaded, config=replace(loaded.config, queue=queue), env=env)


@contextmanager
def _scratch_directory() -> Generator[Path]:
    with tempfile.TemporaryDirectory(prefix="tarsy-eval-") as directory:
        path = Path(directory)
        # The database's account has to get to its own directory in there, which it closes to all other accounts.
        path.chmod(0o711)
        yield path


async def _attempt(pipeline: _Pipeline, planned: Planned) -> Attempt:
    running = pipeline.application
    session = _session(planned, running.services.mask(planned.case.file.alert))
    await running.services.sessions.insert(session)
    ended = await _end_of(running, session.id)
    recording = await RecordingSource(running.engine).read(session.id)
    took = (ended.completed_at - ended.started_at).total_seconds() if ended.completed_at and ended.started_at else 0.0
    spent = (await running.services.interactions.run(session.id)).total_spending
    # A sum from which something is missing would pass for the whole.
    cost = float(spent.usd) if spent.usd is not None and not spent.unpriced_calls else None
    return attempt_of(recording or Recording(), seconds=took, error=ended.error_message or "", cost_usd=cost)


async def _end_of(running: Application, session_id: str) -> AlertSession:
    while True:
        session = await running.services.sessions.get(session_id)
        if session.status.is_final:
            return session
        await anyio.sleep(POLL_SECONDS)


def _session(planned: Planned, alert: str) -> NewSession:
    case, identity = planned.case, planned.identity
    return NewSession(
        id=str(uuid4()),
        alert_data=alert,
        alert_type=case.file.alert_type,
        chain_id=planned.chain.chain_id,
        chain_snapshot=planned.chain.model_dump(mode="json"),
        author="eval",
        # The same in every run of the same trial, so that a model is asked the same.
        nonce=hashlib.sha256(f"{identity.case}/{identity.run}".encode()).hexdigest()[:32],
        runbook=case.file.runbook,
        created_at=SystemClock().now(),
    )
