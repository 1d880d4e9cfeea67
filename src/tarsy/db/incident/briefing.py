"""What an investigation of an incident is told when it begins: every alert that has joined by then, and what the last one found."""

from dataclasses import replace

from tarsy.db.driver import RawConnection, Statement, columns_of
from tarsy.db.incident.rows import incident_of, member_of
from tarsy.db.tables import alerts, incidents
from tarsy.domain.incident import MAX_SHOWN, Finding, Incident, Member, incident_text
from tarsy.domain.session import AlertSession

# What fires comes first. Some more are read than are shown: how bad they are is not known to the order.
_MEMBERS = Statement(
    f"SELECT {columns_of(alerts, 'a')} FROM alerts a WHERE a.incident_id = :id ORDER BY a.status, a.first_at, a.id LIMIT {10 * MAX_SHOWN}"  # noqa: S608 - our own words
)
_INCIDENT = Statement(f"SELECT {columns_of(incidents, 'i')} FROM incidents i WHERE i.id = :id")  # noqa: S608 - our own words
_LAST_FINDING = Statement(
    """
    SELECT completed_at, status, final_analysis, verdict_outcome, verdict_object FROM alert_sessions
    WHERE incident_id = :incident_id AND id <> :id AND final_analysis IS NOT NULL AND completed_at IS NOT NULL
    ORDER BY created_at DESC LIMIT 1
    """
)
_TELL = Statement("UPDATE alert_sessions SET alert_data = :told WHERE id = :id")


async def briefed(connection: RawConnection, session: AlertSession) -> AlertSession:
    """The session with its alert as it is now, stored: from here on it stays the same, also when it is replayed."""
    incident = await _incident(connection, session.incident_id)
    if incident is None:
        return session
    told = incident_text(incident, await _members(connection, incident.id), await _last_finding(connection, session))
    if told == session.alert_data:
        return session
    await _TELL.rows(connection, {"told": told, "id": session.id})
    return replace(session, alert_data=told)


async def _members(connection: RawConnection, incident_id: str) -> list[Member]:
    return [member_of(row) for row in await _MEMBERS.rows(connection, {"id": incident_id})]


async def _incident(connection: RawConnection, incident_id: str | None) -> Incident | None:
    row = await _INCIDENT.row(connection, {"id": incident_id})
    return incident_of(row) if row else None


async def _last_finding(connection: RawConnection, session: AlertSession) -> Finding | None:
    row = await _LAST_FINDING.row(connection, {"incident_id": session.incident_id, "id": session.id})
    if row is None:
        return None
    return Finding(row["completed_at"], row["status"], row["final_analysis"], row["verdict_outcome"], row["verdict_object"])
