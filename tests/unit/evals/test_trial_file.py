"""Trials on disk survive the death of the process that writes them."""

from pathlib import Path

import pytest

from support.eval_cases import trial
from tarsy.evals.trials import TrialFile, TrialsUnreadableError, read_trials


def test_a_line_that_was_cut_off_is_left_out_and_the_next_one_is_whole(tmp_path: Path) -> None:
    file = TrialFile(tmp_path / "trials.jsonl")
    file.append(trial("a"))
    with (tmp_path / "trials.jsonl").open("ab") as open_file:
        open_file.write(trial("b").model_dump_json().encode()[:40])
    file.append(trial("c"))
    assert [one.case for one in file.read()] == ["a", "c"]


def test_an_analysis_may_contain_any_separator_of_lines(tmp_path: Path) -> None:
    file = TrialFile(tmp_path / "trials.jsonl")
    file.append(trial("a", analysis="one\ntwo\r\nthree\u2028four\u0085five"))
    assert [one.case for one in file.read()] == ["a"]


def test_a_trial_that_was_made_again_counts_once(tmp_path: Path) -> None:
    file = TrialFile(tmp_path / "trials.jsonl")
    file.append(trial("a", passed=False))
    file.append(trial("a", passed=True))
    assert [one.passed for one in file.read().values()] == [True]


def test_a_file_without_trials_is_no_baseline(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text("nothing\n", encoding="utf-8")
    for name in ("x.jsonl", "missing.jsonl"):
        with pytest.raises(TrialsUnreadableError, match="holds no trials"):
            read_trials(tmp_path / name)
