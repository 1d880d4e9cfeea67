"""Support: a model judges whether the words that a statement quotes support it. The checker has found the words before; the judge can only fail them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from tarsy.agent.evidence.checker import CheckedAnalysis, Support
from tarsy.domain.citation import CitationStatus
from tarsy.domain.verdict import Verdict

# More would not be judged with care.
_MOST_PAIRS = 40
_LINE = re.compile(r"^[^\w\n]*(\d{1,2})\W+(supports|contradicts|unrelated)[^\w\n]*$", re.IGNORECASE | re.MULTILINE)


class Judgement(StrEnum):
    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"
    UNRELATED = "unrelated"


_REASONS: Mapping[Judgement, str] = {
    Judgement.CONTRADICTS: "judged by a model: the words quoted contradict the statement",
    Judgement.UNRELATED: "judged by a model: the words quoted do not bear on the statement",
}


@dataclass(frozen=True, slots=True)
class QuotedStatement:
    """A statement, and words that it quotes. `place` is the place of the citation in the analysis; None for the mechanism of the verdict."""

    place: int | None
    statement: str
    quotation: str


def quoted_statements(checked: CheckedAnalysis, verdict: Verdict | None) -> tuple[QuotedStatement, ...]:
    """Return the statements of the chain of causes with each verified quotation, and the verdict's mechanism with all of them."""
    verified = {one.citation.start: one.citation for one in checked.citations if one.status is CitationStatus.QUOTE_FOUND}
    found = [
        QuotedStatement(cited.start, link.statement.text, verified[cited.start].quotation or "")
        for link in checked.links
        if link.support is Support.VERIFIED
        for cited in link.statement.citations
        if cited.start in verified
    ][: _MOST_PAIRS - 1]
    if found and verdict and verdict.mechanism:
        found.append(QuotedStatement(None, verdict.mechanism, "\n".join(dict.fromkeys(one.quotation for one in found))))
    return tuple(found)


def parse_judgements(answer: str, count: int) -> tuple[Judgement, ...] | None:
    """Return the judgement of each of `count` statements; None unless the answer has exactly one for each."""
    lines = [(int(number), Judgement(word.lower())) for number, word in _LINE.findall(answer)]
    judged = dict(lines)
    return tuple(judged[number] for number in sorted(judged)) if sorted(number for number, _ in lines) == [*range(1, count + 1)] else None


def objections(judged: tuple[QuotedStatement, ...], judgements: tuple[Judgement, ...]) -> Mapping[int | None, str]:
    """Return why quotations count as failed, by their places."""
    return {one.place: _REASONS[judgement] for one, judgement in zip(judged, judgements, strict=True) if judgement in _REASONS}
