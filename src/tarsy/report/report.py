"""What a report holds. Pure module."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from tarsy.db.citations import PlacedCitation
from tarsy.db.evidence import EvidenceText
from tarsy.domain.citation import CitationStatus
from tarsy.domain.price import Spending
from tarsy.domain.session import AlertSession

# A result of ordinary size stands whole in the report; of a larger one only what is quoted, with its surroundings.
WHOLE_EXHIBIT = 40_000
_SURROUNDINGS = 1_500


@dataclass(frozen=True, slots=True)
class CitedText:
    """Words of an agent, and where in them what is cited."""

    text: str
    citations: tuple[PlacedCitation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A question about the session and its answer, which may be none."""

    question: str
    author: str
    asked_at: datetime
    answer: CitedText
    error: str = ""


@dataclass(frozen=True, slots=True)
class Exhibit:
    """Something that is cited, and where in its text the quotations stand."""

    evidence: EvidenceText
    quoted: tuple[tuple[int, int], ...] = ()

    @property
    def id(self) -> str:
        return self.evidence.seen.id

    def passages(self) -> Iterator[tuple[int, int]]:
        """The parts of its text that are shown, in order."""
        size = len(self.evidence.text)
        if size <= WHOLE_EXHIBIT:
            yield 0, size
        elif not self.quoted:
            yield from ((0, WHOLE_EXHIBIT // 2), (size - WHOLE_EXHIBIT // 2, size))
        else:
            yield from _merged([(max(start - _SURROUNDINGS, 0), min(end + _SURROUNDINGS, size)) for start, end in self.quoted])


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    session: AlertSession
    title: str
    # Each model that worked on it, once.
    models: tuple[str, ...]
    cost: Spending
    analysis: CitedText
    chat: tuple[Exchange, ...]
    exhibits: tuple[Exhibit, ...]
    # Cited things that would have made the report too large.
    left_out: tuple[str, ...]
    made_at: datetime

    @property
    def shown_ids(self) -> frozenset[str]:
        return frozenset(one.id for one in self.exhibits)


def quoted_places(evidence: EvidenceText, texts: Sequence[CitedText]) -> tuple[tuple[int, int], ...]:
    """Where the verified quotations of the texts stand in a result. A quotation of a fold that our code made has no place there."""
    found = {
        one.checked.found_at
        for text in texts
        for one in text.citations
        if one.checked.citation.evidence_id == evidence.seen.id and one.checked.status is CitationStatus.QUOTE_FOUND
    }
    return tuple(sorted(_merged(sorted(place for place in found if place and place[1] <= len(evidence.text)))))


def _merged(places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in places:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged
