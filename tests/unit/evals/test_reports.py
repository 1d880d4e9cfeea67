"""Reports say the same in every form, and none of them can be made to do something by what it reports."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from support.eval_cases import trial
from tarsy.evals.grading import GradingCheck
from tarsy.evals.report.files import as_json, as_junit, write_reports
from tarsy.evals.report.html import as_html
from tarsy.evals.report.report import EvalReport, comparisons, report_of
from tarsy.evals.report.terminal import as_lines, progress_line
from tarsy.evals.trials import Trial, read_trials

NASTY = '<script>alert("x")</script>\x1b[2J\x00'


def failed(case: str, **changes: Any) -> Trial:
    return trial(case, passed=False, checks=(GradingCheck(name="outcome", passed=False, detail="fault, not no_fault"),), **changes)


def report(trials: list[Trial], baseline: list[Trial] | None = None, left_out: int = 0) -> EvalReport:
    return report_of(trials, baseline or [], version="0.1.0", created_at=datetime(2026, 3, 10, tzinfo=UTC), left_out=left_out)


SUITE = [trial(f"case-{number}") for number in range(38)] + [failed("case-38", tags=("injection",)), failed("case-39")]


def test_the_terminal_tells_figures_failures_and_what_was_measured() -> None:
    reported = "\n".join(as_lines(report(SUITE, left_out=3)))
    for expected in (
        "pass@1                 95 %",
        "injection",
        "case-39 #1: outcome",
        "3 trials were not made",
        "prompts p",
        "chain k",
        "tested m",
    ):
        assert expected in reported
    assert progress_line(SUITE[-1], 40, 40) == "[40/40] FAIL  tested  case-39 #1  outcome: fault, not no_fault"


def test_every_form_tells_how_often_each_confidence_was_right() -> None:
    sure = {"confidence": "high", "shown_confidence": "medium"}
    made = report([trial("a", outcome="fault", verdict=sure), failed("b", outcome="fault", verdict=sure)])
    line = "stated 2 times: 1 right, computed never"
    assert f"confidence high        {line}" in "\n".join(as_lines(made))
    assert f"<th>confidence high</th><td>{line}</td>" in as_html(made)
    assert "confidence: high stated, medium computed" in as_html(made)
    (summary,) = json.loads(as_json(made))["summaries"]
    assert summary["calibration"][:2] == [
        {"level": "high", "stated": {"count": 1, "of": 2}, "computed": {"count": 0, "of": 0}},
        {"level": "medium", "stated": {"count": 0, "of": 0}, "computed": {"count": 1, "of": 2}},
    ]


def test_a_report_is_the_baseline_of_the_next_one(tmp_path: Path) -> None:
    write_reports(report(SUITE), tmp_path)
    assert sorted(one.identity.case for one in read_trials(tmp_path / "report.json")) == sorted(one.identity.case for one in SUITE)
    worse = [failed(one.identity.case) if number < 8 else one for number, one in enumerate(SUITE)]
    found = report(worse, list(read_trials(tmp_path / "report.json")))
    assert found.is_regression
    assert "Regression: pass@1 95 % → 75 % on 40 cases" in "\n".join(as_lines(found))
    assert json.loads(as_json(found))["regression"] is True
    assert not report(SUITE, worse).is_regression


def test_one_model_is_compared_with_another_where_each_side_has_only_one() -> None:
    (found,) = comparisons([trial("a", model="old")], [trial("a", model="new")])
    assert (found.before, found.after) == ("old", "new")
    assert comparisons([trial("a", model="old")], [trial("a", model="new"), trial("a", model="newer")]) == ()


def test_junit_has_a_suite_for_each_model_and_a_reason_for_each_failure() -> None:
    root = ET.fromstring(as_junit(report([*SUITE, failed("case-1", model="other", title=NASTY, error=NASTY)])))  # noqa: S314 - our own text
    assert {suite.get("name"): suite.get("failures") for suite in root} == {"tested": "2", "other": "1"}
    failures = [case.find("failure") for suite in root for case in suite]
    assert [one.text for one in failures if one is not None] == ["outcome: fault, not no_fault"] * 3


def test_the_page_loads_nothing_and_runs_nothing() -> None:
    page = as_html(report([failed("case-1", title=NASTY, analysis=NASTY, family=NASTY, model=NASTY)]))
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert not [word for word in ("http://", "https://", " src=", "@import", "url(") if word in page]
    assert "<svg" in page


@pytest.mark.parametrize("text", [as_json, as_junit, as_html])
def test_every_form_survives_any_text(text: Any) -> None:
    nasty = failed(NASTY, title=NASTY, analysis=NASTY, error=NASTY)
    assert text(report([nasty]))
