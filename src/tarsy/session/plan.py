"""Pure module: the stages a chain amounts to, and what follows the ones that are done."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedChain, ResolvedStage
from tarsy.domain.analysis import StageConclusions, best_analysis
from tarsy.domain.budget import UNLIMITED, Ceiling
from tarsy.domain.evidence import agent_prefix
from tarsy.domain.stage import ParallelType, StageType, SuccessPolicy
from tarsy.domain.status import RunStatus, SessionStatus, session_status_of

EXECUTIVE_SUMMARY = "executive summary"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStage:
    index: int
    name: str
    stage_type: StageType
    agents: tuple[ResolvedAgentConfig, ...]
    success_policy: SuccessPolicy = SuccessPolicy.ANY
    parallel_type: ParallelType | None = None
    # The index of the stage that this one speaks about.
    references: int | None = None
    # What the evidence ids of each agent begin with; empty for agents that call no tools.
    evidence_prefixes: tuple[str, ...] = ()
    # Of all its agents together.
    budget: Ceiling = UNLIMITED
    # Whether what its agent says becomes the session's analysis, with its verdict.
    concludes: bool = False

    def evidence_prefix(self, agent_index: int) -> str:
        return self.evidence_prefixes[agent_index - 1] if self.evidence_prefixes else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageOutcome:
    """A finished stage: its end, and what each agent that completed concluded."""

    planned: PlannedStage
    stage_id: str
    status: RunStatus
    analyses: tuple[tuple[str, str], ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True)
class RunStage:
    planned: PlannedStage


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishSession:
    status: SessionStatus
    final_analysis: str | None = None
    partial: bool = False
    executive_summary: str | None = None
    executive_summary_error: str | None = None
    error: str | None = None
    # The ceiling that ended it, in words for people.
    ceiling: str | None = None


NextStep = RunStage | FinishSession


def plan(chain: ResolvedChain) -> tuple[PlannedStage, ...]:
    """Write a chain out: its stages, a synthesis after each that has several agents, an executive summary at the end unless it is switched off."""
    planned: list[PlannedStage] = []
    places = count()
    for stage in chain.stages:
        planned += _investigation(stage, len(planned), places)
    # Of several agents without a synthesis, none speaks for all.
    planned[-1] = replace(planned[-1], concludes=len(planned[-1].agents) == 1)
    if chain.executive_summary is None:
        return tuple(planned)
    summary = PlannedStage(index=len(planned), name=EXECUTIVE_SUMMARY, stage_type=StageType.EXEC_SUMMARY, agents=(chain.executive_summary,))
    return (*planned, summary)


def _investigation(stage: ResolvedStage, index: int, places: Iterator[int]) -> Iterator[PlannedStage]:
    yield PlannedStage(
        index=index,
        name=stage.name,
        stage_type=StageType.INVESTIGATION,
        agents=stage.agents,
        success_policy=stage.success_policy,
        parallel_type=stage.parallel_type,
        evidence_prefixes=tuple(agent_prefix(next(places)) for _ in stage.agents),
        budget=stage.budget,
    )
    if stage.synthesis and len(stage.agents) > 1:
        name, agents = f"{stage.name} synthesis", (stage.synthesis,)
        yield PlannedStage(index=index + 1, name=name, stage_type=StageType.SYNTHESIS, agents=agents, references=index)


def next_step(stages: Sequence[PlannedStage], done: Sequence[StageOutcome]) -> NextStep:
    """Decide what follows the stages in `done`."""
    if not done:
        return RunStage(stages[0])
    last = done[-1]
    if last.planned.stage_type is StageType.EXEC_SUMMARY:
        return _finish_with_summary(done, last)
    if last.status is not RunStatus.COMPLETED:
        error = last.error or f"stage '{last.planned.name}' ended {last.status}"
        return FinishSession(status=session_status_of(last.status), final_analysis=concluded(done), partial=True, error=error)
    if len(done) == len(stages):
        return FinishSession(status=SessionStatus.COMPLETED, final_analysis=concluded(done))
    return RunStage(stages[len(done)])


def ended_by_ceiling(stages: Sequence[PlannedStage], done: Sequence[StageOutcome], ceiling: str) -> FinishSession | None:
    """How a session ends whose ceiling was met in the stages in `done`; None: what is left is worth trying, and needs little.

    That there was no money for a synthesis or a summary is no failure: what was found stands.
    """
    left = stages[len(done) :]
    if left and left[0].stage_type is not StageType.INVESTIGATION and done[-1].status is RunStatus.COMPLETED:
        return None
    analysis = concluded(done)
    if analysis is None:
        return FinishSession(status=SessionStatus.FAILED, error=done[-1].error, ceiling=ceiling)
    summary = f"not written because of {ceiling}" if stages[-1].stage_type is StageType.EXEC_SUMMARY else None
    return FinishSession(status=SessionStatus.COMPLETED, final_analysis=analysis, executive_summary_error=summary, ceiling=ceiling)


def _finish_with_summary(done: Sequence[StageOutcome], summary: StageOutcome) -> FinishSession:
    """The summary is a help, not a condition: the session is complete without it."""
    succeeded = summary.status is RunStatus.COMPLETED
    return FinishSession(
        status=SessionStatus.COMPLETED,
        final_analysis=concluded(done),
        executive_summary=summary.analyses[0][1] if succeeded and summary.analyses else None,
        executive_summary_error=None if succeeded else summary.error or f"ended {summary.status}",
    )


def cut_short(
    stages: Sequence[PlannedStage], done: Sequence[StageOutcome], status: RunStatus, reason: str, analysis: str | None
) -> FinishSession:
    """How a session ends that was stopped after `done`: with the best `analysis` there is, also of the stage that had not ended.

    If only its summary was left, its time was enough.
    """
    match next_step(stages, done):
        case FinishSession() as finish if status is RunStatus.TIMED_OUT:
            return finish
        case RunStage(planned) if status is RunStatus.TIMED_OUT and planned.stage_type is StageType.EXEC_SUMMARY:
            return FinishSession(status=SessionStatus.COMPLETED, final_analysis=analysis, executive_summary_error=reason)
        case _:
            pass
    return FinishSession(status=session_status_of(status), final_analysis=analysis, partial=True, error=reason)


def concluded(done: Sequence[StageOutcome]) -> str | None:
    """The best analysis of the stages that have ended."""
    return best_analysis([StageConclusions(outcome.planned.stage_type, outcome.analyses) for outcome in done])
