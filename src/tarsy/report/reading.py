"""Reads all that a report holds out of the database."""

from collections.abc import Iterable, Sequence

from tarsy.db.errors import NotFoundError
from tarsy.db.repositories import SessionRepositories
from tarsy.db.run.evidence import CheckedText, EvidenceText
from tarsy.db.run.trace import SessionRun
from tarsy.domain.alert import alert_title
from tarsy.domain.followup import ChatUserMessage
from tarsy.domain.session import AlertSession
from tarsy.domain.verdict import Verdict
from tarsy.kit.clock import SystemClock
from tarsy.report.report import CitedText, Exchange, Exhibit, Report, exhibit_of, within_limit


async def read_report(sources: SessionRepositories, session_id: str) -> Report:
    """Everything a report on the session says.

    Raises:
        NotFoundError: there is no such session.
    """
    session = await sources.sessions.get(session_id)
    run = await sources.interactions.run(session.id)
    analysis = _cited(await sources.citations.of_analysis(session.id))
    chat = [await _exchange(sources, message, run) for message in await sources.chats.list(session.id)]
    texts = [analysis, *(one.answer for one in chat)]
    exhibits, left_out = within_limit(await _exhibits(sources, session, texts))
    return Report(
        session=session,
        title=alert_title(session.alert_data, session.alert_type),
        models=tuple(dict.fromkeys(one.model_name for one in run.executions if one.model_name)),
        cost=run.total_spending,
        analysis=analysis,
        chat=tuple(chat),
        exhibits=exhibits,
        left_out=left_out,
        made_at=SystemClock().now(),
    )


async def _exchange(sources: SessionRepositories, message: ChatUserMessage, run: SessionRun) -> Exchange:
    answering = next((one for one in reversed(run.executions) if message.stage_id and one.stage_id == message.stage_id), None)
    checked = await sources.citations.of_execution(message.session_id, answering.id) if answering else None
    return Exchange(
        question=message.content,
        author=message.author,
        asked_at=message.created_at,
        answer=_cited(checked) if checked else CitedText(""),
        error=message.error_message or "",
    )


def _cited(checked: CheckedText) -> CitedText:
    return CitedText(checked.text, checked.citations)


async def _exhibits(sources: SessionRepositories, session: AlertSession, texts: Sequence[CitedText]) -> list[Exhibit]:
    """What is cited, in the order in which it is. A citation of something that does not exist says so itself."""
    return [
        # One after the other: of a large result only what is shown stays in memory.
        exhibit_of(found, texts)
        for evidence_id in dict.fromkeys(_cited_ids(session, texts))
        if (found := await _evidence(sources, session.id, evidence_id))
    ]


async def _evidence(sources: SessionRepositories, session_id: str, evidence_id: str) -> EvidenceText | None:
    try:
        return await sources.evidence.read(session_id, evidence_id)
    except NotFoundError:
        return None


def _cited_ids(session: AlertSession, texts: Sequence[CitedText]) -> Iterable[str]:
    if session.verdict:
        yield from _ids_of(session.verdict.verdict)
    for text in texts:
        yield from (one.checked.citation.evidence_id for one in text.citations)


def _ids_of(verdict: Verdict) -> Iterable[str]:
    yield from verdict.evidence
    for one in verdict.ruled_out:
        yield from one.evidence
