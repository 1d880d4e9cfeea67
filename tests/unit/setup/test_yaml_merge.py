"""A template is merged into what a person has written, and nothing of theirs is lost."""

from itertools import pairwise

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tarsy.setup.template_files import TEMPLATES, CannotMergeError, merge, without

TEMPLATE = """\
# Written by init.

defaults:
  # The model.
  llm_provider: local   # see there
  runbook: |
    Look.

    Look again.
  limits: {time: 5m, calls: 3}

# Servers.
servers:
  one:
    args: [a, b]
    # a choice

  # Another one.
  # two: {}
"""

MINE = """\
# my words
defaults:   # of mine
    runbook: mine   # short
    # runbook: longer

# and of these
queue: {workers: 2}
limits:
    - 1
"""

RESULT = """\
# my words
defaults:   # of mine
    runbook: mine   # short
    # runbook: longer
    # The model.
    llm_provider: local   # see there
    limits: {time: 5m, calls: 3}

# and of these
queue: {workers: 2}
limits:
    - 1

# Servers.
servers:
  one:
    args: [a, b]
    # a choice

  # Another one.
  # two: {}
"""


def test_what_is_missing_is_put_where_it_belongs_and_every_line_of_the_file_stays() -> None:
    merged = merge(MINE, TEMPLATE)
    assert merged.text == RESULT
    assert merged.added == ("defaults.llm_provider", "defaults.limits", "servers")
    assert merged.kept == ("defaults.runbook: mine",)


def test_merging_again_changes_nothing() -> None:
    assert merge(RESULT, TEMPLATE).text == RESULT
    assert merge(RESULT, TEMPLATE).added == ()


@pytest.mark.parametrize(
    ("mine", "merged"),
    [
        ("", TEMPLATE),
        ("# only a comment", f"# only a comment\n{TEMPLATE}"),
        ("defaults: {llm_provider: x, runbook: y}\nservers: {one: {args: []}}", None),
        ("defaults: {}\nservers: {one: {}}\n", None),
        ("defaults:\nservers:  # none yet\n", None),
        ("servers:\n  one:\n    x: null\n", None),
        ("servers:\n  one:\n", None),
        ("base: &b {llm_provider: x, runbook: y, limits: z}\ndefaults: *b\nservers: {<<: *b}\n", None),
        ("defaults: {<<: {llm_provider: x}, runbook: y}\nservers: {one: {args: []}}\n", None),
    ],
)
def test_files_of_every_style_keep_their_values(mine: str, merged: str | None) -> None:
    text = merge(mine, TEMPLATE).text
    assert merged is None or text == merged
    assert _contains(yaml.safe_load(text), yaml.safe_load(mine) or {})
    assert merge(text, TEMPLATE).text == text


def test_a_value_that_is_named_becomes_the_templates() -> None:
    merged = merge("defaults: {llm_provider: x, runbook: y}  # both\n", TEMPLATE, replaced=["defaults.llm_provider"])
    assert "{llm_provider: local, runbook: y, limits: {calls: 3, time: 5m}}  # both\n" in merged.text
    assert merged.kept == ("defaults.runbook: y",)


@pytest.mark.parametrize("mine", ["mine", "- a\n", "a: [", "a: 1\na\n", "a: 1\n---\nb: 2\n"])
def test_what_is_no_mapping_is_refused(mine: str) -> None:
    with pytest.raises(CannotMergeError):
        merge(mine, TEMPLATE)


BLOCK = "base: &b\n  runbook: y\n  limits: z\n"


@pytest.mark.parametrize(
    "mine",
    [
        # The last value of a mapping is an alias: the parser says that it ends where its anchor ends.
        f"{BLOCK}other: 1\ndefaults:\n  llm_provider: x\n  runbook: *b\n",
        f"{BLOCK}servers:\n  two: *b\n",
        f"{BLOCK}servers:\n  two:\n    <<: *b\n",
        f"{BLOCK}defaults:\n  <<: *b\n",
        # What is added at an anchor would be in two places.
        "defaults: &d\n  runbook: y\nother: *d\n",
        # The value that is replaced is an anchor, or an alias.
        "defaults:\n  llm_provider: &p x\n  other: *p\n",
        "model: &p x\ndefaults:\n  llm_provider: *p\n",
        "base: &b\n  llm_provider: x\ndefaults:\n  <<: *b\n",
        "a: &a [x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"{name}: &{name} [{', '.join([f'*{last}'] * 9)}]\n" for last, name in pairwise("abcdefgh")),
    ],
)
def test_a_merge_that_anchors_and_aliases_would_spoil_is_refused(mine: str) -> None:
    with pytest.raises(CannotMergeError, match="by hand"):
        merge(mine, TEMPLATE, replaced=["defaults.llm_provider"])


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["defaults", "llm_provider", "agents", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    mine=st.dictionaries(st.sampled_from(["defaults", "agents", "agent_chains", "mcp_servers", "y"]), _VALUES, min_size=1),
    style=st.sampled_from(["braces", "lines", "both"]),
    indent=st.integers(2, 7),
)
def test_no_value_of_any_file_is_lost(mine: dict[str, object], style: str, indent: int) -> None:
    template = (TEMPLATES / "kubernetes" / "tarsy.yaml").read_text(encoding="utf-8")
    written = yaml.safe_dump(
        mine, default_flow_style={"braces": True, "lines": False, "both": None}[style], indent=indent, allow_unicode=True
    )
    text = merge(written, template).text
    assert _contains(yaml.safe_load(text), yaml.safe_load(written))
    assert merge(text, template).text == text


def _contains(whole: object, part: object) -> bool:
    """Whether everything that `part` says stands in `whole`; an empty value may have been filled in."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and _contains(whole[key], value) for key, value in part.items())  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return part is None or whole == part


def test_entries_that_are_in_another_place_are_left_out_with_their_comments() -> None:
    left = without(TEMPLATE, ["defaults.llm_provider", "servers.one", "queue.workers"])
    assert left == "# Written by init.\n\ndefaults:\n  runbook: |\n    Look.\n\n    Look again.\n  limits: {time: 5m, calls: 3}\n\n"
    assert without(TEMPLATE, []) == TEMPLATE
