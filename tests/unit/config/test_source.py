"""Reading YAML: values stay what they look like, places are remembered."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarsy.config.load.source import Source, parse_source


def parse(text: str) -> Source:
    return parse_source(Source("f.yaml"), text)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("5", 5),
        ("0.5", 0.5),
        ("true", True),
        ("false", False),
        ("~", None),
        ("", None),
        ("'5'", "5"),
        ("010", "010"),
        ("1_000", "1_000"),
        ("12:30", "12:30"),
        ("0x1F", "0x1F"),
        ("0x" + 5000 * "F", "0x" + 5000 * "F"),
        ("0.50", "0.50"),
        ("no", "no"),
        ("on", "on"),
        ("True", "True"),
        ("2026-01-02", "2026-01-02"),
        ("2026-13-45", "2026-13-45"),
        ("0x_", "0x_"),
        ("!!bool maybe", "maybe"),
        ("text", "text"),
    ],
)
def test_only_what_would_be_written_the_same_again_is_a_number_or_a_switch(written: str, value: Any) -> None:
    assert parse(f"key: {written}").data == {"key": value}


def test_keys_are_taken_as_written() -> None:
    assert parse("on: 1\n5: 2\n").data == {"on": 1, "5": 2}


def test_lines_of_nested_keys_and_items_are_known() -> None:
    source = parse("a:\n  b:\n    - x\n    - c: 1\n")
    assert source.location_of(("a", "b", 1, "c")).line == 4
    assert source.location_of(("a", "b", 0)).line == 3
    assert source.location_of(("a", "b", 0, "missing")).line == 3
    assert source.location_of(("elsewhere",)).line == 1


def test_merged_mappings_yield_to_own_keys() -> None:
    source = parse("base: &b {x: 1, y: 2}\nown:\n  <<: *b\n  y: 3\n")
    assert source.data["own"] == {"x": 1, "y": 3}
    assert source.problems == []


def test_a_list_of_merged_mappings_lets_the_first_win() -> None:
    assert parse("a: &a {x: 1}\nb: &b {x: 2, y: 2}\nown: {<<: [*a, *b]}\n").data["own"] == {"x": 1, "y": 2}


def test_an_unknown_tag_is_a_problem() -> None:
    assert "could not determine a constructor" in parse("a: !!python/object/apply:os.system [ls]\nb: !odd x\n").problems[0].message


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "\n".join(
                ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9))]
            ),
            "repeat",
        ),
        ("[" * 300_000, "nested deeper"),
        ("- " * 300_000, "nested deeper"),
        ("a: &a {<<: *a, b: 1}", "contains itself"),
        ("a: &a {<<: [*a], b: 1}", "contains itself"),
    ],
    ids=["aliases", "brackets", "dashes", "merge", "merges"],
)
def test_a_small_text_that_would_take_all_memory_or_the_stack_is_a_problem(text: str, problem: str) -> None:
    (found,) = parse(text).problems
    assert problem in found.message


@given(st.text(max_size=60))
def test_any_text_gives_data_or_problems(text: str) -> None:
    source = parse(text)
    assert source.problems or source.data is None or source.data is not Ellipsis
