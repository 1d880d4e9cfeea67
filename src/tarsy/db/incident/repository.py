"""Incidents and alerts as people see them: pages of the list, an incident with its alerts and investigations."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db.connection import autocommit
from tarsy.db.cursor import Cursor
from tarsy.db.errors import NotFoundError
from tarsy.db.incident.rows import incident_of, stored_alert_of
from tarsy.db.rows import judged_of, read, spending_of
from tarsy.db.tables import SEVERITY_RANK, alert_sessions, alerts, incident_activity, incidents, session_spending
from tarsy.db.usage import KNOWN_COST
from tarsy.db.work.queue_position import QueuePosition, queue_positions
from tarsy.domain.alert import Severity
from tarsy.domain.incident import Incident, IncidentState, StoredAlert
from tarsy.domain.status import SessionStatus
from tarsy.domain.usage import Spending
from tarsy.domain.verdict import Confidence, JudgedVerdict, VerdictOutcome

# As many as fit on a page; the rest are counted.
MAX_MEMBERS = 200
# As many bars as a small chart shows.
MAX_BARS = 60
_BAR_WIDTHS = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 15, 60, 240, 1440, 10_080))


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentFilter:
    # The first hexadecimal digits of the id.
    id_prefix: str | None = None
    states: tuple[IncidentState, ...] = ()
    severities: tuple[Severity, ...] = ()
    sources: tuple[str, ...] = ()
    # Names and values; an incident fits if one alert of it has them all.
    labels: tuple[tuple[str, str], ...] = ()
    # What the last investigation came to.
    verdicts: tuple[VerdictOutcome, ...] = ()
    # Words that the title holds.
    text: str | None = None
    opened_from: datetime | None = None
    opened_to: datetime | None = None


class IncidentSort(StrEnum):
    """How a list of incidents is sorted."""

    # The latest first.
    OPENED = "opened"
    # The worst first, and of the same severity the latest.
    SEVERITY = "severity"


@dataclass(frozen=True, slots=True)
class IncidentSummary:
    """An incident as a list shows it."""

    incident: Incident
    # What the last investigation found, in a few sentences and in a word.
    executive_summary: str | None
    analysis_is_partial: bool
    verdict_outcome: VerdictOutcome | None
    verdict_confidence: Confidence | None
    verdict_object: str | None
    # Whether no model answers it for now.
    waiting_for_model: bool
    # Of all its investigations, with what was asked about them.
    spending: Spending


@dataclass(frozen=True, slots=True)
class IncidentPage:
    incidents: tuple[IncidentSummary, ...]
    next_cursor: str | None
    # Over all pages: of the states that were asked for, and of each state.
    total: int
    open: int
    resolved: int


@dataclass(frozen=True, slots=True)
class ActivityBar:
    """How many alerts of an incident were received from `at` on, for as long as the bar is wide."""

    at: datetime
    firing: int
    resolved: int


@dataclass(frozen=True, slots=True)
class Activity:
    width: timedelta
    bars: tuple[ActivityBar, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentInvestigation:
    """An investigation as its incident's page shows it."""

    id: str
    status: SessionStatus
    author: str
    executive_summary: str | None
    analysis_is_partial: bool
    analysis_partial_reason: str | None
    error_message: str | None
    verdict: JudgedVerdict | None
    # Whether no model answers it for now.
    waiting_for_model: bool
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentDetail:
    summary: IncidentSummary
    # Firing ones first, then the oldest.
    members: tuple[StoredAlert, ...]
    investigations: tuple[IncidentInvestigation, ...]
    activity: Activity
    # Incidents that a person found to be part of this one.
    merged: tuple[str, ...]


_LAST = alert_sessions.alias("last")
_RANK = sa.literal_column(f"({SEVERITY_RANK})", sa.Integer)


def _spent(amount: sa.ColumnElement[Any]) -> sa.ScalarSelect[Any]:
    sessions = session_spending.join(alert_sessions, alert_sessions.c.id == session_spending.c.session_id)
    of_incident = alert_sessions.c.incident_id == incidents.c.id
    return sa.select(sa.func.sum(amount)).select_from(sessions).where(of_incident).correlate(incidents).scalar_subquery()


