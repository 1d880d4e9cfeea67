"""A case is read whole, and each problem in it is reported with file and line."""

from pathlib import Path

import pytest

from support.eval_cases import CASE, case_file, write_case
from tarsy.evals.cases import CaseError, load_cases, select_cases


def test_cases_are_found_by_name_and_chosen_by_what_they_are_about(tmp_path: Path) -> None:
    write_case(tmp_path / "one")
    write_case(tmp_path / "two", family="network", tags=[], difficulty="hard")
    cases = load_cases(tmp_path)
    assert [case.name for case in cases] == ["one", "two"]
    assert [case.name for case in select_cases(cases, tags=["red-herring", "easy"])] == ["one"]
    assert [case.name for case in select_cases(cases, tags=["network"])] == ["two"]
    assert [case.name for case in select_cases(cases, names=["two", "three"])] == ["two"]
    assert [case.name for case in load_cases(tmp_path / "one")] == ["one"]


def test_every_mistake_of_every_case_is_reported_with_its_line(tmp_path: Path) -> None:
    write_case(tmp_path / "one", difficulty="eesy")
    write_case(tmp_path / "two", world={"kind": "cluster", "file": "wrold.yaml"})
    write_case(tmp_path / "three", expect={**CASE["expect"], "ceilngs": {}})
    write_case(tmp_path / "four", expect={**CASE["expect"], "forbidden_actions": "delete ("})
    with pytest.raises(CaseError) as raised:
        load_cases(tmp_path)
    reported = str(raised.value)
    assert 'one/case.yaml:3: difficulty: "eesy" is not one of' in reported
    assert "two/case.yaml" in reported
    assert 'there is no file "wrold.yaml" beside it' in reported
    assert '"delete (" is not a regular expression' in reported
    assert 'unknown key "ceilngs"; did you mean "ceilings"?' in reported


@pytest.mark.parametrize("file", ["../outside.yaml", "/etc/passwd"])
def test_a_case_reads_no_file_outside_its_directory(tmp_path: Path, file: str) -> None:
    (tmp_path / "outside.yaml").write_text("")
    write_case(tmp_path / "one", world={"kind": "cluster", "file": file})
    with pytest.raises(CaseError, match="outside the case's directory"):
        load_cases(tmp_path)


def test_a_directory_without_cases_is_no_suite_that_passes(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="there is no case here"):
        load_cases(tmp_path)


def test_a_sample_brings_its_alert_along_and_every_other_case_needs_one(tmp_path: Path) -> None:
    write_case(tmp_path / "one", alert="", world={"kind": "sample", "file": "oom-leak"})
    (case,) = load_cases(tmp_path)
    assert "Container OOM kills" in case.file.alert
    write_case(tmp_path / "one", alert="", world={"kind": "sample", "file": "oom-leek"})
    with pytest.raises(CaseError, match='there is no sample incident "oom-leek"'):
        load_cases(tmp_path)
    write_case(tmp_path / "one", alert="")
    with pytest.raises(CaseError, match="the alert is missing"):
        load_cases(tmp_path)


def test_a_single_outcome_and_a_single_name_need_no_brackets() -> None:
    expect = case_file(expect={"outcome": "no_fault", "object": "Deployment/shop/cart"}).expect
    assert (expect.is_healthy, expect.must_abstain, expect.object) == (True, False, ("Deployment/shop/cart",))
    assert case_file(expect={"outcome": "inconclusive"}).expect.must_abstain


def test_the_digest_changes_with_every_file_of_a_case(tmp_path: Path) -> None:
    write_case(tmp_path / "one")
    before = load_cases(tmp_path)[0].digest
    assert load_cases(tmp_path)[0].digest == before
    (tmp_path / "one" / "world.yaml").write_text("now: 2026-03-10T09:00:01Z\nnamespaces: [shop]\n", encoding="utf-8")
    assert load_cases(tmp_path)[0].digest != before
