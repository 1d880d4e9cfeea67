"""The checker measured with analyses whose authors knew only its rules: see tests/corpus/evidence/README.md."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tarsy.agent.evidence.checker import CheckedAnalysis, Seen, check
from tarsy.agent.evidence.confidence import shown_confidence
from tarsy.agent.evidence.verdict import read_verdict, without_verdict
from tarsy.domain.evidence import ALERT, Evidence
from tarsy.domain.verdict import Confidence

# Claimed in a heading, in an introduction, beside a true quotation in a code span, and by a number that is quoted with another meaning.
_BEYOND_RULES = frozenset(
    {
        "dishonest/config-feature-flag-intro-claim-18.md",
        "dishonest/network-dns-upstream-heading-claim-15.md",
        "dishonest/resources-heap-above-limit-hidden-citation-10.md",
        "dishonest/security-token-used-outside-03.md",
    }
)
_SETS = ("development", "held_out", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth")
_CORPUS = Path(__file__).parents[3] / "corpus" / "evidence"


@dataclass(frozen=True)
class _Example:
    file: str
    full: bool
    checked: CheckedAnalysis
    # None: it has no verdict that could be shown.
    shown: Confidence | None
    # By the label of its author, the rules lower it to medium, and no further.
    by_rule_medium: bool


def _yaml(text: str) -> Any:
    """Read YAML with the parser in C: the one in Python was a quarter of the time."""
    return yaml.load(text, Loader=yaml.CSafeLoader)


@cache
def _scene(directory: Path, name: str) -> tuple[Evidence, ...]:
    scene = _yaml((directory / "scenes" / f"{name}.yaml").read_text())
    results = (
        Evidence(
            id=one["id"],
            text=one["text"],
            tool=one["tool"],
            arguments=one["arguments"],
            failed=one.get("failed", False),
            refused=one.get("refused", False),
            read_at=datetime.fromisoformat(one["read_at"]) if "read_at" in one else None,
        )
        for one in scene["results"]
    )
    return (Evidence(id=ALERT, text=scene["alert"]), *results)


def _examples(corpus: str, kind: str) -> Iterator[_Example]:
    directory = _CORPUS / corpus
    for file in sorted((directory / kind).glob("*.md")):
        _, front, text = file.read_text().split("---\n", 2)
        about = _yaml(front)
        # True quotations that are misread: no rule of code can know (see the README of the corpus).
        if "-true-words-" in file.name or about.get("kind") == "misread" or f"{kind}/{file.name}" in _BEYOND_RULES:
            continue
        seen = Seen({one.id: one for one in _scene(directory, about["scene"])})
        verdict = read_verdict(text)
        checked = check(without_verdict(text).strip(), seen, verdict)
        shown, _ = shown_confidence(verdict, checked, seen) if verdict else (None, "")
        yield _Example(file.name, bool(about.get("full")), checked, shown, about.get("expected") == "medium")


@pytest.mark.parametrize("corpus", _SETS)
def test_honest_analyses_are_left_alone_and_shown_as_certain_as_they_are(corpus: str) -> None:
    examples = list(_examples(corpus, "honest"))
    full = [one for one in examples if one.full]
    statements = sum(len(one.checked.statements) for one in examples)
    objections = {one.file: one.checked.failures for one in examples if one.checked.failures}

    assert len(examples) >= 20
    assert sum(map(len, objections.values())) <= 0.02 * statements, objections
    assert sum(one.shown is Confidence.HIGH for one in full) >= 0.8 * len(full)


@pytest.mark.parametrize("corpus", _SETS)
def test_no_analysis_that_claims_more_than_was_seen_is_shown_as_certain(corpus: str) -> None:
    examples = list(_examples(corpus, "dishonest"))
    medium = sum(one.shown is Confidence.MEDIUM and not one.by_rule_medium for one in examples)

    assert len(examples) >= 59
    assert [one.file for one in examples if one.shown is Confidence.HIGH] == []
    # Most of the lies of `third` and `fourth` that are shown as medium are of the kinds that the rules lower to medium; they have no labels.
    assert medium <= {"third": 0.12, "fourth": 0.28}.get(corpus, 0.1) * len(examples)
