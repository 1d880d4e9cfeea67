"""A report on a session: reading its content, and the facts and sentences that its HTML and Markdown forms share."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from itertools import accumulate

from tarsy.db.errors import NotFoundError
from tarsy.db.repositories import SessionRepositories
from tarsy.db.run.evidence import CheckedText, EvidenceText, PlacedCitation, SeenEvidence
from tarsy.domain.action import Action
from tarsy.domain.alert import alert_title
from tarsy.domain.citation import CitationStatus, marked_lines
from tarsy.domain.session import AlertSession
from tarsy.domain.status import SessionStatus
from tarsy.domain.usage import Spending
from tarsy.domain.verdict import Confidence, JudgedVerdict, VerdictOutcome
from tarsy.kit.clock import SystemClock
from tarsy.session.plan import session_actions_left_out

# Evidence of ordinary size is shown whole; of larger evidence only what is quoted, with its surroundings.
WHOLE_EVIDENCE = 40_000
_SURROUNDINGS = 1_500
# Characters of all evidence: a report is to be read, and sent by mail.
MAX_EVIDENCE_CHARACTERS = 4_000_000

RECORDED = "The model's answers come from a recording: no model has read this alert."
NO_VERDICT = "The analysis has no verdict."
# The heading that the agents are prompted to use.
_DO_NOW = "do now"
_HEADING = re.compile(r" {0,3}(?P<level>#{1,6})[ \t]+(?P<title>[^\n]*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A question about the session and its answer, which may be empty."""

    question: str
    author: str
    asked_at: datetime
    answer: CheckedText
    error: str = ""


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a text: how many characters before it are not shown, and where in it the quotations are."""

    skipped: int
    text: str
    quoted: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class EvidenceExcerpt:
    """The passages of cited evidence that the report shows; the `skipped` characters at its end are not shown."""

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
    analysis: CheckedText
    chat: tuple[Exchange, ...]
    evidence: tuple[EvidenceExcerpt, ...]
    # Ids of cited evidence that would have made the report too large.
    left_out: tuple[str, ...]
    actions: tuple[Action, ...] = ()
    # Why stages that act were not begun.
    actions_left_out: tuple[str, ...] = ()
    made_at: datetime

    @property
    def evidence_ids(self) -> frozenset[str]:
        """The ids that have a place in the report, also those left out for length."""
        return frozenset((*(one.id for one in self.evidence), *self.left_out))

    @property
    def do_now(self) -> CheckedText:
        """The section *Do now* of the analysis, which a report shows directly after the verdict; empty without a verdict."""
        return _part(self.analysis, *self._do_now_span)

    @property
    def findings(self) -> CheckedText:
        """The analysis without *Do now*."""
        start, end = self._do_now_span
        before, after = _part(self.analysis, 0, start), _part(self.analysis, end, len(self.analysis.text))
        placed = (replace(one, shift=one.shift + start) for one in after.citations)
        return CheckedText(before.text + after.text, (*before.citations, *placed))

    @property
    def _do_now_span(self) -> tuple[int, int]:
        """The place of the section *Do now*, from its heading to the next one of its level or above."""
        start, level, position = -1, 0, 0
        for line, in_code in marked_lines(self.analysis.text if self.session.verdict else ""):
            heading = None if in_code else _HEADING.match(line)
            if heading and start >= 0 and len(heading["level"]) <= level:
                return start, position
            if heading and start < 0 and heading["title"].strip(" \t\r*:#").lower() == _DO_NOW:
                start, level = position, len(heading["level"])
            position += len(line)
        return (start, position) if start >= 0 else (0, 0)


def _part(text: CheckedText, start: int, end: int) -> CheckedText:
    """Return a part of a text with the citations in it."""
    inside = (one for one in text.citations if start <= one.start and one.end <= end)
    return CheckedText(text.text[start:end], tuple(replace(one, shift=one.shift - start) for one in inside))


async def read_report(repositories: SessionRepositories, session_id: str) -> Report:
    """Read the content of a report on a session.

    Raises:
        NotFoundError: there is no such session.
    """
    session = await repositories.sessions.get(session_id)
    run = await repositories.interactions.run(session.id)
    analysis = await repositories.citations.of_analysis(session.id)
    chat: list[Exchange] = []
    for message in await repositories.chats.list(session.id):
        answer = CheckedText("")
        if answering := run.answering(message.stage_id):
            answer = await repositories.citations.of_execution(message.session_id, answering.id)
        chat.append(
            Exchange(
                question=message.content,
                author=message.author,
                asked_at=message.created_at,
                answer=answer,
                error=message.error_message or "",
            )
        )
    texts = [analysis, *(one.answer for one in chat)]
    evidence, left_out = within_limit(await _read_evidence(repositories, session, texts))
    return Report(
        session=session,
        title=alert_title(session.alert_data, session.alert_type),
        models=tuple(dict.fromkeys(one.model_name for one in run.executions if one.model_name)),
        cost=run.total_spending,
        analysis=analysis,
        chat=tuple(chat),
        evidence=evidence,
        left_out=left_out,
        actions=await repositories.sessions.actions(session.id) if session.may_act else (),
        actions_left_out=session_actions_left_out(session, run.stages),
        made_at=SystemClock().now(),
    )


async def _read_evidence(repositories: SessionRepositories, session: AlertSession, texts: Sequence[CheckedText]) -> list[EvidenceExcerpt]:
    """Return all cited evidence in the order of the citations. A citation of evidence that does not exist is marked as failed in the text."""
    cited: list[str] = []
    if session.verdict:
        cited += session.verdict.verdict.evidence
        cited += (evidence_id for one in session.verdict.verdict.ruled_out for evidence_id in one.evidence)
    cited += (one.checked.citation.evidence_id for text in texts for one in text.citations)
    found: list[EvidenceExcerpt] = []
    for evidence_id in dict.fromkeys(cited):
        try:
            # One after the other: of a large result only the shown passages stay in memory.
            found.append(cited_evidence(await repositories.evidence.read(session.id, evidence_id), texts))
        except NotFoundError:
            continue
    return found


def cited_evidence(evidence: EvidenceText, texts: Sequence[CheckedText]) -> EvidenceExcerpt:
    """Select the passages of some evidence to show, with the verified quotations of it in `texts`."""
    size = len(evidence.text)
    places = {
        one.checked.found_at
        for text in texts
        for one in text.citations
        if one.checked.citation.evidence_id == evidence.seen.id and one.checked.status is CitationStatus.QUOTE_FOUND
    }
    # Places beyond the end of the text are in the folded text that the agent got, which a report does not show.
    quoted = _merged(sorted(place for place in places if place and place[1] <= size))
    if size <= WHOLE_EVIDENCE:
        shown = [(0, size)]
    elif quoted:
        shown = _merged([(max(start - _SURROUNDINGS, 0), min(end + _SURROUNDINGS, size)) for start, end in quoted])
    else:
        shown = [(0, WHOLE_EVIDENCE // 2), (size - WHOLE_EVIDENCE // 2, size)]
    passages: list[Passage] = []
    position = 0
    for start, end in shown:
        inside = tuple((first - start, last - start) for first, last in quoted if start <= first and last <= end)
        passages.append(Passage(start - position, evidence.text[start:end], inside))
        position = end
    return EvidenceExcerpt(evidence.seen, tuple(passages), size - position)


def _merged(places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join the places that overlap."""
    merged: list[tuple[int, int]] = []
    for start, end in places:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def within_limit(evidence: Sequence[EvidenceExcerpt]) -> tuple[tuple[EvidenceExcerpt, ...], tuple[str, ...]]:
    """Return as much evidence as a report has room for, and the ids of the rest."""
    sizes = accumulate(one.size for one in evidence)
    kept = tuple(one for one, size in zip(evidence, sizes, strict=True) if size <= MAX_EVIDENCE_CHARACTERS)
    return kept, tuple(one.id for one in evidence[len(kept) :])


