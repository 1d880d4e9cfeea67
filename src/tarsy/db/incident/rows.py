"""Incidents and alerts from their rows, and back."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tarsy.db.rows import Row, storable_json
from tarsy.domain.alert import Alert, AlertStatus, Links, Severity
from tarsy.domain.incident import Incident, KnownAlert, Member, identity_of
from tarsy.domain.status import SessionStatus


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the last investigation of an incident has come."""

    status: SessionStatus | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    # Parked by a budget before its first call.
    held_up: bool = False


UNKNOWN = Progress()


def incident_of(row: Row, investigation: Progress = UNKNOWN) -> Incident:
    return Incident(
        id=str(row["id"]),
        key=row["key"],
        route=row["route"],
        title=row["title"],
        severity=Severity(row["severity"]),
        source=row["source"],
        alert_type=row["alert_type"],
        opened_at=row["opened_at"],
        heard_at=row["heard_at"],
        resolved_at=row["resolved_at"],
        firing=row["firing"],
        alerts=row["alerts"],
        deliveries=row["deliveries"],
        reinvestigations=row["looked_again"],
        session_id=str(row["session_id"]) if row["session_id"] else None,
        session_status=investigation.status,
        session_started=investigation.started_at is not None,
        session_held_up=investigation.held_up,
        finished_at=investigation.completed_at,
        merged_into=str(row["merged_into"]) if row["merged_into"] else None,
    )


def incident_row(incident: Incident) -> dict[str, Any]:
    return {
        "id": incident.id,
        "key": incident.key,
        "route": incident.route,
        "title": incident.title,
        "severity": incident.severity.value,
        "source": incident.source,
        "alert_type": incident.alert_type,
        "opened_at": incident.opened_at,
        "heard_at": incident.heard_at,
        "resolved_at": incident.resolved_at,
        "firing": incident.firing,
        "alerts": incident.alerts,
        "deliveries": incident.deliveries,
        "looked_again": incident.reinvestigations,
        "session_id": incident.session_id,
        "merged_into": incident.merged_into,
    }


def alert_of(row: Row) -> Alert:
    return Alert(
        source=row["source"],
        fingerprint=row["fingerprint"],
        title=row["title"],
        severity=Severity(row["severity"]),
        status=AlertStatus(row["status"]),
        labels=row["labels"],
        annotations=row["annotations"],
        links=Links(**row["links"]),
        starts_at=row["starts_at"],
        ends_at=row["ends_at"],
        group_key=row["group_key"],
        body=row["body"],
    )


def member_of(row: Row) -> Member:
    known = KnownAlert(
        status=AlertStatus(row["status"]),
        reported=AlertStatus(row["said"]),
        reported_at=row["said_at"],
        count=row["count_in_all"],
        severity=Severity(row["severity"]),
        incident_id=str(row["incident_id"]) if row["incident_id"] else None,
    )
    return Member(
        id=str(row["id"]),
        alert=alert_of(row),
        known=known,
        count=row["count"],
        first_at=row["first_at"],
        heard_at=row["heard_at"],
        reason=row["reason"],
    )


def member_row(member: Member, *, is_current: bool) -> dict[str, Any]:
    alert, known, links = member.alert, member.known, member.alert.links
    return {
        "id": member.id,
        "incident_id": known.incident_id,
        "key": identity_of(alert.source, alert.fingerprint),
        "is_current": is_current,
        "source": alert.source,
        "fingerprint": alert.fingerprint,
        "title": alert.title,
        "severity": known.severity.value,
        "status": known.status.value,
        "said": known.reported.value,
        "said_at": known.reported_at,
        "count": member.count,
        "count_in_all": known.count,
        "labels": storable_json(alert.labels),
        "annotations": storable_json(alert.annotations),
        "links": {"source": links.source, "dashboard": links.dashboard, "runbook": links.runbook, "silence": links.silence},
        "group_key": alert.group_key,
        "starts_at": alert.starts_at,
        "ends_at": alert.ends_at,
        "first_at": member.first_at,
        "heard_at": member.heard_at,
        "reason": member.reason,
        "body": alert.body,
    }
