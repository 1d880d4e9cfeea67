"""Pages of the session list: three queries a page, whatever its size."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import TSQUERY
from sqlalchemy.ext.asyncio import AsyncConnection

from tarsy.db.cursor import Cursor
from tarsy.db.tables import alert_sessions, sql_list
from tarsy.db.work.standing import Standing, standings
from tarsy.domain.alert_title import LOOKED_AT_CHARACTERS, alert_title
from tarsy.domain.stage import StageType
from tarsy.domain.status import SessionStatus

# As much of an alert as a list shows.
EXCERPT_CHARACTERS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFilter:
    statuses: tuple[SessionStatus, ...] = ()
    alert_type: str | None = None
    chain_id: str | None = None
    text: str | None = None
    created_from: datetime | None = None
    created_to: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    """A session as a list shows it."""

    id: str
    alert_type: str
    chain_id: str
    author: str
    status: SessionStatus
    title: str
    alert_excerpt: str
    executive_summary: str | None
    error_message: str | None
    analysis_is_partial: bool
    # Why, in one sentence for people.
    analysis_partial_reason: str | None
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    # Stages that the chain will have run when it is through, syntheses and the executive summary included.
    stage_count: int
    current_stage_name: str | None = None
    current_stage_index: int | None = None
    total_tokens: int = 0
    standing: Standing


@dataclass(frozen=True, slots=True)
class SessionPage:
    sessions: tuple[SessionSummary, ...]
    next_cursor: str | None


_STAGE_COUNT: sa.ColumnElement[int] = sa.literal_column(
    "jsonb_array_length(jsonb_path_query_array(chain_snapshot, '$.stages[*]'))"
    " + CASE WHEN chain_snapshot -> 'executive_summary' = 'null'::jsonb THEN 0 ELSE 1 END"
    " + jsonb_array_length(jsonb_path_query_array(chain_snapshot, '$.stages[*].synthesis ? (@ != null)'))"
)

_PROGRESS = sa.text(
    f"""
    SELECT s.id::text AS id, stage.stage_name, stage.stage_index, coalesce(tokens.total, 0) AS total_tokens
    FROM unnest(CAST(:ids AS uuid[])) AS s(id)
    LEFT JOIN LATERAL (
        SELECT stage_name, stage_index FROM stages
        WHERE session_id = s.id AND stage_type NOT IN ({sql_list([StageType.CHAT, StageType.SCORING])})
        ORDER BY stage_index DESC LIMIT 1
    ) stage ON true
    LEFT JOIN LATERAL (SELECT sum(total_tokens) AS total FROM llm_interactions WHERE session_id = s.id) tokens ON true
    """  # noqa: S608 - our own words
)


async def read_page(connection: AsyncConnection, where: SessionFilter, *, limit: int, after: Cursor | None) -> SessionPage:
    rows = (await connection.execute(_page_query(where, limit, after))).mappings().all()
    shown = rows[:limit]
    progress = await _progress(connection, [row["id"] for row in shown])
    waiting = [row["id"] for row in shown if not SessionStatus(row["status"]).is_final]
    places = await standings(connection, waiting)
    sessions = tuple(_summary(row, progress[row["id"]], places.get(row["id"], Standing())) for row in shown)
    last = sessions[-1] if len(rows) > limit else None
    return SessionPage(sessions, Cursor(last.created_at, last.id).encode() if last else None)


async def _progress(connection: AsyncConnection, ids: Sequence[str]) -> dict[str, sa.RowMapping]:
    if not ids:
        return {}
    return {row["id"]: row for row in (await connection.execute(_PROGRESS, {"ids": list(ids)})).mappings()}


def _page_query(where: SessionFilter, limit: int, after: Cursor | None) -> sa.Select[*tuple[Any, ...]]:
    table = alert_sessions.c
    query = sa.select(
        table.id,
        table.alert_type,
        table.chain_id,
        table.author,
        table.status,
        table.executive_summary,
        table.error_message,
        table.analysis_is_partial,
        table.analysis_partial_reason,
        table.created_at,
        table.started_at,
        table.completed_at,
        sa.func.left(table.alert_data, LOOKED_AT_CHARACTERS).label("alert_head"),
        _STAGE_COUNT.label("stage_count"),
    ).where(*_conditions(where))
    if after:
        query = query.where(
            sa.tuple_(table.created_at, table.id) < sa.tuple_(sa.literal(after.created_at), sa.literal(after.id, table.id.type))
        )
    return query.order_by(table.created_at.desc(), table.id.desc()).limit(limit + 1)


def _conditions(where: SessionFilter) -> list[sa.ColumnElement[bool]]:
    table = alert_sessions.c
    conditions: list[sa.ColumnElement[bool]] = [table.deleted_at.is_(None)]
    if where.statuses:
        conditions.append(table.status.in_([status.value for status in where.statuses]))
    if where.alert_type is not None:
        conditions.append(table.alert_type == where.alert_type)
    if where.chain_id is not None:
        conditions.append(table.chain_id == where.chain_id)
    if where.created_from is not None:
        conditions.append(table.created_at >= where.created_from)
    if where.created_to is not None:
        conditions.append(table.created_at < where.created_to)
    if where.text is not None:
        conditions.append(table.search.op("@@")(_search_query(where.text)))
    return conditions


def _search_query(text: str) -> sa.ColumnElement[Any]:
    """What people type into search boxes, its last word also as a prefix; text without a word finds nothing.

    No subquery: the planner must see the words to know whether they are rare (then the index) or common (then the newest rows).
    """
    query = sa.func.websearch_to_tsquery(sa.literal_column("'simple'::regconfig"), text)
    words = sa.cast(query, sa.Text)
    # Only a word, which is quoted, can be a prefix; what is excluded may end with a bracket.
    return sa.case((words.endswith("'"), sa.cast(words.concat(":*"), TSQUERY)), else_=query)


def _summary(row: sa.RowMapping, progress: sa.RowMapping, standing: Standing) -> SessionSummary:
    return SessionSummary(
        id=row["id"],
        alert_type=row["alert_type"],
        chain_id=row["chain_id"],
        author=row["author"],
        status=SessionStatus(row["status"]),
        title=alert_title(row["alert_head"], row["alert_type"]),
        alert_excerpt=row["alert_head"][:EXCERPT_CHARACTERS],
        executive_summary=row["executive_summary"],
        error_message=row["error_message"],
        analysis_is_partial=row["analysis_is_partial"],
        analysis_partial_reason=row["analysis_partial_reason"],
        created_at=row["created_at"],
        started_at=row["started_at"],
        completed_at=row["completed_at"],
        stage_count=row["stage_count"],
        current_stage_name=progress["stage_name"],
        current_stage_index=progress["stage_index"],
        total_tokens=progress["total_tokens"],
        standing=standing,
    )