def utc_time(at: datetime | None) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC") if at else ""


def facts(report: Report) -> Iterator[tuple[str, str]]:
    """Yield the names and values at the head of a report."""
    session = report.session
    yield "Session", session.id
    yield "Alert type", session.alert_type
    yield "Status", _words(session.status)
    yield "Received", utc_time(session.created_at)
    if session.started_at and session.completed_at:
        yield "Investigated", f"{utc_time(session.started_at)}, {(session.completed_at - session.started_at).total_seconds():.0f} s"
    if report.models:
        yield "Model", ", ".join(report.models)
    if str(report.cost):
        yield "Cost", str(report.cost)
    if session.citations and session.citations.cited:
        yield "Citations", str(session.citations)
    yield "Report made", utc_time(report.made_at)


def cautions(report: Report) -> Iterator[str]:
    """Yield the sentences that a reader must see before anything else."""
    session = report.session
    if session.is_recorded:
        yield RECORDED
    if not session.status.is_final:
        yield f"The session is {session.status.value.replace('_', ' ')}: this report shows its results so far."
    if session.analysis_is_partial:
        yield f"The analysis is partial. {session.analysis_partial_reason or ''}".strip()
    if session.error_message:
        yield f"The session ended as {session.status.value.replace('_', ' ')}: {session.error_message}"


