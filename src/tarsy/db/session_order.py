"""Pure module: the orders in which sessions can be listed, each with the words of SQL that an index serves.

Sessions that have what an order goes by come first, whichever way it goes; the others follow, the newest first.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from tarsy.db.tables import CONFIDENCE_RANK, RUN_TIME, sql_list
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.work import WorkState


class SessionSort(StrEnum):
    """How a list of sessions is sorted."""

    CREATED = "created"
    # The order in which those that wait are begun.
    QUEUE = "queue"
    ALERT_TYPE = "alert_type"
    OUTCOME = "outcome"
    CONFIDENCE = "confidence"
    DURATION = "duration"
    TOKENS = "tokens"
    COST = "cost"


class SortOrder(StrEnum):
    ASC = "asc"
    DESC = "desc"


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
    # What is sorted by, and by what next; `{way}` is the way it goes.
    order: str
    # Which sessions have it, and which have not.
    present: str
    absent: str
    # The table beside the sessions' that holds it.
    joined: str = ""


def _column(name: str) -> _Key:
    """Few values: the newest first within each."""
    return _Key(f"s.{name} {{way}}, s.created_at DESC, s.id DESC", f"s.{name} IS NOT NULL", f"s.{name} IS NULL")


def _spent(column: str) -> _Key:
    absent = "NOT EXISTS (SELECT FROM session_spending WHERE session_id = s.id)"
    return _Key(f"u.{column} {{way}}, u.session_id {{way}}", "true", absent, "JOIN session_spending u ON u.session_id = s.id")


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
        f"({CONFIDENCE_RANK}) {{way}}, s.created_at DESC, s.id DESC", "s.verdict_confidence IS NOT NULL", "s.verdict_confidence IS NULL"
    ),
    SessionSort.DURATION: _Key(
        f"({RUN_TIME}) {{way}}, s.id {{way}}",
        "s.started_at IS NOT NULL AND s.completed_at IS NOT NULL",
        "(s.started_at IS NULL OR s.completed_at IS NULL)",
    ),
    SessionSort.TOKENS: _spent("total_tokens"),
    SessionSort.COST: _spent("cost_usd"),
}


def ordered_page(shown: str, conditions: str, order: SessionOrder) -> str:
    """The statement that shows `:limit` sessions after the first `:offset`; `:reach` is the sum of both."""
    if order.by is SessionSort.CREATED:
        ordered = f"ORDER BY s.created_at {order.way}, s.id {order.way}"
        # What is shown is computed outside, for the rows of the page: where all that match must be sorted first, it would be for each of them.
        found = f"SELECT * FROM alert_sessions s WHERE {conditions} {ordered} LIMIT :limit OFFSET :offset"  # noqa: S608 - our own words
        return f"SELECT {shown} FROM ({found}) s {ordered}"  # noqa: S608 - our own words
    key = _KEYS[order.by]
    # Two parts, each of which an index can give in order: the second is looked for only where the first does not fill the page.
    return f"""
        SELECT {shown} FROM (
            SELECT id, row_number() OVER () AS place FROM (
                (SELECT s.id FROM alert_sessions s {key.joined} WHERE {conditions} AND {key.present}
                ORDER BY {key.order.format(way=order.way)} LIMIT :reach)
                UNION ALL
                (SELECT s.id FROM alert_sessions s WHERE {conditions} AND {key.absent} ORDER BY s.created_at DESC, s.id DESC LIMIT :reach)
                LIMIT :limit OFFSET :offset
            ) found
        ) picked JOIN alert_sessions s ON s.id = picked.id ORDER BY picked.place
        """  # noqa: S608 - our own words
