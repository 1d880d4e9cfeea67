"""Pure module: sessions, chat questions and scores from their rows."""

from typing import Any

import sqlalchemy as sa

from tarsy.domain.chat import ChatUserMessage
from tarsy.domain.score import SessionScore
from tarsy.domain.session import AlertSession
from tarsy.domain.status import RunStatus, SessionStatus


def session_of(row: sa.RowMapping) -> AlertSession:
    values = _values(AlertSession, row)
    values["status"] = SessionStatus(row["status"])
    return AlertSession(**values)


def chat_message_of(row: sa.RowMapping) -> ChatUserMessage:
    values = _values(ChatUserMessage, row)
    values["status"] = RunStatus(row["status"])
    return ChatUserMessage(**values)


def score_of(row: sa.RowMapping) -> SessionScore:
    values = _values(SessionScore, row)
    values["status"] = RunStatus(row["status"])
    return SessionScore(**values)


def _values(kind: type[Any], row: sa.RowMapping) -> dict[str, Any]:
    # Text statements return uuid objects, tables strings.
    return {
        name: str(row[name]) if name == "id" or (name.endswith("_id") and row[name] is not None) else row[name]
        for name in kind.__dataclass_fields__
    }
