"""The analysis of a session: whose conclusions it is made of, with the verdict and the citations of the same agents."""

import pytest

from support.stage_records import Ran, stage_record
from tarsy.domain.citation import CitationCounts
from tarsy.domain.conclusion import best_analysis, citation_counts, concluding_executions
from tarsy.domain.stage import StageType
from tarsy.domain.status import RunStatus
from tarsy.domain.verdict import Verdict, VerdictOutcome, verdict_fields
from tarsy.session.plan import session_verdict

LOOK, SYNTHESIS = StageType.INVESTIGATION, StageType.SYNTHESIS
DISK, DRAFT = "It is the disk.", Ran("It may be the network.", RunStatus.CANCELLED)


def checked(text: str, verified: int, status: RunStatus = RunStatus.COMPLETED) -> Ran:
    """An agent whose conclusion has a verdict and checked citations."""
    counts = {"cited": verified, "verified": verified, "id_only": 0, "failed": 0, "uncited": 0}
    verdict = verdict_fields(Verdict(outcome=VerdictOutcome.FAULT, mechanism=text))
    return Ran(text, status, {"citations": counts, "verdict": verdict, "confidence": {"shown": "high", "reason": ""}})


def test_the_analysis_is_that_of_the_newest_stage_that_concludes() -> None:
    first, last = stage_record(0, LOOK, Ran("The pods restart.")), stage_record(1, LOOK, Ran(f" {DISK}\n"))
    others = [stage_record(index, kind, Ran("No.")) for index, kind in enumerate((StageType.CHALLENGE, StageType.ACTION), start=2)]
    assert best_analysis([]) is None
    assert best_analysis([stage_record(0, LOOK, Ran("", RunStatus.FAILED), status=RunStatus.FAILED)]) is None
    assert best_analysis([first]) == "The pods restart."
    assert best_analysis([first, last, *others]) == DISK
    assert best_analysis([first, stage_record(1, LOOK, Ran("", RunStatus.FAILED), status=RunStatus.FAILED)]) == "The pods restart."
    assert best_analysis([first, stage_record(1, LOOK, Ran(DISK), Ran("", RunStatus.ACTIVE), status=RunStatus.ACTIVE)]) == DISK


def test_several_agents_that_completed_are_named() -> None:
    looked = stage_record(0, LOOK, Ran(DISK), Ran(""), Ran("The switch was off."))
    assert best_analysis([looked]) == f"## A\n\n{DISK}\n\n## C\n\nThe switch was off."
    assert session_verdict([looked]) is None


@pytest.mark.parametrize("status", [RunStatus.CANCELLED, RunStatus.TIMED_OUT, RunStatus.FAILED])
def test_an_agent_that_was_stopped_does_not_take_the_analysis_from_one_that_completed(status: RunStatus) -> None:
    records = [stage_record(0, LOOK, checked(DISK, 3), checked("It may be the network.", 1, status))]
    assert best_analysis(records) == DISK
    assert citation_counts(records) == CitationCounts(cited=3, verified=3)
    verdict = session_verdict(records)
    assert verdict is not None
    assert verdict.verdict.mechanism == DISK


def test_where_no_agent_of_the_stage_completed_those_that_were_stopped_are_the_analysis() -> None:
    first, draft = stage_record(0, LOOK, checked(DISK, 3)), checked(DRAFT.text, 1, RunStatus.CANCELLED)
    stopped = stage_record(1, LOOK, draft, status=RunStatus.CANCELLED)
    assert best_analysis([first, stopped]) == DRAFT.text
    assert citation_counts([first, stopped]) == CitationCounts(cited=1, verified=1)
    both = stage_record(0, LOOK, DRAFT, Ran(DISK, RunStatus.TIMED_OUT), status=RunStatus.FAILED)
    assert best_analysis([both]) == f"## A\n\n{DRAFT.text}\n\n## B\n\n{DISK}"
    assert [one.execution.agent_name for one in concluding_executions([both])] == ["A", "B"]


def test_a_synthesis_that_was_stopped_with_its_draft_comes_before_what_it_synthesised() -> None:
    records = [stage_record(0, LOOK, Ran(DISK), Ran(DISK)), stage_record(1, SYNTHESIS, DRAFT, status=RunStatus.CANCELLED)]
    assert best_analysis(records) == DRAFT.text
