"""Pages of the incident list, with true totals."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db.cursor import Cursor
from tarsy.db.errors import NotFoundError
from tarsy.db.incident.rows import Standing, incident_of, member_of
from tarsy.db.tables import alert_sessions, alerts, incident_activity, incidents, session_spending
from tarsy.domain.alert import Severity
from tarsy.domain.incident import Incident, IncidentState, Member
from tarsy.domain.status import SessionStatus
from tarsy.domain.usage import Spending
from tarsy.domain.verdict import Confidence, VerdictOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentFilter:
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


@dataclass(frozen=True, slots=True)
class IncidentSummary:
    """An incident as a list shows it."""

    incident: Incident
    # What the last investigation found, in a few sentences and in a word.
    executive_summary: str | None
    verdict_outcome: VerdictOutcome | None
    verdict_confidence: Confidence | None
    verdict_object: str | None
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


_LOOK = alert_sessions.alias("look")
_FOUND = alert_sessions.alias("found")
_PAID = session_spending.join(alert_sessions, alert_sessions.c.id == session_spending.c.session_id)


def _paid(column: sa.Column[Any]) -> sa.ScalarSelect[Any]:
    of_incident = alert_sessions.c.incident_id == incidents.c.id
    return sa.select(sa.func.sum(column)).select_from(_PAID).where(of_incident).correlate(incidents).scalar_subquery()


WITH_LOOK = sa.select(
    incidents,
    _paid(session_spending.c.cost_usd).label("cost_usd"),
    _paid(session_spending.c.unpriced_calls).label("unpriced_calls"),
    _LOOK.c.status.label("look_status"),
    _LOOK.c.started_at.label("look_started_at"),
    _LOOK.c.completed_at.label("look_completed_at"),
    _LOOK.c.executive_summary.label("look_summary"),
    _LOOK.c.verdict_outcome.label("look_verdict"),
    _LOOK.c.verdict_confidence.label("look_confidence"),
    _LOOK.c.verdict_object.label("look_object"),
).select_from(incidents.outerjoin(_LOOK, _LOOK.c.id == incidents.c.session_id))


def summary_of(row: sa.RowMapping) -> IncidentSummary:
    status = SessionStatus(row["look_status"]) if row["look_status"] else None
    look = Standing(status, row["look_started_at"], row["look_completed_at"])
    return IncidentSummary(
        incident_of(row, look),
        row["look_summary"],
        VerdictOutcome(row["look_verdict"]) if row["look_verdict"] else None,
        Confidence(row["look_confidence"]) if row["look_confidence"] else None,
        row["look_object"],
        Spending(row["cost_usd"], int(row["unpriced_calls"] or 0)),
    )


async def read_page(connection: AsyncConnection, where: IncidentFilter, *, limit: int, after: Cursor | None) -> IncidentPage:
    table = incidents.c
    query = WITH_LOOK.where(*_conditions(where), *_of_states(where))
    if after:
        query = query.where(
            sa.tuple_(table.opened_at, table.id) < sa.tuple_(sa.literal(after.created_at), sa.literal(after.id, table.id.type))
        )
    query = query.order_by(table.opened_at.desc(), table.id.desc()).limit(limit + 1)
    found = [summary_of(row) for row in (await connection.execute(query)).mappings()]
    last = found[limit - 1].incident if len(found) > limit else None
    counts = await _counts(connection, where)
    total = sum(count for state, count in counts.items() if not where.states or state in where.states)
    cursor = Cursor(last.opened_at, last.id).encode() if last else None
    return IncidentPage(tuple(found[:limit]), cursor, total, counts[IncidentState.OPEN], counts[IncidentState.RESOLVED])


async def _counts(connection: AsyncConnection, where: IncidentFilter) -> dict[IncidentState, int]:
    is_open = incidents.c.resolved_at.is_(None)
    query = sa.select(sa.func.count().filter(is_open).label("open"), sa.func.count().filter(~is_open).label("resolved"))
    row = (await connection.execute(query.where(*_conditions(where)))).one()
    return {IncidentState.OPEN: row.open, IncidentState.RESOLVED: row.resolved}


def _conditions(where: IncidentFilter) -> list[sa.ColumnElement[bool]]:
    table = incidents.c
    # One that was merged into another is shown as part of it.
    conditions: list[sa.ColumnElement[bool]] = [table.merged_into.is_(None)]
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
        conditions.append(sa.exists(sa.select(_FOUND.c.id).where(_FOUND.c.id == table.session_id, _FOUND.c.verdict_outcome.in_(found))))
    if where.text is not None:
        conditions.append(table.title.icontains(where.text, autoescape=True))
    if where.opened_from is not None:
        conditions.append(table.opened_at >= where.opened_from)
    if where.opened_to is not None:
        conditions.append(table.opened_at < where.opened_to)
    return conditions


def _of_states(where: IncidentFilter) -> list[sa.ColumnElement[bool]]:
    if not where.states or len(where.states) == len(IncidentState):
        return []
    is_open = incidents.c.resolved_at.is_(None)
    return [is_open if where.states[0] is IncidentState.OPEN else ~is_open]


# As many as fit on a page; the rest are counted.
MAX_MEMBERS = 200
# As many bars as a small chart shows.
MAX_BARS = 60
_BAR_WIDTHS = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 15, 60, 240, 1440, 10_080))


@dataclass(frozen=True, slots=True)
class ActivityBar:
    """How often alerts of an incident were heard of from `at` on, for as long as the bar is wide."""

    at: datetime
    firing: int
    resolved: int


@dataclass(frozen=True, slots=True)
class Activity:
    width: timedelta
    bars: tuple[ActivityBar, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentLook:
    """An investigation as its incident's page shows it."""

    id: str
    status: SessionStatus
    author: str
    executive_summary: str | None
    error_message: str | None
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentDetail:
    summary: IncidentSummary
    # The worst first: those that fire, then the rest.
    members: tuple[Member, ...]
    looks: tuple[IncidentLook, ...]
    activity: Activity
    # Incidents that a person found to be part of this one.
    merged: tuple[str, ...]


