"""Pure module: sessions, chat questions and scores from their rows."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import orjson

from tarsy.db.driver import Row
from tarsy.db.storable import storable_json
from tarsy.domain.chat import ChatUserMessage
from tarsy.domain.citation import CitationCounts
from tarsy.domain.score import SessionScore
from tarsy.domain.session import AlertSession
from tarsy.domain.status import RunStatus, SessionStatus
from tarsy.domain.verdict import Confidence, JudgedVerdict, judged_fields, verdict_of
from tarsy.kit.characters import storable


def session_of(row: Row) -> AlertSession:
    return AlertSession(
        id=str(row["id"]),
        alert_data=row["alert_data"],
        alert_type=row["alert_type"],
        chain_id=row["chain_id"],
        chain_snapshot=row["chain_snapshot"],
        author=row["author"],
        nonce=row["nonce"],
        status=SessionStatus(row["status"]),
        runbook_url=row["runbook_url"],
        runbook=row["runbook"],
        mcp_selection=row["mcp_selection"],
        incident_id=_id(row["incident_id"]),
        final_analysis=row["final_analysis"],
        analysis_is_partial=row["analysis_is_partial"],
        analysis_partial_reason=row["analysis_partial_reason"],
        executive_summary=row["executive_summary"],
        executive_summary_error=row["executive_summary_error"],
        verdict=judged_of(row["verdict"]),
        citations=CitationCounts(**row["citations"]) if row["citations"] else None,
        error_message=row["error_message"],
        created_at=row["created_at"],
        started_at=row["started_at"],
        completed_at=row["completed_at"],
        deleted_at=row["deleted_at"],
    )


def checked_values(judged: JudgedVerdict | None, counts: CitationCounts) -> dict[str, Any]:
    """What checking made of a session's analysis, as its columns hold it."""
    citations = orjson.dumps(asdict(counts)).decode()
    if judged is None:
        return {"citations": citations, **dict.fromkeys(("verdict", "outcome", "confidence", "object", "words"))}
    affected = storable(str(judged.verdict.object or ""))
    return {
        "citations": citations,
        "verdict": orjson.dumps(storable_json(judged_fields(judged))).decode(),
        "outcome": judged.verdict.outcome.value,
        "confidence": judged.confidence.value,
        "object": affected or None,
        "words": f"{affected} {storable(judged.verdict.mechanism)}".replace("/", " "),
    }


def judged_of(fields: Mapping[str, Any] | None) -> JudgedVerdict | None:
    if fields is None:
        return None
    return JudgedVerdict(verdict_of(fields), Confidence(fields["confidence"]), fields["confidence_reason"])


def chat_message_of(row: Row) -> ChatUserMessage:
    return ChatUserMessage(
        id=str(row["id"]),
        chat_id=str(row["chat_id"]),
        session_id=str(row["session_id"]),
        content=row["content"],
        author=row["author"],
        status=RunStatus(row["status"]),
        stage_id=_id(row["stage_id"]),
        error_message=row["error_message"],
        created_at=row["created_at"],
        completed_at=row["completed_at"],
    )


def score_of(row: Row) -> SessionScore:
    return SessionScore(
        id=str(row["id"]),
        session_id=str(row["session_id"]),
        status=RunStatus(row["status"]),
        requested_by=row["requested_by"],
        total_score=row["total_score"],
        analysis=row["analysis"],
        missing_tools=row["missing_tools"],
        error_message=row["error_message"],
        stage_id=_id(row["stage_id"]),
        created_at=row["created_at"],
        completed_at=row["completed_at"],
    )


def _id(value: object) -> str | None:
    # Text statements return uuid objects, tables strings.
    return None if value is None else str(value)
