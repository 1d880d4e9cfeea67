"""When a stage acts on a verdict, and what follows if it does not, or fails."""

from dataclasses import replace
from typing import Any

import pytest

from support.agent_scenario import agent, chain, stage
from support.stage_records import Ran, stage_record
from tarsy.config.resolve.resolved import ResolvedChain, ResolvedChallenge
from tarsy.domain.conclusion import best_analysis
from tarsy.domain.execution import AgentType
from tarsy.domain.history import StageRecord
from tarsy.domain.stage import StageType
from tarsy.domain.status import RunStatus, SessionStatus
from tarsy.domain.verdict import Verdict, VerdictOutcome, verdict_fields
from tarsy.session.executor import finished_stages
from tarsy.session.plan import (
    FinishSession,
    PlannedStage,
    actions_left_out,
    ended_by_ceiling,
    ended_early,
    next_step,
    plan,
    session_verdict,
    skipped_stages,
)

INVESTIGATION, CHALLENGE, ACTION = StageType.INVESTIGATION, StageType.CHALLENGE, StageType.ACTION


def acting(**changes: Any) -> ResolvedChain:
    """One stage that investigates, and two that act."""
    acts = (stage(agent(name, type=AgentType.ACTION), name=name) for name in ("first", "second"))
    return chain(stage(agent("A"), name="look"), *acts).model_copy(update=changes)


def record(index: int, kind: StageType, text: str, status: RunStatus = RunStatus.COMPLETED, **metadata: Any) -> StageRecord:
    return stage_record(index, kind, Ran(text, status, metadata), status=status)


def concluded(confidence: str = "high", outcome: VerdictOutcome = VerdictOutcome.FAULT) -> StageRecord:
    verdict = verdict_fields(Verdict(outcome=outcome, mechanism="It is full."))
    return record(0, INVESTIGATION, "It is full.", verdict=verdict, confidence={"shown": confidence, "reason": "Nothing is quoted."})


def following(settled: ResolvedChain, *records: StageRecord, at_ceiling: bool = False) -> str:
    """The name of the stage that follows, or how the session ends."""
    stages = plan(settled)
    step = next_step(stages, finished_stages(stages, records), skipped_stages(settled, stages, records, at_ceiling=at_ceiling))
    return step.name if isinstance(step, PlannedStage) else step.status


def test_actions_come_after_the_challenge_and_before_the_summary_and_conclude_nothing() -> None:
    settled = acting(challenge=ResolvedChallenge())
    stages = plan(settled)
    assert [one.name for one in stages] == ["look", "challenge", "revision", "first", "second", "executive summary"]
    assert [one.index for one in stages] == list(range(6))
    assert [one.name for one in stages if one.concludes] == ["look", "revision"]
    # The challenger has the tools of the investigator, not of those who act.
    assert stages[1].agents[0].type is AgentType.DEFAULT
    assert [one.evidence_prefixes for one in stages[3:5]] == [("C",), ("D",)]


def test_a_stage_acts_on_a_sure_verdict_and_the_next_one_only_if_it_succeeded() -> None:
    settled = acting()
    assert following(settled, concluded()) == "first"
    assert following(settled, concluded(), record(1, ACTION, "Done.")) == "second"
    assert following(settled, concluded(), record(1, ACTION, "", RunStatus.FAILED)) == "executive summary"
    assert following(settled, concluded(), at_ceiling=True) == "executive summary"


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (concluded("medium"), "it needs high confidence, and the verdict has medium (Nothing is quoted)"),
        (concluded("high", VerdictOutcome.INCONCLUSIVE), "the verdict is inconclusive"),
        (record(0, INVESTIGATION, "It is full."), "the analysis has no verdict"),
    ],
)
def test_a_stage_does_not_act_on_anything_less_and_says_why(found: StageRecord, why: str) -> None:
    settled = acting()
    assert following(settled, found) == "executive summary"
    assert actions_left_out(settled, {0}, session_verdict([found])) == tuple(
        f'Stage "{name}" was not begun: {why}.' for name in ("first", "second")
    )


def test_a_stage_that_was_not_begun_on_a_sure_verdict_names_all_that_may_be_the_reason() -> None:
    # As after a time-out during the challenge, which leaves the session completed.
    left_out = actions_left_out(acting(challenge=ResolvedChallenge()), {0, 1}, session_verdict([concluded()]))
    assert left_out == tuple(
        f'Stage "{name}" was not begun: a stage before it failed, a ceiling was met, or the session\'s time was up.'
        for name in ("first", "second")
    )


def test_stages_that_nobody_chose_are_named() -> None:
    settled = acting()
    unchosen = settled.model_copy(update={"stages": settled.investigating, "acting_left_out": ("first",)})
    assert actions_left_out(unchosen, {0}, session_verdict([concluded()])) == (
        'Stage "first" was left out: neither a route nor a person chose this chain.',
    )


def test_a_verdict_that_a_challenge_weakened_is_not_acted_on() -> None:
    weakened = record(1, CHALLENGE, "```ruling\nresult: weakened\nobjection: It may be the network.\n```")
    assert following(acting(challenge=ResolvedChallenge()), concluded(), weakened) == "executive summary"
    upheld = record(1, CHALLENGE, "```ruling\nresult: upheld\n```")
    assert following(acting(challenge=ResolvedChallenge()), concluded(), upheld) == "first"


def test_a_session_is_complete_without_its_actions_however_they_end() -> None:
    settled = acting()
    stages = plan(settled)
    done = finished_stages(stages, [concluded()])
    late = ended_early(stages, done, RunStatus.TIMED_OUT, "too late")
    assert (late.status, late.partial, late.executive_summary_error) == (SessionStatus.COMPLETED, False, "too late")
    failed = finished_stages(stages, [concluded(), record(1, ACTION, "", RunStatus.FAILED)])
    # Its summary needs little, and is tried.
    assert ended_by_ceiling(stages, failed, "its ceiling", has_analysis=True) is None
    summary = replace(failed[-1], planned=stages[-1], status=RunStatus.COMPLETED, conclusion="Full.")
    finish = next_step(stages, [*failed, summary])
    assert isinstance(finish, FinishSession)
    assert (finish.status, finish.partial) == (SessionStatus.COMPLETED, False)
    assert best_analysis([concluded(), record(1, ACTION, "", RunStatus.FAILED)]) == "It is full."


def test_a_session_without_a_summary_that_is_out_of_time_for_its_actions_lacks_none() -> None:
    stages = plan(acting(executive_summary=None))
    late = ended_early(stages, finished_stages(stages, [concluded()]), RunStatus.TIMED_OUT, "too late")
    assert (late.status, late.executive_summary_error) == (SessionStatus.COMPLETED, None)
