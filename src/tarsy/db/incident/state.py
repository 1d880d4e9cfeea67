"""The incidents and alerts that a transaction of the intake changes: locked, read and written in a few statements.

Transactions that take alerts run side by side, each with the keys of its alerts locked: two requests about the same problem
follow each other, on all replicas. Commands of people and periodic maintenance can concern alerts of any key: they run alone.
"""

import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.ext.asyncio import AsyncConnection

from tarsy.db.incident.rows import alert_row, incident_of, incident_row, stored_alert_of
from tarsy.db.rows import NewRow
from tarsy.db.tables import alert_sessions, alerts, incident_activity, incidents, webhook_deliveries, work
from tarsy.domain.alert import AlertStatus
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.incident import EndedInvestigation, Incident, StoredAlert
from tarsy.domain.status import SessionStatus
from tarsy.domain.work import WorkState


async def stored_answers(connection: AsyncConnection, keys: Collection[str]) -> dict[str, Any]:
    """Return the answers to those of these requests that were answered before, by the sender's key, which must be locked."""
    if not keys:
        return {}
    query = sa.select(webhook_deliveries).where(webhook_deliveries.c.key.in_(list(keys)))
    return {row["key"]: row["answer"] for row in (await connection.execute(query)).mappings()}


async def store_answers(connection: AsyncConnection, answers: Mapping[str, Any], now: datetime) -> None:
    """Store the answers to requests, so that one which is sent again gets the same answer and counts once."""
    if answers:
        rows = [{"key": key, "received_at": now, "answer": answer} for key, answer in answers.items()]
        await connection.execute(sa.insert(webhook_deliveries), rows)


Value = TypeVar("Value")
AT_ONCE = 200
# Two numbers that no other lock uses.
_ALONE = 0x7A25_0002
_STRIPE = 0x7A25
# Keys share locks, so that a request of thousands of alerts does not fill the server's table of locks, which by default has room for
# 6,400: thirty connections with all of these take 3,840.
STRIPES = 128

_SHARED = sa.text(
    f"""
    SELECT count(pg_advisory_xact_lock({_STRIPE}, stripe)), pg_advisory_xact_lock_shared({_ALONE})
    FROM unnest(CAST(:stripes AS integer[])) AS s(stripe)
    """
)
_EXCLUSIVE = sa.text(f"SELECT pg_advisory_xact_lock({_ALONE})")


async def lock_keys(connection: AsyncConnection, keys: Iterable[str]) -> None:
    """Wait for every transaction that writes incidents or alerts of these keys, and keep later ones waiting."""
    # Always in the same order, so that there is no deadlock.
    stripes = sorted({zlib.crc32(key.encode()) % STRIPES for key in keys})
    await connection.execute(_SHARED, {"stripes": stripes})


async def lock_all(connection: AsyncConnection) -> None:
    """Wait for every transaction that writes incidents, and keep later ones waiting."""
    await connection.execute(_EXCLUSIVE)


# The open incident of an alert can have another key than the alert: it was split off, or another was merged into it.
_CONCERNED = sa.text(
    """
    WITH latest AS (
        SELECT found.id, found.merged_into FROM unnest(CAST(:keys AS text[])) AS k(key)
        CROSS JOIN LATERAL (SELECT i.id, i.merged_into FROM incidents i WHERE i.key = k.key ORDER BY i.opened_at DESC, i.id LIMIT 1) found
    )
    SELECT id FROM latest
    UNION SELECT merged_into FROM latest WHERE merged_into IS NOT NULL
    UNION SELECT incident_id FROM alerts WHERE is_current AND key = ANY(CAST(:alert_keys AS text[])) AND incident_id IS NOT NULL
    """
)


_AFTER_MERGES = sa.text(
    """
    SELECT k.key, coalesce(m.key, k.key) AS merged FROM unnest(CAST(:keys AS text[])) AS k(key)
    CROSS JOIN LATERAL (SELECT i.merged_into FROM incidents i WHERE i.key = k.key ORDER BY i.opened_at DESC, i.id LIMIT 1) latest
    LEFT JOIN incidents m ON m.id = latest.merged_into
    """
)


async def keys_after_merges(connection: AsyncConnection, keys: Collection[str]) -> dict[str, str]:
    """Return for each of these keys that has an incident the key of the incident that its latest one was merged into, else the same key."""
    if not keys:
        return {}
    return {row.key: row.merged for row in await connection.execute(_AFTER_MERGES, {"keys": list(keys)})}


@dataclass(frozen=True, slots=True)
class KnownIncidents:
    """Incidents by id, the id of the latest one of each key, and alerts by their key."""

    incidents: dict[str, Incident]
    latest: dict[str, str]
    alerts: dict[str, StoredAlert]


async def lock_known_incidents(connection: AsyncConnection, keys: Collection[str], alert_keys: Collection[str]) -> KnownIncidents:
    """Lock and return the incidents of these keys, and the current alerts of `alert_keys`. The keys must be locked already."""
    found = await connection.execute(_CONCERNED, {"keys": list(keys), "alert_keys": list(alert_keys)})
    locked = await lock_incidents(connection, [str(row.id) for row in found])
    current: list[StoredAlert] = []
    for some in batches(list(alert_keys)):
        wanted = sa.select(alerts).where(alerts.c.is_current, alerts.c.key == sa.any_(sa.literal(some, ARRAY(sa.Text))))
        current += [stored_alert_of(row) for row in (await connection.execute(wanted)).mappings()]
    oldest_first = sorted((one for one in locked.values() if one.key in keys), key=lambda one: one.opened_at)
    latest = {incident.key: incident.id for incident in oldest_first}
    return KnownIncidents(locked, latest, {alert.key: alert for alert in current})


