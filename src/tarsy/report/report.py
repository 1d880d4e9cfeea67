"""What a report holds. Pure module."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate

from tarsy.db.run.evidence import EvidenceText, PlacedCitation, SeenEvidence
from tarsy.domain.citation import CitationStatus
from tarsy.domain.session import AlertSession
from tarsy.domain.status import SessionStatus
from tarsy.domain.usage import Spending
from tarsy.domain.verdict import JudgedVerdict

# A result of ordinary size stands whole in the report; of a larger one only what is quoted, with its surroundings.
WHOLE_EXHIBIT = 40_000
_SURROUNDINGS = 1_500
# Characters of all that is cited: a report is to be read, and sent by mail.
MOST_SHOWN = 4_000_000


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
class Passage:
    """A part of a text: how many characters before it are not shown, and where in it the quotations stand."""

    skipped: int
    text: str
    quoted: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Exhibit:
    """Something that is cited, as much of it as the report shows; `skipped` characters at its end it does not."""

    seen: SeenEvidence
    passages: tuple[Passage, ...]
    skipped: int = 0

    @property
    def id(self) -> str:
        return self.seen.id

    @property
    def size(self) -> int:
        return sum(len(one.text) for one in self.passages)


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


def exhibit_of(evidence: EvidenceText, texts: Sequence[CitedText]) -> Exhibit:
    """A result as a report shows it, with what the texts quote of it."""
    quoted = _quoted_places(evidence, texts)
    passages: list[Passage] = []
    position = 0
    for start, end in _shown_places(len(evidence.text), quoted):
        inside = tuple((first - start, last - start) for first, last in quoted if start <= first and last <= end)
        passages.append(Passage(start - position, evidence.text[start:end], inside))
        position = end
    return Exhibit(evidence.seen, tuple(passages), len(evidence.text) - position)


def within_limit(exhibits: Sequence[Exhibit]) -> tuple[tuple[Exhibit, ...], tuple[str, ...]]:
    """As many as a report has room for, and the ids of the others."""
    sizes = accumulate(one.size for one in exhibits)
    kept = tuple(one for one, size in zip(exhibits, sizes, strict=True) if size <= MOST_SHOWN)
    return kept, tuple(one.id for one in exhibits[len(kept) :])


def _quoted_places(evidence: EvidenceText, texts: Sequence[CitedText]) -> list[tuple[int, int]]:
    """Where the verified quotations of the texts stand in a result. A quotation of a fold that our code made has no place there."""
    found = {
        one.checked.found_at
        for text in texts
        for one in text.citations
        if one.checked.citation.evidence_id == evidence.seen.id and one.checked.status is CitationStatus.QUOTE_FOUND
    }
    return _merged(sorted(place for place in found if place and place[1] <= len(evidence.text)))


def _shown_places(size: int, quoted: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    if size <= WHOLE_EXHIBIT:
        return [(0, size)]
    if not quoted:
        return [(0, WHOLE_EXHIBIT // 2), (size - WHOLE_EXHIBIT // 2, size)]
    return _merged([(max(start - _SURROUNDINGS, 0), min(end + _SURROUNDINGS, size)) for start, end in quoted])


def _merged(places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in places:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


RECORDED = "The model's words come from a recording: no model looked at this alert."
NO_VERDICT = "This analysis came without a verdict."


def moment(at: datetime | None) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC") if at else ""


def facts(report: Report) -> Iterator[tuple[str, str]]:
    """The head of a report: name and value."""
    session = report.session
    yield "Session", session.id
    yield "Alert type", session.alert_type
    yield "Status", session.status.value.replace("_", " ")
    yield "Received", moment(session.created_at)
    if session.started_at and session.completed_at:
        yield "Investigated", f"{moment(session.started_at)}, {(session.completed_at - session.started_at).total_seconds():.0f} s"
    if report.models:
        yield "Model", ", ".join(report.models)
    if str(report.cost):
        yield "Cost", str(report.cost)
    if session.citations and session.citations.cited:
        yield "Citations", f"{session.citations.verified} of {session.citations.cited} verified"
    yield "Report made", moment(report.made_at)


def cautions(report: Report) -> Iterator[str]:
    """What a reader must know before anything else."""
    session = report.session
    if session.is_recorded:
        yield RECORDED
    if not session.status.is_final:
        yield f"The session is {session.status.value.replace('_', ' ')}: this is what there was when the report was made."
    if session.analysis_is_partial:
        yield f"The analysis is partial. {session.analysis_partial_reason or ''}".strip()
    if session.error_message:
        yield f"The session ended as {session.status.value.replace('_', ' ')}: {session.error_message}"


def verdict_facts(judged: JudgedVerdict) -> Iterator[tuple[str, str]]:
    verdict = judged.verdict
    because = f" ({judged.confidence_reason})" if judged.confidence_reason else ""
    yield "Outcome", verdict.outcome.value.replace("_", " ")
    yield "Object", str(verdict.object or "")
    yield "Mechanism", verdict.mechanism
    yield "Confidence", f"{judged.confidence.value}{because}"
    yield "Since", verdict.since
    yield "Still happening", verdict.still_happening.value
    yield "Category", verdict.category


def no_analysis(report: Report) -> str:
    if report.session.status is SessionStatus.CANCELLED:
        return "The session was cancelled before there was an analysis."
    return "There is no analysis." if report.session.status.is_final else "There is no analysis yet."


def exhibit_line(exhibit: Exhibit) -> str:
    """What was called and when it was read."""
    seen = exhibit.seen
    if seen.tool is None:
        return "as the agents were given it"
    call = f"{seen.server}.{seen.tool}" if seen.server else seen.tool
    ended = ", not made: it shows nothing" if seen.refused else ", failed" if seen.is_error else ""
    return (
        f"{call} {seen.arguments or '{}'}, read {moment(seen.read_at)}{ended}"
        if seen.read_at
        else f"{call} {seen.arguments or '{}'}{ended}"
    )


@dataclass(frozen=True, slots=True)
class Bracket:
    """One bracket of a text, with every citation in it."""

    start: int
    end: int
    citations: tuple[PlacedCitation, ...]


def brackets(text: CitedText) -> Iterator[Bracket]:
    """The brackets of a text in order; what does not lie within it, or overlaps another, is left as text."""
    grouped: dict[tuple[int, int], list[PlacedCitation]] = {}
    for one in text.citations:
        grouped.setdefault((one.start, one.end), []).append(one)
    position = 0
    for (start, end), members in sorted(grouped.items()):
        if position <= start < end <= len(text.text):
            yield Bracket(start, end, tuple(members))
            position = end


def worth(citation: PlacedCitation) -> str:
    """What checking a citation found, in words."""
    match citation.checked.status:
        case CitationStatus.QUOTE_FOUND:
            return "verified"
        case CitationStatus.ID_ONLY:
            return "not quoted"
        case CitationStatus.FAILED:
            return f"not verified: {citation.checked.reason}"
