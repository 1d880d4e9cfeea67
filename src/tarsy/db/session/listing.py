"""Pages of the session list, and the filter that sessions are listed and counted by."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from tarsy.db.cursor import Cursor
from tarsy.db.rows import SPENDING_SUMS, columns, judged_of, read, spending_of
from tarsy.db.session.sorting import NEWEST_FIRST, SessionOrder, ordered_page
from tarsy.db.tables import sql_list
from tarsy.db.work.queue_position import QueuePosition, queue_positions
from tarsy.domain.alert import TITLE_SEARCH_CHARACTERS, Severity, alert_title
from tarsy.domain.citation import CitationCounts
from tarsy.domain.stage import StageType
from tarsy.domain.status import SessionStatus
from tarsy.domain.usage import Spending
from tarsy.domain.verdict import Confidence, JudgedVerdict, VerdictOutcome

# As much of an alert as a list shows.
EXCERPT_CHARACTERS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFilter:
    # Only these, where any are named.
    ids: tuple[str, ...] = ()
    # The first hexadecimal digits of the id.
    id_prefix: str | None = None
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
    # Ended with a verdict, and with or without a review.
    reviewed: bool | None = None


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
    # Stages that the chain may run, with those that are added to the configured ones.
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
    position: QueuePosition


@dataclass(frozen=True, slots=True)
class SessionPage:
    sessions: tuple[SessionSummary, ...]
    next_cursor: str | None


# As many as `session.plan` makes of the chain: stages with their syntheses, the challenge and its revision, and the executive summary.
_STAGE_COUNT = """
    (SELECT count(*) + count(nullif(planned -> 'synthesis', 'null')) FROM jsonb_array_elements(s.chain_snapshot -> 'stages') AS planned)
    + CASE WHEN s.chain_snapshot ? 'challenge' THEN 2 ELSE 0 END
    + CASE WHEN s.chain_snapshot -> 'executive_summary' = 'null'::jsonb THEN 0 ELSE 1 END"""
# From the audit log, which also has sessions that were running, and old ones.
CANCELLED_BY = """
    CASE WHEN s.status IN ('cancelled', 'cancelling') THEN (
        SELECT l.actor FROM audit_log l WHERE l.session_id = s.id AND l.action = 'session.cancelled' ORDER BY l.id DESC LIMIT 1
    ) END"""
_COLUMNS = f"""
    (SELECT i.severity FROM incidents i WHERE i.id = s.incident_id) AS severity, {CANCELLED_BY} AS cancelled_by,
    CAST(s.id AS text) AS id, s.alert_type, s.chain_id, s.author, s.status, s.executive_summary, s.error_message, s.analysis_is_partial,
    s.analysis_partial_reason, s.verdict, s.citations, s.created_at, s.started_at, s.completed_at, left(s.alert_data, {TITLE_SEARCH_CHARACTERS}) AS alert_head,
    {_STAGE_COUNT} AS stage_count, stage.stage_name AS current_stage_name, stage.stage_index AS current_stage_index,
    coalesce(used.total, 0) AS total_tokens, used.cost_usd, used.unpriced_calls, used.estimated_calls,
    coalesce(figures.agents, 0) AS agents, coalesce(figures.fallbacks, 0) AS fallbacks, coalesce(chats.questions, 0) AS questions,
    (SELECT total_score FROM session_scores WHERE session_id = s.id AND total_score IS NOT NULL ORDER BY created_at DESC, id DESC LIMIT 1) AS score"""
_JOINS = f"""
    LEFT JOIN LATERAL (
        SELECT stage_name, stage_index FROM stages
        WHERE session_id = s.id AND stage_type NOT IN ({sql_list([StageType.CHAT, StageType.SCORING])})
        ORDER BY stage_index DESC LIMIT 1
    ) stage ON true
    LEFT JOIN LATERAL (SELECT sum(total_tokens) AS total, {SPENDING_SUMS} FROM llm_interactions WHERE session_id = s.id) used ON true
    LEFT JOIN session_figures figures ON figures.session_id = s.id
    LEFT JOIN chats ON chats.session_id = s.id"""
# The text of a search box, its last word also as a prefix; text without a word finds nothing. Only a word, which is quoted, can be a
# prefix; an exclusion may end with a bracket.
# No subquery: the planner must see the words to know whether they are rare (then it reads the index) or common (then the newest rows).
_WORDS = "websearch_to_tsquery('simple'::regconfig, :text)"
_QUERY = f"CASE WHEN right({_WORDS}::text, 1) = chr(39) THEN ({_WORDS}::text || ':*')::tsquery ELSE {_WORDS} END"
_SEARCH = f"(s.search @@ {_QUERY} OR s.verdict_search @@ {_QUERY})"
# No cached plan either: which of the two is faster depends on the words, by a factor of hundreds.
_FORCE_CUSTOM_PLAN = sa.text("SET LOCAL plan_cache_mode = force_custom_plan")
# By parameter.
_CONDITIONS = {
    "ids": "s.id = ANY(CAST(:ids AS uuid[]))",
    "id_prefix": "s.id BETWEEN CAST(rpad(:id_prefix, 32, '0') AS uuid) AND CAST(rpad(:id_prefix, 32, 'f') AS uuid)",
    "statuses": "s.status = ANY(CAST(:statuses AS text[]))",
    "alert_type": "s.alert_type = :alert_type",
    "chain_id": "s.chain_id = :chain_id",
    "created_from": "s.created_at >= :created_from",
    "created_to": "s.created_at < :created_to",
    "text": _SEARCH,
    "outcomes": "s.verdict_outcome = ANY(CAST(:outcomes AS text[]))",
    "confidences": "s.verdict_confidence = ANY(CAST(:confidences AS text[]))",
    "reviewed": (
        "(s.verdict_outcome IS NOT NULL AND s.completed_at IS NOT NULL "
        "AND EXISTS (SELECT FROM session_reviews r WHERE r.session_id = s.id) = CAST(:reviewed AS boolean))"
    ),
    "affected": "(lower(s.verdict_object) = :affected OR right(lower(s.verdict_object), length(:affected) + 1) = '/' || :affected)",
}


async def read_page(
    connection: AsyncConnection,
    where: SessionFilter,
    *,
    limit: int,
    after: Cursor | None = None,
    order: SessionOrder = NEWEST_FIRST,
    offset: int = 0,
) -> SessionPage:
    """Return one page, in a transaction. `after` names a position among the newest, `offset` one in any order."""
    conditions, values = await _conditions(connection, where)
    if after:
        conditions += " AND (s.created_at, s.id) < (:after_at, :after_id)"
        values |= {"after_at": after.created_at, "after_id": after.id}
    values |= {"limit": limit + 1, "offset": offset, "reach": offset + limit + 1}
    query = sa.text(ordered_page(_COLUMNS, conditions, order, joins=_JOINS))
    rows = (await connection.execute(query, values)).mappings().all()
    positions = await queue_positions(connection, [row["id"] for row in rows[:limit] if row["completed_at"] is None])
    sessions = tuple(
        read(
            SessionSummary,
            row,
            title=alert_title(row["alert_head"], row["alert_type"]),
            alert_excerpt=row["alert_head"][:EXCERPT_CHARACTERS],
            verdict=judged_of(row["verdict"]),
            cost=spending_of(row),
            position=positions.get(row["id"], QueuePosition()),
        )
        for row in rows[:limit]
    )
    last = sessions[-1] if len(rows) > limit and order == NEWEST_FIRST else None
    return SessionPage(sessions, Cursor(last.created_at, last.id).encode() if last else None)


async def count_by_status(connection: AsyncConnection, where: SessionFilter) -> Mapping[SessionStatus, int]:
    """Return how many sessions match, in a transaction."""
    conditions, values = await _conditions(connection, where)
    query = sa.text(f"SELECT s.status, count(*) AS number FROM alert_sessions s WHERE {conditions} GROUP BY s.status")
    return {SessionStatus(row.status): row.number for row in await connection.execute(query, values)}


async def _conditions(connection: AsyncConnection, where: SessionFilter) -> tuple[str, dict[str, Any]]:
    """Return the condition of sessions `s` that match, and its parameters; prepare the transaction for a search."""
    if where.text is not None:
        await connection.execute(_FORCE_CUSTOM_PLAN)
    values = columns(where) | {
        "ids": list(where.ids),
        "statuses": [status.value for status in where.statuses],
        "outcomes": [outcome.value for outcome in where.outcomes],
        "confidences": [confidence.value for confidence in where.confidences],
        "affected": None if where.affected is None else where.affected.strip().lower(),
    }
    given = {name: value for name, value in values.items() if value is not None and value != []}
    return " AND ".join(["s.deleted_at IS NULL", *(_CONDITIONS[name] for name in given)]), given