_SUMMARIES = sa.select(
    incidents,
    _spent(KNOWN_COST).label("cost_usd"),
    _spent(session_spending.c.unpriced_calls).label("unpriced_calls"),
    _spent(session_spending.c.estimated_calls).label("estimated_calls"),
    _LAST.c.status.label("session_status"),
    _LAST.c.started_at.is_not(None).label("session_started"),
    _LAST.c.completed_at.label("finished_at"),
    _LAST.c.executive_summary,
    sa.func.coalesce(_LAST.c.analysis_is_partial, sa.false()).label("analysis_is_partial"),
    _LAST.c.verdict_outcome,
    _LAST.c.verdict_confidence,
    _LAST.c.verdict_object,
).select_from(incidents.outerjoin(_LAST, _LAST.c.id == incidents.c.session_id))


async def _summaries(connection: AsyncConnection, query: sa.Select[Any]) -> list[IncidentSummary]:
    rows = (await connection.execute(query)).mappings().all()
    positions = await queue_positions(connection, [row["session_id"] for row in rows if row["session_status"] and not row["finished_at"]])
    return [_summary(row, positions.get(row["session_id"], QueuePosition())) for row in rows]


def _summary(row: sa.RowMapping, position: QueuePosition) -> IncidentSummary:
    return read(IncidentSummary, row, incident=incident_of(row), spending=spending_of(row), waiting_for_model=position.waiting_for_model)


class IncidentRepository:
    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = autocommit(engine)

    async def list(
        self,
        where: IncidentFilter | None = None,
        *,
        limit: int = 50,
        cursor: str | None = None,
        sort: IncidentSort = IncidentSort.OPENED,
    ) -> IncidentPage:
        """Return one page of incidents with the totals of all pages. `cursor` comes from a page of the same order.

        Raises:
            BadCursorError: `cursor` does not come from a page.
        """
        where = where or IncidentFilter()
        after = Cursor.decode(cursor) if cursor else None
        table, is_open = incidents.c, incidents.c.resolved_at.is_(None)
        query = _SUMMARIES.where(*_conditions(where))
        if len(where.states) == 1:
            query = query.where(is_open if where.states[0] is IncidentState.OPEN else ~is_open)
        order: tuple[sa.ColumnElement[Any], ...] = (table.opened_at, table.id)
        if sort is IncidentSort.SEVERITY:
            order = (_RANK, *order)
        if after:
            last_row: tuple[sa.ColumnElement[Any], ...] = (sa.literal(after.created_at), sa.literal(after.id, table.id.type))
            if sort is IncidentSort.SEVERITY:
                shown = incidents.alias()
                last_row = (sa.select(_RANK).select_from(shown).where(shown.c.id == after.id).scalar_subquery(), *last_row)
            query = query.where(sa.tuple_(*order) < sa.tuple_(*last_row))
        query = query.order_by(*(column.desc() for column in order)).limit(limit + 1)
        counts = sa.select(sa.func.count().filter(is_open).label("open"), sa.func.count().filter(~is_open).label("resolved"))
        async with self._engine.connect() as connection:
            found = await _summaries(connection, query)
            counted = (await connection.execute(counts.where(*_conditions(where)))).one()
        by_state = {IncidentState.OPEN: counted.open, IncidentState.RESOLVED: counted.resolved}
        total = sum(count for state, count in by_state.items() if not where.states or state in where.states)
        last = found[limit - 1].incident if len(found) > limit else None
        next_cursor = Cursor(last.opened_at, last.id).encode() if last else None
        return IncidentPage(tuple(found[:limit]), next_cursor, total, counted.open, counted.resolved)

    async def get(self, incident_id: str) -> IncidentDetail:
        """Return everything that the page of an incident shows.

        Raises:
            NotFoundError: there is no such incident.
        """
        members = sa.select(alerts).where(alerts.c.incident_id == incident_id)
        members = members.order_by(alerts.c.status, alerts.c.first_at, alerts.c.id).limit(MAX_MEMBERS)
        table = alert_sessions.c
        columns = (table.id, table.status, table.author, table.executive_summary, table.error_message, table.verdict)
        partial = (table.analysis_is_partial, table.analysis_partial_reason)
        investigations = sa.select(*columns, *partial, table.created_at, table.started_at, table.completed_at)
        investigations = investigations.where(table.incident_id == incident_id, table.deleted_at.is_(None))
        merged = sa.select(incidents.c.id).where(incidents.c.merged_into == incident_id).order_by(incidents.c.opened_at)
        async with self._engine.connect() as connection:
            summaries = await _summaries(connection, _SUMMARIES.where(incidents.c.id == incident_id))
            if not summaries:
                raise NotFoundError("incident", incident_id)
            rows = (await connection.execute(investigations.order_by(table.created_at.desc()))).mappings().all()
            positions = await queue_positions(connection, [row["id"] for row in rows if row["completed_at"] is None])
            return IncidentDetail(
                summary=summaries[0],
                members=tuple(stored_alert_of(row) for row in (await connection.execute(members)).mappings()),
                investigations=tuple(
                    read(
                        IncidentInvestigation,
                        row,
                        verdict=judged_of(row["verdict"]),
                        waiting_for_model=positions.get(row["id"], QueuePosition()).waiting_for_model,
                    )
                    for row in rows
                ),
                activity=await _activity(connection, incident_id),
                merged=tuple((await connection.execute(merged)).scalars()),
            )

    async def alert(self, alert_id: str) -> StoredAlert:
        """Return one alert.

        Raises:
            NotFoundError: there is no such alert.
        """
        async with self._engine.connect() as connection:
            row = (await connection.execute(sa.select(alerts).where(alerts.c.id == alert_id))).mappings().one_or_none()
        if row is None:
            raise NotFoundError("alert", alert_id)
        return stored_alert_of(row)


