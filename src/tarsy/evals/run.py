"""Running cases: each trial is a session in a database of its own, worked on by the queue as in production."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import anyio

from tarsy.config.load.loader import LoadedConfig, load_config
from tarsy.evals.fork import ForkedModels, source_of
from tarsy.evals.investigators.scripted_models import ScriptedModels
from tarsy.evals.judge import agrees
from tarsy.evals.pipeline import Pipeline, pipeline
from tarsy.evals.plan import Plan, Planned, trials_of
from tarsy.evals.trial import Trial, trial_of
from tarsy.evals.trial_file import TrialFile
from tarsy.evals.worlds.forked_tools import ForkedServers
from tarsy.evals.worlds.tool_servers import WorldServers
from tarsy.evals.worlds.world import World
from tarsy.evals.worlds.world_files import open_world
from tarsy.settings import Settings
from tarsy.wiring import llm_client


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
        elsewhere = {one.session.id: one.elsewhere for one in missing if one.elsewhere}
        live = llm_client(replace(settings, replay_speed=0.0), loaded.env)
        models = ForkedModels(forks, ScriptedModels({one.case.name: one.case for one in missing}, live))
        recordings = {one.case.name: one.fork.source.recording for one in missing if one.fork}
        tools = ForkedServers(recordings, WorldServers(worlds)) if forks else WorldServers(worlds)
        async with pipeline(settings, loaded, models, tools, elsewhere, jobs=self._plan.jobs) as running:
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