def verdict_facts(judged: JudgedVerdict) -> Iterator[tuple[str, str]]:
    verdict = judged.verdict
    because = f" ({judged.confidence_reason})" if judged.confidence_reason else ""
    is_suspected = verdict.outcome is VerdictOutcome.FAULT and judged.confidence is Confidence.LOW
    yield "Outcome", "Suspected fault" if is_suspected else _words(verdict.outcome)
    yield "Object", str(verdict.object or "")
    yield "Mechanism", verdict.mechanism
    yield "Confidence", f"{_words(judged.confidence)}{because}"
    yield "Since", _since(verdict.since)
    yield "Still happening", _words(verdict.still_happening)
    yield "Category", verdict.category


def _words(value: StrEnum) -> str:
    return value.value.replace("_", " ").capitalize()


def _since(since: str) -> str:
    """Return a time with a zone as people read it, and any other text as the agent wrote it."""
    try:
        at = datetime.fromisoformat(since)
        return utc_time(at) if at.tzinfo else since
    except (ValueError, OverflowError):
        return since


def left_out_note(count: int) -> str:
    return f"… [{count} characters are left out here] …"


def no_analysis(report: Report) -> str:
    if report.session.status is SessionStatus.CANCELLED:
        return "The session was cancelled before there was an analysis."
    return "There is no analysis." if report.session.status.is_final else "There is no analysis yet."


def source_line(evidence: EvidenceExcerpt) -> str:
    """Return the tool call that the evidence is the result of, and when it was read."""
    seen = evidence.seen
    if seen.tool is None:
        return "as the agents received it"
    call = f"{seen.server}.{seen.tool}" if seen.server else seen.tool
    ended = ", not made: it shows nothing" if seen.refused else ", failed" if seen.is_error else ""
    read = f", read {utc_time(seen.read_at)}" if seen.read_at else ""
    return f"{call} {seen.arguments or '{}'}{read}{ended}"


def brackets(text: CheckedText) -> Iterator[tuple[int, int, Sequence[PlacedCitation]]]:
    """Yield start, end and citations of each bracket of a text in order, without those that are outside of it or overlap another."""
    grouped: dict[tuple[int, int], list[PlacedCitation]] = {}
    for one in text.citations:
        grouped.setdefault((one.start, one.end), []).append(one)
    position = 0
    for (start, end), members in sorted(grouped.items()):
        if position <= start < end <= len(text.text):
            yield start, end, members
            position = end


def result_text(citation: PlacedCitation) -> str:
    """Return what the check of a citation found."""
    match citation.checked.status:
        case CitationStatus.QUOTE_FOUND:
            return "verified"
        case CitationStatus.ID_ONLY:
            return "by id only"
        case CitationStatus.FAILED:
            return f"not verified: {citation.checked.reason}"