def _conditions(where: IncidentFilter) -> list[sa.ColumnElement[bool]]:
    table = incidents.c
    # One that was merged into another is shown as part of it.
    conditions: list[sa.ColumnElement[bool]] = [table.merged_into.is_(None)]
    if where.id_prefix is not None:
        first, last = (str(UUID(where.id_prefix.ljust(32, digit)[:32])) for digit in "0f")
        conditions.append(table.id.between(first, last))
    if where.severities:
        conditions.append(table.severity.in_([severity.value for severity in where.severities]))
    if where.sources:
        conditions.append(table.source.in_(where.sources))
    if where.labels:
        wanted: dict[str, Any] = dict(where.labels)
        member = sa.select(alerts.c.id).where(alerts.c.incident_id == table.id, alerts.c.labels.contains(wanted))
        conditions.append(sa.exists(member))
    if where.verdicts:
        found = [verdict.value for verdict in where.verdicts]
        last = alert_sessions.alias()
        conditions.append(sa.exists(sa.select(last.c.id).where(last.c.id == table.session_id, last.c.verdict_outcome.in_(found))))
    if where.text is not None:
        conditions.append(table.title.icontains(where.text, autoescape=True))
    if where.opened_from is not None:
        conditions.append(table.opened_at >= where.opened_from)
    if where.opened_to is not None:
        conditions.append(table.opened_at < where.opened_to)
    return conditions


async def _activity(connection: AsyncConnection, incident_id: str) -> Activity:
    table = incident_activity.c
    first, last = (
        await connection.execute(sa.select(sa.func.min(table.minute), sa.func.max(table.minute)).where(table.incident_id == incident_id))
    ).one()
    width = bar_width(last - first) if first else _BAR_WIDTHS[0]
    # Bars begin at full hours and days, whenever the incident began.
    at = sa.func.date_bin(sa.literal(width), table.minute, sa.literal_column("TIMESTAMPTZ '2001-01-01 00:00:00Z'")).label("at")
    query = sa.select(at, sa.func.sum(table.firing).label("firing"), sa.func.sum(table.resolved).label("resolved"))
    rows = await connection.execute(query.where(table.incident_id == incident_id).group_by(at).order_by(at))
    return Activity(width, tuple(ActivityBar(row.at, row.firing, row.resolved) for row in rows))


def bar_width(span: timedelta) -> timedelta:
    """Return the narrowest bars that cover `span` without filling more than a chart."""
    return next((width for width in _BAR_WIDTHS if span / width < MAX_BARS - 1), _BAR_WIDTHS[-1])
