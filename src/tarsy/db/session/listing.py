"""Pages of the session list: one query a page, whatever its size, and a second one where sessions of it have not ended."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Any

from tarsy.db.cursor import Cursor
from tarsy.db.driver import RawConnection, Row, Statement
from tarsy.db.rows import SPENDING_SUMS, columns, judged_of, read, spending_of
from tarsy.db.session.sorting import NEWEST_FIRST, SessionOrder, SessionSort, ordered_page
from tarsy.db.tables import sql_list
from tarsy.db.work.queue_position import Standing, standings
from tarsy.domain.alert import TITLE_SEARCH_CHARACTERS, Severity, alert_title
from tarsy.domain.citation import CitationCounts
from tarsy.domain.stage import StageType
from tarsy.domain.status import SessionStatus
from tarsy.domain.usage import Spending
from tarsy.domain.verdict import Confidence, JudgedVerdict, VerdictOutcome

# As much of an alert as a list shows.
EXCERPT_CHARACTERS = 300
# Of sessions that have ended.
_NO_WORK = Standing()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFilter:
    # Only these, where any are named.
    ids: tuple[str, ...] = ()
    statuses: tuple[SessionStatus, ...] = ()
    alert_type: str | None = None
    chain_id: str | None = None
    text: str | None = None
    created_from: datetime | None = None
    created_to: datetime | None = None
    outcomes: tuple[VerdictOutcome, ...] = ()
    confidences: tuple[Confidence, ...] = ()
    # An affected object, by its name or as `Kind/namespace/name`.
    affected: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    """A session as a list shows it."""

    id: str
    alert_type: str
    chain_id: str
    author: str
    status: SessionStatus
    # Of its incident, if it investigates one.
    severity: Severity | None
    # Who asked it to stop, if a person did.
    cancelled_by: str | None
    title: str
    alert_excerpt: str
    executive_summary: str | None
    error_message: str | None
    analysis_is_partial: bool
    # Why, in one sentence for people.
    analysis_partial_reason: str | None
    verdict: JudgedVerdict | None
    citations: CitationCounts | None
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    # Stages that the chain will have run when it is through, syntheses and the executive summary included.
    stage_count: int
    current_stage_name: str | None = None
    current_stage_index: int | None = None
    total_tokens: int = 0
    cost: Spending
    # Who worked on it, sub-agents included; how often a model took over from another; the latest judgement; questions about it.
    agents: int = 0
    fallbacks: int = 0
    score: int | None = None
    questions: int = 0
    standing: Standing


@dataclass(frozen=True, slots=True)
class SessionPage:
    sessions: tuple[SessionSummary, ...]
    next_cursor: str | None


# A stage, its synthesis where it has one, and the executive summary.
_STAGE_COUNT = """
    (SELECT count(*) + count(nullif(planned -> 'synthesis', 'null')) FROM jsonb_array_elements(s.chain_snapshot -> 'stages') AS planned)
    + CASE WHEN s.chain_snapshot -> 'executive_summary' = 'null'::jsonb THEN 0 ELSE 1 END"""
# By the audit log, which also knows of sessions that were running, and of those from long ago.
CANCELLED_BY = """
    CASE WHEN s.status IN ('cancelled', 'cancelling') THEN (
        SELECT l.actor FROM audit_log l WHERE l.session_id = s.id AND l.action = 'session.cancelled' ORDER BY l.id DESC LIMIT 1
    ) END"""
_SHOWN = f"""
    (SELECT i.severity FROM incidents i WHERE i.id = s.incident_id) AS severity, {CANCELLED_BY} AS cancelled_by,
    s.id::text AS id, s.alert_type, s.chain_id, s.author, s.status, s.executive_summary, s.error_message, s.analysis_is_partial,
    s.analysis_partial_reason, s.verdict, s.citations, s.created_at, s.started_at, s.completed_at, left(s.alert_data, {TITLE_SEARCH_CHARACTERS}) AS alert_head,
    {_STAGE_COUNT} AS stage_count, stage.stage_name AS current_stage_name, stage.stage_index AS current_stage_index,
    coalesce(used.total, 0) AS total_tokens, used.cost_usd, used.unpriced_calls,
    coalesce(figures.agents, 0) AS agents, coalesce(figures.fallbacks, 0) AS fallbacks, coalesce(chats.questions, 0) AS questions,
    (SELECT total_score FROM session_scores WHERE session_id = s.id AND total_score IS NOT NULL ORDER BY created_at DESC, id DESC LIMIT 1) AS score"""  # noqa: S608 - our own words
_BESIDE = f"""
    LEFT JOIN LATERAL (
        SELECT stage_name, stage_index FROM stages
        WHERE session_id = s.id AND stage_type NOT IN ({sql_list([StageType.CHAT, StageType.SCORING])})
        ORDER BY stage_index DESC LIMIT 1
    ) stage ON true
    LEFT JOIN LATERAL (SELECT sum(total_tokens) AS total, {SPENDING_SUMS} FROM llm_interactions WHERE session_id = s.id) used ON true
    LEFT JOIN session_figures figures ON figures.session_id = s.id
    LEFT JOIN chats ON chats.session_id = s.id"""  # noqa: S608 - our own words
# What people type into search boxes, its last word also as a prefix; text without a word finds nothing. Only a word, which is quoted, can be
# a prefix; what is excluded may end with a bracket.
# No subquery: the planner must see the words to know whether they are rare (then the index) or common (then the newest rows).
_WORDS = "websearch_to_tsquery('simple'::regconfig, :text)"
_QUERY = f"CASE WHEN right({_WORDS}::text, 1) = chr(39) THEN ({_WORDS}::text || ':*')::tsquery ELSE {_WORDS} END"
_SEARCH = f"(s.search @@ {_QUERY} OR s.verdict_search @@ {_QUERY})"
# Nor a plan from before: whether the index or the newest rows are the shorter way depends on the words, by a factor of hundreds.
_PLAN_ANEW = Statement("SET LOCAL plan_cache_mode = force_custom_plan")
# By parameter: what it asks of a session.
_CONDITIONS = {
    "ids": "s.id = ANY(CAST(:ids AS uuid[]))",
    "statuses": "s.status = ANY(CAST(:statuses AS text[]))",
    "alert_type": "s.alert_type = :alert_type",
    "chain_id": "s.chain_id = :chain_id",
    "created_from": "s.created_at >= :created_from",
    "created_to": "s.created_at < :created_to",
    "text": _SEARCH,
    "outcomes": "s.verdict_outcome = ANY(CAST(:outcomes AS text[]))",
    "confidences": "s.verdict_confidence = ANY(CAST(:confidences AS text[]))",
    "affected": "(lower(s.verdict_object) = :affected OR right(lower(s.verdict_object), length(:affected) + 1) = '/' || :affected)",
    "after_id": "(s.created_at, s.id) < (:after_at, :after_id)",
}


async def read_page(
    connection: RawConnection,
    where: SessionFilter,
    *,
    limit: int,
    after: Cursor | None = None,
    order: SessionOrder = NEWEST_FIRST,
    offset: int = 0,
) -> SessionPage:
    """Read one page, with words to search for in a transaction. `after` names a place among the newest, `offset` one in any order."""
    if where.text is not None:
        await _PLAN_ANEW.rows(connection)
    values = _values(where, after)
    asked = tuple(name for name in _CONDITIONS if name in values)
    # The list as people open it. The server keeps its plan where the statement itself says how many rows it is for. With conditions it
    # plans anew, because what they ask for decides which index is the shorter way.
    first = None if asked or offset or order.by is not SessionSort.CREATED else limit + 1
    statement = _page(asked, order, first)
    rows = await statement.rows(connection, {**values, "limit": limit + 1, "offset": offset, "reach": offset + limit + 1})
    shown = rows[:limit]
    places = await standings(connection, [row["id"] for row in shown if row["completed_at"] is None])
    sessions = tuple(_summary(row, places.get(row["id"], _NO_WORK)) for row in shown)
    last = sessions[-1] if len(rows) > limit and order == NEWEST_FIRST else None
    return SessionPage(sessions, Cursor(last.created_at, last.id).encode() if last else None)


async def count_by_status(connection: RawConnection, where: SessionFilter) -> Mapping[SessionStatus, int]:
    """How many sessions fit, with words to search for in a transaction."""
    if where.text is not None:
        await _PLAN_ANEW.rows(connection)
    values = _values(where, None)
    rows = await _counts(tuple(name for name in _CONDITIONS if name in values)).rows(connection, values)
    return {SessionStatus(row["status"]): row["number"] for row in rows}


@cache
def _page(asked: tuple[str, ...], order: SessionOrder, first: int | None) -> Statement:
    return Statement(ordered_page(_SHOWN, _conditions(asked), order, beside=_BESIDE, first=first))


@cache
def _counts(asked: tuple[str, ...]) -> Statement:
    return Statement(f"SELECT s.status, count(*) AS number FROM alert_sessions s WHERE {_conditions(asked)} GROUP BY s.status")  # noqa: S608 - our own words


def _conditions(asked: tuple[str, ...]) -> str:
    return " AND ".join(["s.deleted_at IS NULL", *(_CONDITIONS[name] for name in asked)])


def _values(where: SessionFilter, after: Cursor | None) -> dict[str, Any]:
    several = {name: [one.value for one in chosen] or None for name, chosen in _several(where).items()} | {"ids": list(where.ids) or None}
    affected = where.affected.strip().lower() if where.affected is not None else None
    values = columns(where) | several | {"affected": affected}
    place = {"after_at": after.created_at, "after_id": after.id} if after else {}
    return {name: value for name, value in values.items() if value is not None} | place


def _several(where: SessionFilter) -> dict[str, Sequence[StrEnum]]:
    return {"statuses": where.statuses, "outcomes": where.outcomes, "confidences": where.confidences}


def _summary(row: Row, standing: Standing) -> SessionSummary:
    """Not by `read`, which checks each field: a page is hundreds of rows, and all but these are what the table says they are."""
    fields = dict(row)
    head = fields.pop("alert_head")
    severity, citations = fields["severity"], fields["citations"]
    fields |= {
        "status": SessionStatus(fields["status"]),
        "severity": severity and Severity(severity),
        "title": alert_title(head, fields["alert_type"]),
        "alert_excerpt": head[:EXCERPT_CHARACTERS],
        "verdict": judged_of(fields["verdict"]),
        "citations": citations and read(CitationCounts, citations),
        "cost": spending_of(fields),
        "standing": standing,
    }
    del fields["cost_usd"], fields["unpriced_calls"]
    return SessionSummary(**fields)
