"""The pipeline of production in a database of its own that is thrown away: an eval touches nothing of the installation."""

import tempfile
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import anyio

from tarsy.agent.execution import SessionOverrides
from tarsy.agent.ports import LLMClient, ToolServers
from tarsy.config.load.loader import LoadedConfig, load_config
from tarsy.db.embedded.server import embedded_postgres
from tarsy.db.session.recordings import RecordingSource
from tarsy.db.skill_texts import SkillTextRepository
from tarsy.domain.recording import Recording
from tarsy.domain.session import AlertSession, NewSession
from tarsy.evals.attempts import Attempt, attempt_of
from tarsy.evals.fork import ForkedModels, source_of
from tarsy.evals.grading import agrees
from tarsy.evals.models import ScriptedModels
from tarsy.evals.plan import Plan, Planned, trials_of
from tarsy.evals.trials import Trial, TrialFile, trial_of
from tarsy.evals.worlds.loading import open_world
from tarsy.evals.worlds.tool_servers import ForkedServers, WorldServers
from tarsy.evals.worlds.world import World
from tarsy.kit.groups import single_errors
from tarsy.settings import Role, Settings
from tarsy.wiring import Application, application, llm_client

# A scripted case takes a tenth of a second: asking more seldom would be most of the run, more often would be work for nothing.
POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Running workers, and the way to the models that they ask."""

    application: Application
    llm: LLMClient

    async def keep_skills(self, texts: Iterable[str]) -> None:
        """Store the texts of skills that recorded chains name."""
        await SkillTextRepository(self.application.engine).keep(texts)

    async def attempt(self, session: NewSession) -> Attempt:
        """Submit a session and read what came of it."""
        services = self.application.services
        masked = replace(session, alert_data=services.mask(session.alert_data))
        await services.repositories.sessions.insert(masked)
        ended = await self._end_of(masked.id)
        recording = await RecordingSource(self.application.engine).read(masked.id)
        took = (ended.completed_at - ended.started_at).total_seconds() if ended.completed_at and ended.started_at else 0.0
        spent = (await services.repositories.interactions.run(masked.id)).total_spending
        # A sum from which something is missing would pass for the whole.
        cost = float(spent.usd) if spent.usd is not None and not spent.unpriced_calls else None
        return attempt_of(recording or Recording(), seconds=took, error=ended.error_message or "", cost_usd=cost)

    async def _end_of(self, session_id: str) -> AlertSession:
        while True:
            session = await self.application.services.repositories.sessions.get(session_id)
            if session.status.is_final:
                return session
            await anyio.sleep(POLL_SECONDS)


@asynccontextmanager
async def pipeline(
    settings: Settings, loaded: LoadedConfig, llm: LLMClient, tools: ToolServers, overrides: Mapping[str, SessionOverrides], *, jobs: int
) -> AsyncGenerator[Pipeline]:
    """The application as in production with `jobs` workers, on these tools; `overrides` are those of some sessions, by id."""
    with _scratch_directory() as directory:
        async with embedded_postgres(directory, throwaway=True) as url:
            own = replace(settings, data_dir=directory, database_url=url, role=Role.WORKER, replay_speed=0.0)
            async with application(own, tools=tools, llm=llm, loaded=apart(loaded, jobs), overrides=overrides) as running:
                with single_errors():
                    async with anyio.create_task_group() as tasks:
                        if running.pool:
                            tasks.start_soon(running.pool.run, name="workers")
                        yield Pipeline(running, llm)
                        if running.pool:
                            running.pool.stop_now()


def apart(loaded: LoadedConfig, jobs: int) -> LoadedConfig:
    """The configuration with so many workers; what the installation may spend and what it traces are for its alerts, not for these."""
    queue = loaded.config.queue.model_copy(update={"worker_count": jobs, "max_concurrent_sessions": jobs})
    env = {name: value for name, value in loaded.env.items() if not name.startswith("OTEL_")}
    system = loaded.config.system.model_copy(update={"budgets": ()})
    return replace(loaded, config=replace(loaded.config, queue=queue, system=system), env=env)


@contextmanager
def _scratch_directory() -> Generator[Path]:
    with tempfile.TemporaryDirectory(prefix="tarsy-eval-") as directory:
        path = Path(directory)
        # The database's account has to get to its own directory in there, which it closes to all other accounts.
        path.chmod(0o711)
        yield path


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
        NotReplayableError: a recording cannot be played as it is asked for.
    """
    loaded = load_config(settings.config_dir, settings.env)
    worlds = {case.name: open_world(case) for case in plan.cases}
    planned = tuple(trials_of(plan, loaded, worlds))
    known = kept.read()
    missing = [one for one in planned if one.identity not in known]
    if missing:
        await _Trials(plan, kept, progress, done=len(planned) - len(missing), total=len(planned)).make(settings, loaded, worlds, missing)
        known = kept.read()
    found = tuple(known[one.identity] for one in planned if one.identity in known)
    return Outcome(found, len(planned) - len(found))


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
        forks = {one.session.id: one.fork for one in missing if one.fork}
        overrides = {one.session.id: one.overrides for one in missing if one.overrides}
        live = llm_client(replace(settings, replay_speed=0.0), loaded.env)
        models = ForkedModels(forks, ScriptedModels({one.case.name: one.case for one in missing}, live))
        recordings = {one.case.name: one.fork.source.recording for one in missing if one.fork}
        tools = ForkedServers(recordings, WorldServers(worlds)) if forks else WorldServers(worlds)
        async with pipeline(settings, loaded, models, tools, overrides, jobs=self._plan.jobs) as running:
            await running.keep_skills(_recorded_skills(missing))
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


def _recorded_skills(missing: Sequence[Planned]) -> Iterator[str]:
    """The texts that chains of recorded sessions name, which may be others than those of today."""
    sources = [source_of(one.case) for one in missing]
    return (text for source in sources if source for text in source.recording.skills.values())