async def lock_incidents(connection: AsyncConnection, ids: Collection[str]) -> dict[str, Incident]:
    """Lock and return these incidents, with the progress of their last investigations."""
    found: dict[str, Incident] = {}
    # Always in the same order, so that there is no deadlock.
    for some in batches(sorted(ids)):
        found |= await _lock_some(connection, some)
    return found


async def _lock_some(connection: AsyncConnection, ids: Sequence[str]) -> dict[str, Incident]:
    wanted = sa.select(incidents).where(incidents.c.id.in_(ids)).order_by(incidents.c.id).with_for_update(key_share=True)
    rows = (await connection.execute(wanted)).mappings().all()
    # Read after the locks: a row that was waited for may name an investigation that was not there before.
    session_ids = [row["session_id"] for row in rows if row["session_id"]]
    table = alert_sessions.c
    held_up = sa.and_(work.c.state == WorkState.PARKED.value, work.c.parked_by_budget.is_not(None))
    # Those that were cancelled may have done nothing.
    earlier = alert_sessions.alias("earlier")
    ended = (
        earlier.c.incident_id == table.incident_id,
        earlier.c.completed_at.is_not(None),
        earlier.c.status != SessionStatus.CANCELLED.value,
    )
    last_ended = sa.select(earlier.c.id, earlier.c.status, earlier.c.completed_at).where(*ended).order_by(earlier.c.created_at.desc())
    previous = last_ended.limit(1).lateral("previous")
    query = sa.select(
        table.id.label("session_id"),
        table.status.label("session_status"),
        table.started_at.is_not(None).label("session_started"),
        table.completed_at.label("finished_at"),
        sa.func.coalesce(held_up, sa.false()).label("session_held_up"),
        previous.c.id.label("previous_id"),
        previous.c.status.label("previous_status"),
        previous.c.completed_at.label("previous_finished_at"),
    ).select_from(
        alert_sessions.outerjoin(work, (work.c.kind == INVESTIGATION) & (work.c.subject_id == table.id)).outerjoin(
            previous, table.completed_at.is_(None)
        )
    )
    found = (await connection.execute(query.where(table.id.in_(session_ids)))).mappings()
    last: dict[str, NewRow] = {row["session_id"]: dict(row) for row in found}
    for session in last.values():
        session["previous"] = _previous(session)
    locked: list[NewRow] = [dict(row) for row in rows]
    return {row["id"]: incident_of(row | last.get(row["session_id"], {})) for row in locked}


def _previous(row: NewRow) -> EndedInvestigation | None:
    if row["previous_id"] is None:
        return None
    return EndedInvestigation(row["previous_id"], SessionStatus(row["previous_status"]), row["previous_finished_at"])


async def write_incidents(connection: AsyncConnection, changed: Sequence[Incident]) -> None:
    for some in batches(changed):
        await connection.execute(_upsert(incidents), [incident_row(incident) for incident in some])


async def write_members(connection: AsyncConnection, changed: Sequence[StoredAlert], retired: Collection[str]) -> None:
    """Store alerts; `retired` are the ids of rows that are no longer the current ones of their alerts."""
    if retired:
        await connection.execute(sa.update(alerts).where(alerts.c.id.in_(list(retired))).values(is_current=False))
    for some in batches(changed):
        rows = [alert_row(alert, is_current=alert.id not in retired) for alert in some]
        await connection.execute(_upsert(alerts), rows)


_NEW_ACTIVITY = insert(incident_activity)
_ADD_ACTIVITY = _NEW_ACTIVITY.on_conflict_do_update(
    index_elements=["incident_id", "minute"],
    set_={name: incident_activity.c[name] + _NEW_ACTIVITY.excluded[name] for name in ("firing", "resolved")},
)


async def count_activity(connection: AsyncConnection, received: Mapping[tuple[str, AlertStatus], int], at: datetime) -> None:
    """Add the numbers of received alerts, by incident and status, to the activity of this minute."""
    minute = at.replace(second=0, microsecond=0)
    rows = [
        {
            "incident_id": incident_id,
            "minute": minute,
            "firing": received.get((incident_id, AlertStatus.FIRING), 0),
            "resolved": received.get((incident_id, AlertStatus.RESOLVED), 0),
        }
        for incident_id in sorted({incident_id for incident_id, _ in received})
    ]
    if rows:
        await connection.execute(_ADD_ACTIVITY, rows)


def batches(rows: Sequence[Value]) -> Iterator[Sequence[Value]]:
    """Yield the rows in parts that are quickly read or written: nothing else happens in the process meanwhile."""
    yield from (rows[start : start + AT_ONCE] for start in range(0, len(rows), AT_ONCE))


@cache
def _upsert(table: sa.Table) -> sa.Insert:
    wanted = insert(table)
    return wanted.on_conflict_do_update(
        index_elements=["id"], set_={column.name: wanted.excluded[column.name] for column in table.c if column.name != "id"}
    )
