"""Pure module: the stages a chain amounts to, and what follows the ones that are done."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

from tarsy.config.resolve.resolved import ResolvedChain, ResolvedStage
from tarsy.domain.conclusion import StageConclusions, best_analysis
from tarsy.domain.evidence import agent_prefix
from tarsy.domain.stage import StageType
from tarsy.domain.status import RunStatus, SessionStatus, session_status_of
from tarsy.session.challenge import challenge_stages
from tarsy.session.planned_stage import PlannedStage

EXECUTIVE_SUMMARY = "executive summary"


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
    """Write a chain out: its stages, a synthesis after each that has several agents, a challenge where it has one, an executive summary at the end unless it is switched off."""
    planned: list[PlannedStage] = []
    places = count()
    for stage in chain.stages:
        planned += _investigation(stage, len(planned), places)
    # Of several agents without a synthesis, none speaks for all.
    planned[-1] = replace(planned[-1], concludes=len(planned[-1].agents) == 1)
    planned += challenge_stages(chain, planned[-1], places)
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


def next_step(stages: Sequence[PlannedStage], done: Sequence[StageOutcome], passed_over: Collection[int] = ()) -> NextStep:
    """Decide what follows the stages in `done`; those `passed_over`, by index, are not needed."""
    if not done:
        return RunStage(stages[0])
    last = done[-1]
    if last.planned.stage_type is StageType.EXEC_SUMMARY:
        return _finish_with_summary(done, last)
    if last.status is not RunStatus.COMPLETED and last.planned.part is None:
        error = last.error or f"stage '{last.planned.name}' ended {last.status}"
        return FinishSession(status=session_status_of(last.status), final_analysis=concluded(done), partial=True, error=error)
    following = next((stage for stage in stages if stage.index > last.planned.index and stage.index not in passed_over), None)
    if following is None:
        return FinishSession(status=SessionStatus.COMPLETED, final_analysis=concluded(done))
    return RunStage(following)


def ended_by_ceiling(stages: Sequence[PlannedStage], done: Sequence[StageOutcome], ceiling: str) -> FinishSession | None:
    """How a session ends whose ceiling was met in the stages in `done`; None: what is left is worth trying, and needs little.

    That there was no money for a synthesis or a summary is no failure: what was found stands.
    """
    left = [stage for stage in stages if stage.index > done[-1].planned.index and stage.part is None]
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

    If only a second look or its summary was left, its time was enough.
    """
    match next_step(stages, done):
        case FinishSession() as finish if status is RunStatus.TIMED_OUT:
            return finish
        case RunStage(planned) if status is RunStatus.TIMED_OUT and (planned.stage_type is StageType.EXEC_SUMMARY or planned.part):
            return FinishSession(status=SessionStatus.COMPLETED, final_analysis=analysis, executive_summary_error=reason)
        case _:
            pass
    return FinishSession(status=session_status_of(status), final_analysis=analysis, partial=True, error=reason)


def concluded(done: Sequence[StageOutcome]) -> str | None:
    """The best analysis of the stages that have ended."""
    return best_analysis([StageConclusions(outcome.planned.stage_type, outcome.analyses) for outcome in done])
