"""What both forms of a report say about a session, in plain text. Pure module."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from tarsy.domain.citation import CitationStatus
from tarsy.domain.status import SessionStatus
from tarsy.domain.verdict import JudgedVerdict
from tarsy.report.report import CitedText, Exhibit, PlacedCitation, Report

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
