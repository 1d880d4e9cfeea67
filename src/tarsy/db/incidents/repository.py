"""Incidents and alerts as people look at them."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db.cursor import Cursor
from tarsy.db.errors import NotFoundError
from tarsy.db.incidents.incident_list import WITH_LOOK, IncidentFilter, IncidentPage, IncidentSummary, read_page, summary_of
from tarsy.db.incidents.rows import member_of
from tarsy.db.tables import alert_sessions, alerts, incident_activity, incidents
from tarsy.domain.incident import Member
from tarsy.domain.status import SessionStatus

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
