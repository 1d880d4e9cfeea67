"""Running a plan: each trial is a session in the pipeline of production, on a database of its own that is thrown away."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import anyio

from tarsy.agent.execution import SessionOverrides
from tarsy.agent.ports import LLMClient, ToolServers
from tarsy.config.load.loader import LoadedConfig, load_config
from tarsy.db.embedded.server import temporary_postgres
from tarsy.db.session.recordings import RecordingSource
from tarsy.db.skill_texts import SkillTextRepository
from tarsy.domain.recording import Recording
from tarsy.domain.session import NewSession
from tarsy.domain.usage import TokenUsage
from tarsy.evals.attempts import Attempt, attempt_of
from tarsy.evals.fork import ForkedModels, source_of
from tarsy.evals.grading import agrees
from tarsy.evals.models import ScriptedModels
from tarsy.evals.plan import Plan, trials_of
from tarsy.evals.trials import Trial, TrialFile, trial_of
from tarsy.evals.worlds.loading import open_world
from tarsy.evals.worlds.tool_servers import ForkedServers, WorldServers
from tarsy.kit.clock import SystemClock
from tarsy.kit.groups import single_errors
from tarsy.llm.prices import PriceList
from tarsy.settings import ProcessRole, Settings
from tarsy.wiring.application import Application, application
from tarsy.wiring.infrastructure import Overrides, llm_client

# A scripted case takes a tenth of a second.
POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Running workers, and the client of the models that they use."""

    application: Application
    llm: LLMClient

    async def attempt(self, session: NewSession) -> Attempt:
        """Submit a session, wait for its end, and return its result."""
        services, repositories = self.application.services, self.application.services.repositories
        masked = replace(session, alert_data=services.mask(session.alert_data))
        await repositories.sessions.insert(masked)
        ended = await repositories.sessions.get(masked.id)
        while not ended.status.is_final:
            await anyio.sleep(POLL_SECONDS)
            ended = await repositories.sessions.get(masked.id)
        recording = await RecordingSource(self.application.engine).read(masked.id)
        seconds = (ended.completed_at - ended.started_at).total_seconds() if ended.completed_at and ended.started_at else 0.0
        spent = (await repositories.interactions.run(masked.id)).total_spending
        # A sum without the unpriced calls would be mistaken for the whole cost.
        cost = float(spent.usd) if spent.usd is not None and not spent.unpriced_calls else None
        return attempt_of(recording or Recording(), seconds=seconds, error=ended.error_message or "", cost_usd=cost)


@asynccontextmanager
async def pipeline(
    settings: Settings, loaded: LoadedConfig, llm: LLMClient, tools: ToolServers, overrides: Mapping[str, SessionOverrides], *, jobs: int
) -> AsyncGenerator[Pipeline]:
    """Run the application as in production with `jobs` workers, on these tools; `overrides` are those of single sessions, by id."""
    async with temporary_postgres() as (directory, url):
        own = replace(settings, data_dir=directory, database_url=url, role=ProcessRole.WORKER, replay_speed=0.0)
        replaced = Overrides(tools=tools, llm=llm, approvals=None, sessions=overrides)
        async with application(own, loaded=isolated(loaded, jobs), overrides=replaced) as running:
            with single_errors():
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(running.pool.run, name="workers")
                    yield Pipeline(running, llm)
                    running.pool.stop_now()


def isolated(loaded: LoadedConfig, jobs: int) -> LoadedConfig:
    """Return the configuration with `jobs` workers, and without the limits, budgets and traces of the installation."""
    queue = loaded.config.queue.model_copy(update={"worker_count": jobs, "max_concurrent_sessions": jobs, "max_queue_size": None})
    env = {name: value for name, value in loaded.env.items() if not name.startswith("OTEL_")}
    system = loaded.config.system.model_copy(update={"budgets": ()})
    return replace(loaded, config=replace(loaded.config, queue=queue, system=system), env=env)


@dataclass(frozen=True, slots=True)
class EvalResult:
    """The trials of a plan that were made, now or before, and the number of those that the budget did not allow."""

    trials: tuple[Trial, ...]
    left_out: int


OnTrial = Callable[[Trial, int, int], None]


async def run_evals(settings: Settings, plan: Plan, kept: TrialFile, progress: OnTrial) -> EvalResult:
    """Make every trial of the plan that is not kept yet; `progress` is called with each trial, its number and their count.

    Raises:
        ConfigError: the configuration or a world cannot be used.
        EvalError: a model, a fork or the budget cannot be used.
    """
    loaded = load_config(settings.config_dir, settings.env)
    worlds = {case.name: open_world(case) for case in plan.cases}
    planned = tuple(trials_of(plan, loaded, worlds))
    known = kept.read()
    missing = [one for one in planned if one.identity not in known]
    waiting, done, spent = iter(missing), len(planned) - len(missing), 0.0
    prices = PriceList(loaded.config.system.cost_estimation, loaded.env)

    async def make_trials(running: Pipeline) -> None:
        nonlocal done, spent
        for one in waiting:
            if plan.budget is not None and spent >= plan.budget.amount:
                return
            attempt = await running.attempt(one.session)
            judged, used = await agrees(running.llm, plan.judge, one.case, attempt) if plan.judge else (None, TokenUsage())
            trial = trial_of(one.case, one.identity, attempt, judged)
            kept.append(trial)
            if plan.budget:
                spent += plan.budget.spent_by(one.identity.model, trial.total_tokens, trial.cost_usd)
            if plan.budget and plan.judge:
                price = await prices.price(plan.judge, SystemClock().now(), used.input_tokens)
                spent += plan.budget.spent_by(plan.judge.name, used.total_tokens, float(price.cost(used)) if price else None)
            done += 1
            progress(trial, done, len(planned))

    if missing:
        forks = {one.session.id: one.fork for one in missing if one.fork}
        overrides = {one.session.id: one.overrides for one in missing if one.overrides}
        live = llm_client(replace(settings, replay_speed=0.0), loaded.env)
        models = ForkedModels(forks, ScriptedModels({one.case.name: one.case for one in missing}, live))
        recordings = {one.case.name: one.fork.source.recording for one in missing if one.fork}
        tools = ForkedServers(recordings, WorldServers(worlds)) if forks else WorldServers(worlds)
        async with pipeline(settings, loaded, models, tools, overrides, jobs=plan.jobs) as running:
            # The skills that recorded chains name may differ from those of today.
            sources = [source for one in missing if (source := source_of(one.case))]
            skills = SkillTextRepository(running.application.engine)
            await skills.store([text for source in sources for text in source.recording.skills.values()])
            async with anyio.create_task_group() as tasks:
                for number in range(min(plan.jobs, len(missing))):
                    tasks.start_soon(make_trials, running, name=f"eval {number}")
        known = kept.read()
    found = tuple(known[one.identity] for one in planned if one.identity in known)
    return EvalResult(found, len(planned) - len(found))
