"""Pure module: the orders in which sessions can be listed, each with the words of SQL that an index serves.

Sessions that have what an order goes by come first, whichever way it goes; the others follow, the newest first. In the way that a reader
expects of an order, the newest are first among equals too; the other way is the exact reverse, which the same index gives.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from tarsy.db.tables import CONFIDENCE_RANK, RUN_TIME, SEVERITY_RANK, VERIFIED_CITATIONS, sql_list
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.work import WorkState


class SessionSort(StrEnum):
    """How a list of sessions is sorted."""

    CREATED = "created"
    # The order in which those that wait are begun.
    QUEUE = "queue"
    ALERT_TYPE = "alert_type"
    # Of its incident.
    SEVERITY = "severity"
    OUTCOME = "outcome"
    CONFIDENCE = "confidence"
    # How many were verified.
    CITATIONS = "citations"
    AGENTS = "agents"
    FALLBACKS = "fallbacks"
    QUESTIONS = "questions"
    SCORE = "score"
    DURATION = "duration"
    TOKENS = "tokens"
    COST = "cost"


class SortOrder(StrEnum):
    ASC = "asc"
    DESC = "desc"

    @property
    def reverse(self) -> "SortOrder":
        return SortOrder.DESC if self is SortOrder.ASC else SortOrder.ASC


@dataclass(frozen=True, slots=True)
class SessionOrder:
    by: SessionSort = SessionSort.CREATED
    way: SortOrder = SortOrder.DESC

    @classmethod
    def of(cls, by: SessionSort, way: SortOrder | None) -> "SessionOrder":
        """By something, in the way that a reader expects of it unless they say otherwise: names and places from the first, figures from the largest."""
        return cls(by, way or (SortOrder.ASC if by in _FROM_THE_FIRST else SortOrder.DESC))


NEWEST_FIRST = SessionOrder()
_FROM_THE_FIRST = frozenset({SessionSort.QUEUE, SessionSort.ALERT_TYPE, SessionSort.OUTCOME})


@dataclass(frozen=True, slots=True)
class _Key:
    # What is sorted by, and by what next; `{way}` is the way it goes, `{back}` the other one.
    order: str
    # Which sessions have it, and which have not.
    present: str
    absent: str
    # The table beside the sessions' that holds it.
    joined: str = ""


def _column(name: str) -> _Key:
    """Few values, from the first: the newest first within each."""
    return _Key(f"s.{name} {{way}}, s.created_at {{back}}, s.id {{back}}", f"s.{name} IS NOT NULL", f"s.{name} IS NULL")


def _beside(table: str, column: str, having: str = "true") -> _Key:
    """In a row of another table: what that has at most one of for a session."""
    absent = f"NOT EXISTS (SELECT FROM {table} u WHERE u.session_id = s.id AND {having})"
    return _Key(f"u.{column} {{way}}, u.session_id {{way}}", having, absent, f"JOIN {table} u ON u.session_id = s.id")


def _counted(table: str, column: str) -> _Key:
    """A list shows nothing for a count of 0."""
    return _beside(table, column, f"u.{column} > 0")


_LATEST_SCORE = """
    u.total_score IS NOT NULL AND NOT EXISTS (
        SELECT FROM session_scores later
        WHERE later.session_id = u.session_id AND later.total_score IS NOT NULL AND (later.created_at, later.id) > (u.created_at, u.id)
    )"""
_READY = f"kind = '{INVESTIGATION}' AND state = {sql_list([WorkState.READY])}"
_KEYS: Mapping[SessionSort, _Key] = {
    SessionSort.QUEUE: _Key(
        "w.rank {way}, w.id {way}",
        "true",
        f"NOT EXISTS (SELECT FROM work WHERE subject_id = s.id AND {_READY})",
        f"JOIN (SELECT subject_id, rank, id FROM work WHERE {_READY}) w ON w.subject_id = s.id",  # noqa: S608 - our own words
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
    # Of several judgements the latest, as a list shows it.
    SessionSort.SCORE: _beside("session_scores", "total_score", _LATEST_SCORE),
}


def ordered_page(shown: str, conditions: str, order: SessionOrder, *, beside: str = "", first: int | None = None) -> str:
    """The statement that shows `:limit` sessions after the first `:offset`; `:reach` is the sum of both.

    `beside` joins what else is shown of them. With `first`, for an order by age, it shows so many from the beginning.
    """
    if order.by is SessionSort.CREATED:
        ordered = f"ORDER BY s.created_at {order.way}, s.id {order.way}"
        part = ":limit OFFSET :offset" if first is None else first
        # What is shown is computed outside, for the rows of the page: where all that match must be sorted first, it would be for each of them.
        found = f"SELECT * FROM alert_sessions s WHERE {conditions} {ordered} LIMIT {part}"  # noqa: S608 - our own words
        return f"SELECT {shown} FROM ({found}) s {beside} {ordered}"  # noqa: S608 - our own words
    key = _KEYS[order.by]
    ordered = key.order.format(way=order.way, back=order.way.reverse)
    # Two parts, each of which an index can give in order: the second is looked for only where the first does not fill the page.
    return f"""
        SELECT {shown} FROM (
            SELECT id, row_number() OVER () AS place FROM (
                (SELECT s.id FROM alert_sessions s {key.joined} WHERE {conditions} AND {key.present}
                ORDER BY {ordered} LIMIT :reach)
                UNION ALL
                (SELECT s.id FROM alert_sessions s WHERE {conditions} AND {key.absent} ORDER BY s.created_at DESC, s.id DESC LIMIT :reach)
                LIMIT :limit OFFSET :offset
            ) found
        ) picked JOIN alert_sessions s ON s.id = picked.id {beside} ORDER BY picked.place
        """  # noqa: S608 - our own words
