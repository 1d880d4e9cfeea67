"""Pure module: the end of a session as SQL, alone in a transaction or within the statement of the step that brings it."""

from functools import cache
from typing import Any

from tarsy.db import session_rows
from tarsy.db.driver import Statement
from tarsy.db.open_runs import OPEN_EVENTS
from tarsy.db.status_moves import SESSIONS, ending_statement, ending_update
from tarsy.db.step_statement import Ending
from tarsy.db.storable import storable_json
from tarsy.db.work.subjects import SUBJECTS
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.session import SessionClose
from tarsy.domain.status import SessionStatus

_COLUMNS = (
    "completed_at",
    "analysis_is_partial",
    "analysis_partial_reason",
    "error_message",
    "executive_summary_error",
    "final_analysis",
    "executive_summary",
)
# What checking made of the analysis. Slashes part the names of an object: the parser would take the whole for a path.
_CHECKED = """citations = CAST(CAST(:citations AS text) AS jsonb), verdict = CAST(CAST(:verdict AS text) AS jsonb),
        verdict_outcome = :outcome, verdict_confidence = :confidence, verdict_object = :object,
        verdict_search = to_tsvector('simple'::regconfig, CAST(:words AS text))"""


def end_statement(close: SessionClose) -> Statement:
    """Answers with what is told of the session, if it could be moved."""
    return ending_statement(SESSIONS, close.status, _COLUMNS, "alert_type, chain_id", _CHECKED if close.citations else "")


def end_values(session_id: str, close: SessionClose) -> dict[str, Any]:
    checked = session_rows.checked_values(close.verdict, close.citations) if close.citations else {}
    return {**storable_json({name: getattr(close, name) for name in _COLUMNS}), **checked, "id": session_id}


def plain_ending(session_id: str, close: SessionClose) -> Ending:
    """The end of a session of which nothing streams any more, as a part of its step's statement."""
    types = sorted(SUBJECTS[INVESTIGATION].stage_types)
    values = {**end_values(session_id, close), "session_id": session_id, "types": types}
    return Ending(_update(close.status, checked=close.citations is not None), values)


@cache
def _update(status: SessionStatus, *, checked: bool) -> str:
    update = ending_update(SESSIONS, status, _COLUMNS, _CHECKED if checked else "", source="claimed")
    return f"{update} AND NOT EXISTS (SELECT FROM timeline_events WHERE {OPEN_EVENTS})"
