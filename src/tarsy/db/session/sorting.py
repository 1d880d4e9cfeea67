"""The orders in which sessions can be listed, each written so that an index serves it.

Sessions that have a value to be sorted by come first, in either direction; the others follow, the newest first. In the default direction
of an order the newest are first among equals too; the other direction is the exact reverse, which the same index gives.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from tarsy.db.tables import CONFIDENCE_RANK, RUN_TIME, SEVERITY_RANK, VERIFIED_CITATIONS
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.session_sort import SessionSort, SortOrder
from tarsy.domain.work import WorkState


@dataclass(frozen=True, slots=True)
class SessionOrder:
    by: SessionSort = SessionSort.CREATED
    direction: SortOrder = SortOrder.DESC

    @classmethod
    def of(cls, by: SessionSort, direction: SortOrder | None) -> "SessionOrder":
        """Return an order in the given or in its default direction: names and positions ascending, figures descending."""
        return cls(by, direction or (SortOrder.ASC if by in _ASCENDING_BY_DEFAULT else SortOrder.DESC))


NEWEST_FIRST = SessionOrder()
_ASCENDING_BY_DEFAULT = frozenset({SessionSort.QUEUE, SessionSort.ALERT_TYPE, SessionSort.OUTCOME})


@dataclass(frozen=True, slots=True)
class _Key:
    # The columns to sort by; `{way}` is the direction, `{back}` the opposite one.
    order: str
    # The conditions of sessions with a value, and of those without.
    present: str
    absent: str
    # The other table that holds the value.
    joined: str = ""


def _column(name: str) -> _Key:
    """Sort by a column with few values: the newest first within each."""
    return _Key(f"s.{name} {{way}}, s.created_at {{back}}, s.id {{back}}", f"s.{name} IS NOT NULL", f"s.{name} IS NULL")


def _beside(table: str, column: str, having: str = "true") -> _Key:
    """Sort by a column of another table, which has at most one row for a session."""
    absent = f"NOT EXISTS (SELECT FROM {table} u WHERE u.session_id = s.id AND {having})"
    return _Key(f"u.{column} {{way}}, u.session_id {{way}}", having, absent, f"JOIN {table} u ON u.session_id = s.id")


def _counted(table: str, column: str) -> _Key:
    """Sort by a count; a list shows nothing for 0."""
    return _beside(table, column, f"u.{column} > 0")


_LATEST_SCORE = """
    u.total_score IS NOT NULL AND NOT EXISTS (
        SELECT FROM session_scores later
        WHERE later.session_id = u.session_id AND later.total_score IS NOT NULL AND (later.created_at, later.id) > (u.created_at, u.id)
    )"""
_READY = f"kind = '{INVESTIGATION}' AND state = '{WorkState.READY}'"
_KEYS: Mapping[SessionSort, _Key] = {
    SessionSort.QUEUE: _Key(
        "w.rank {way}, w.id {way}",
        "true",
        f"NOT EXISTS (SELECT FROM work WHERE subject_id = s.id AND {_READY})",
        f"JOIN (SELECT subject_id, rank, id FROM work WHERE {_READY}) w ON w.subject_id = s.id",
    ),
    SessionSort.ALERT_TYPE: _column("alert_type"),
    SessionSort.OUTCOME: _column("verdict_outcome"),
    SessionSort.CONFIDENCE: _Key(
        f"({CONFIDENCE_RANK}) {{way}}, s.created_at {{way}}, s.id {{way}}",
        "s.verdict_confidence IS NOT NULL",
        "s.verdict_confidence IS NULL",
    ),
    SessionSort.DURATION: _Key(
        f"({RUN_TIME}) {{way}}, s.id {{way}}",
        "s.started_at IS NOT NULL AND s.completed_at IS NOT NULL",
        "(s.started_at IS NULL OR s.completed_at IS NULL)",
    ),
    SessionSort.TOKENS: _beside("session_spending", "total_tokens"),
    SessionSort.COST: _beside("session_spending", "cost_usd"),
    SessionSort.SEVERITY: _Key(
        f"({SEVERITY_RANK}) {{way}}, i.opened_at {{way}}, i.id {{way}}, s.created_at {{way}}, s.id {{way}}",
        "true",
        "s.incident_id IS NULL",
        "JOIN incidents i ON i.id = s.incident_id",
    ),
    SessionSort.CITATIONS: _Key(f"({VERIFIED_CITATIONS}) {{way}}, s.id {{way}}", "s.citations IS NOT NULL", "s.citations IS NULL"),
    SessionSort.AGENTS: _counted("session_figures", "agents"),
    SessionSort.FALLBACKS: _counted("session_figures", "fallbacks"),
    SessionSort.QUESTIONS: _counted("chats", "questions"),
    # The latest score, as a list shows it.
    SessionSort.SCORE: _beside("session_scores", "total_score", _LATEST_SCORE),
}


def ordered_page(columns: str, conditions: str, order: SessionOrder, *, joins: str = "") -> str:
    """Return the query of `:limit` sessions after the first `:offset`; `:reach` is the sum of both.

    `joins` add the other tables that the columns come from.
    """
    if order.by is SessionSort.CREATED:
        ordered = f"ORDER BY s.created_at {order.direction}, s.id {order.direction}"
        # The columns are computed outside, for the rows of the page: inside they would be for every row that must be sorted.
        found = f"SELECT * FROM alert_sessions s WHERE {conditions} {ordered} LIMIT :limit OFFSET :offset"
        return f"SELECT {columns} FROM ({found}) s {joins} {ordered}"
    key = _KEYS[order.by]
    ordered = key.order.format(way=order.direction, back=order.direction.reverse)
    # Two parts, each of which an index can give in order: the second is only read where the first does not fill the page.
    return f"""
        SELECT {columns} FROM (
            SELECT id, row_number() OVER () AS place FROM (
                (SELECT s.id FROM alert_sessions s {key.joined} WHERE {conditions} AND {key.present}
                ORDER BY {ordered} LIMIT :reach)
                UNION ALL
                (SELECT s.id FROM alert_sessions s WHERE {conditions} AND {key.absent} ORDER BY s.created_at DESC, s.id DESC LIMIT :reach)
                LIMIT :limit OFFSET :offset
            ) found
        ) picked JOIN alert_sessions s ON s.id = picked.id {joins} ORDER BY picked.place
        """
