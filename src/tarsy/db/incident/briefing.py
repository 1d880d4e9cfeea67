"""The alert text of an investigation of an incident, as it is when the investigation begins."""

from dataclasses import replace

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from tarsy.db.incident.rows import incident_of, stored_alert_of
from tarsy.db.tables import alert_sessions, alerts, incidents
from tarsy.domain.incident import MAX_SHOWN, InvestigationResult, incident_text
from tarsy.domain.session import AlertSession

# Firing alerts come first. More are read than are shown: the text orders them by severity.
_MAX_READ = 10 * MAX_SHOWN


async def with_current_alerts(connection: AsyncConnection, session: AlertSession) -> AlertSession:
    """Return the session with every alert that has joined its incident by now, and the last finding; store it for replays."""
    incident = (await connection.execute(sa.select(incidents).where(incidents.c.id == session.incident_id))).mappings().first()
    if incident is None:
        return session
    members = (
        sa.select(alerts)
        .where(alerts.c.incident_id == session.incident_id)
        .order_by(alerts.c.status, alerts.c.first_at, alerts.c.id)
        .limit(_MAX_READ)
    )
    table = alert_sessions.c
    last_finding = (
        sa.select(table.completed_at, table.status, table.final_analysis, table.verdict_outcome, table.verdict_object)
        .where(table.incident_id == session.incident_id, table.id != session.id)
        .where(table.final_analysis.is_not(None), table.completed_at.is_not(None))
        .order_by(table.created_at.desc())
        .limit(1)
    )
    found = (await connection.execute(last_finding)).first()
    finding = InvestigationResult(found[0], found[1], found[2], found[3], found[4]) if found else None
    alert_data = incident_text(
        incident_of(incident), [stored_alert_of(row) for row in (await connection.execute(members)).mappings()], finding
    )
    if alert_data == session.alert_data:
        return session
    await connection.execute(sa.update(alert_sessions).where(table.id == session.id).values(alert_data=alert_data))
    return replace(session, alert_data=alert_data)