class IncidentRepository:
    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def list(self, where: IncidentFilter | None = None, *, limit: int = 50, cursor: str | None = None) -> IncidentPage:
        """One page of incidents, the latest first.

        Raises:
            BadCursorError: `cursor` does not come from a page.
        """
        after = Cursor.decode(cursor) if cursor else None
        async with self._engine.connect() as connection:
            return await read_page(connection, where or IncidentFilter(), limit=limit, after=after)

    async def get(self, incident_id: str) -> IncidentDetail:
        """Everything that the page of an incident shows.

        Raises:
            NotFoundError: there is none.
        """
        async with self._engine.connect() as connection:
            row = (await connection.execute(WITH_LOOK.where(incidents.c.id == incident_id))).mappings().one_or_none()
            if row is None:
                raise NotFoundError("incident", incident_id)
            return IncidentDetail(
                summary=summary_of(row),
                members=await _members(connection, incident_id),
                looks=await _looks(connection, incident_id),
                activity=await _activity(connection, incident_id),
                merged=await _merged(connection, incident_id),
            )

    async def alert(self, alert_id: str) -> Member:
        """One alert.

        Raises:
            NotFoundError: there is none.
        """
        async with self._engine.connect() as connection:
            row = (await connection.execute(sa.select(alerts).where(alerts.c.id == alert_id))).mappings().one_or_none()
        if row is None:
            raise NotFoundError("alert", alert_id)
        return member_of(row)


async def _members(connection: AsyncConnection, incident_id: str) -> tuple[Member, ...]:
    query = sa.select(alerts).where(alerts.c.incident_id == incident_id)
    rows = await connection.execute(query.order_by(alerts.c.status, alerts.c.first_at, alerts.c.id).limit(MAX_MEMBERS))
    return tuple(member_of(row) for row in rows.mappings())


async def _looks(connection: AsyncConnection, incident_id: str) -> tuple[IncidentLook, ...]:
    table = alert_sessions.c
    shown = (table.id, table.status, table.author, table.executive_summary, table.error_message)
    query = sa.select(*shown, table.created_at, table.started_at, table.completed_at)
    of_incident = query.where(table.incident_id == incident_id, table.deleted_at.is_(None)).order_by(table.created_at.desc())
    rows = (await connection.execute(of_incident)).mappings()
    return tuple(replace(IncidentLook(**row), status=SessionStatus(row["status"])) for row in rows)


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
    """The narrowest bars of which no more than a chart shows cover `span`."""
    return next((width for width in _BAR_WIDTHS if span / width < MAX_BARS - 1), _BAR_WIDTHS[-1])


async def _merged(connection: AsyncConnection, incident_id: str) -> tuple[str, ...]:
    query = sa.select(incidents.c.id).where(incidents.c.merged_into == incident_id).order_by(incidents.c.opened_at)
    return tuple((await connection.execute(query)).scalars())
