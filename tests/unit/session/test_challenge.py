"""When a verdict is challenged, and what comes of it."""

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
from tarsy.domain.verdict import Challenge, Confidence, Ruling, Verdict, VerdictOutcome, parse_challenge, verdict_fields
from tarsy.session.executor import finished_stages
from tarsy.session.plan import FinishSession, PlannedStage, StageOutcome, next_step, plan, skipped_stages, verdict_after_challenge

VERDICT = verdict_fields(Verdict(outcome=VerdictOutcome.FAULT, mechanism="It is full."))
REFUTES = "It is not.\n\n```ruling\nresult: refuted\nobjection: The disk is empty.\n```"


def challenged(**settings: Any) -> ResolvedChain:
    return chain(stage(agent("A"), name="look")).model_copy(update={"challenge": ResolvedChallenge(**settings)})


def record(index: int, kind: StageType, text: str, **metadata: Any) -> StageRecord:
    """A finished stage whose agent concluded `text`."""
    return stage_record(index, kind, Ran(text, metadata=metadata))


def concluded(confidence: str = "high") -> StageRecord:
    return record(0, StageType.INVESTIGATION, "It is full.", verdict=VERDICT, confidence={"shown": confidence, "reason": ""})


def objection(text: str, verified: int = 1) -> StageRecord:
    counts = {"cited": 1, "verified": verified, "id_only": 0, "failed": 1 - verified, "uncited": 0}
    return record(1, StageType.CHALLENGE, text, citations=counts)


def names_left(settled: ResolvedChain, *records: StageRecord) -> list[str]:
    stages = plan(settled)
    over = skipped_stages(settled, stages, records)
    return [one.name for one in stages if one.index not in over][len(records) :]


def test_a_chain_with_a_challenge_has_another_agent_with_the_same_tools_and_few_turns() -> None:
    settled = challenged(max_iterations=4)
    _, challenge, revision, summary = plan(settled)
    assert (challenge.stage_type, challenge.agents[0].agent_name, challenge.agents[0].max_iterations) == (
        StageType.CHALLENGE,
        "ChallengeAgent",
        4,
    )
    assert challenge.agents[0].mcp_servers == settled.stages[0].agents[0].mcp_servers
    assert challenge.evidence_prefixes == ("B",)
    assert (revision.agents[0].type, revision.concludes, summary.stage_type) == (AgentType.SYNTHESIS, True, StageType.EXEC_SUMMARY)
    assert "challenge" not in chain(stage(agent("A"), name="look")).model_dump(mode="json")


def test_the_challenger_of_an_agent_that_sends_others_has_their_tools_and_sends_none() -> None:
    lead = agent("Lead").model_copy(update={"mcp_servers": (), "sub_agents": (agent("A").model_copy(update={"mcp_servers": ("logs",)}),)})
    _, challenge, _, _ = plan(chain(stage(lead, name="look")).model_copy(update={"challenge": ResolvedChallenge()}))
    assert (challenge.agents[0].mcp_servers, challenge.agents[0].sub_agents) == (("logs",), ())


def test_every_verdict_is_challenged_or_only_those_below_a_confidence() -> None:
    assert names_left(challenged(), concluded("high"))[0] == "challenge"
    doubted = challenged(when_below=Confidence.HIGH)
    assert names_left(doubted, concluded("high")) == ["executive summary"]
    assert names_left(doubted, concluded("medium"))[0] == "challenge"


def test_where_a_ceiling_is_met_nothing_is_left_for_a_second_look() -> None:
    settled = challenged()
    stages = plan(settled)
    assert skipped_stages(settled, stages, [concluded()], at_ceiling=True) == {1, 2}
    # One that has begun is ended.
    assert skipped_stages(settled, stages, [concluded(), objection(REFUTES)], at_ceiling=True) == {2}


def test_an_answer_without_a_verdict_holds_nothing_to_be_refuted() -> None:
    assert names_left(challenged(), record(0, StageType.INVESTIGATION, "It is full.")) == ["executive summary"]


@pytest.mark.parametrize(
    ("text", "verified", "left"),
    [
        (REFUTES, 1, ["revision", "executive summary"]),
        # A claim whose quotation was not found is no refutation.
        (REFUTES, 0, ["executive summary"]),
        ("```ruling\nresult: upheld\n```", 1, ["executive summary"]),
        ("I cannot say.", 1, ["executive summary"]),
    ],
)
def test_the_answer_is_given_once_more_only_where_it_was_refuted_with_evidence(text: str, verified: int, left: list[str]) -> None:
    assert names_left(challenged(), concluded(), objection(text, verified)) == left


def test_a_weakened_verdict_is_shown_with_medium_confidence_and_the_objection() -> None:
    verdict = concluded().executions[0].verdict
    shown = verdict_after_challenge(verdict, [concluded(), objection(REFUTES, verified=0)])
    assert shown is not None
    assert (shown.confidence, shown.confidence_reason) == (Confidence.MEDIUM, "A second look weakened it: The disk is empty.")
    assert verdict_after_challenge(verdict, [concluded(), objection("result: upheld")]) == verdict


def test_a_challenge_that_fails_costs_the_session_nothing() -> None:
    settled = challenged()
    stages = plan(settled)
    done = [
        StageOutcome(stages[0], RunStatus.COMPLETED, "It is full."),
        StageOutcome(stages[1], RunStatus.FAILED, error="no model"),
    ]
    step = next_step(stages, done, {2})
    assert isinstance(step, PlannedStage)
    assert step.stage_type is StageType.EXEC_SUMMARY
    bare = plan(settled.model_copy(update={"executive_summary": None}))
    assert next_step(bare, done, {2}) == FinishSession(status=SessionStatus.COMPLETED)
    assert best_analysis([concluded(), record(1, StageType.CHALLENGE, "")]) == "It is full."


def test_a_session_that_is_continued_knows_which_stages_were_passed_over() -> None:
    stages = plan(challenged(when_below=Confidence.HIGH))
    summary = record(3, StageType.EXEC_SUMMARY, "Full.")
    assert [one.planned.index for one in finished_stages(stages, [concluded(), summary])] == [0, 3]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```ruling\nresult: upheld\n```", Challenge(Ruling.UPHELD, "")),
        ("**Result:** Weakened\n**Objection:** `Not so sure.`", Challenge(Ruling.WEAKENED, "Not so sure.")),
        ("result: upheld\nresult: refuted\nobjection: a\nobjection: b", Challenge(Ruling.REFUTED, "b")),
        ("The result was upheld.", None),
        # Each would take minutes by a pattern that reads blank lines, or marks, from each of their places.
        ("\n" * 100_000 + "result: upheld", Challenge(Ruling.UPHELD, "")),
        ("result: upheld\nobjection: No" + " *" * 100_000, Challenge(Ruling.UPHELD, "No")),
    ],
    ids=["a block", "bold type", "several", "prose", "blank lines", "marks"],
)
def test_a_ruling_is_read_leniently_and_the_last_one_counts(text: str, expected: Challenge | None) -> None:
    assert parse_challenge(text) == expected
