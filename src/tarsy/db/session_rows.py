"""Pure module: sessions, chat questions and scores from their rows."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import orjson

from tarsy.db.driver import Row
from tarsy.db.rows import read
from tarsy.db.storable import storable_json
from tarsy.domain.citation import CitationCounts
from tarsy.domain.followup import ChatUserMessage, SessionScore
from tarsy.domain.session import AlertSession
from tarsy.domain.verdict import Confidence, JudgedVerdict, judged_fields, verdict_of
from tarsy.kit.text import storable


def session_of(row: Row) -> AlertSession:
    return read(AlertSession, row, verdict=judged_of(row["verdict"]))


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
    return read(ChatUserMessage, row)


def score_of(row: Row) -> SessionScore:
    return read(SessionScore, row)
