"""Incidents and alerts from their rows, and back."""

from dataclasses import dataclass
from datetime import datetime

from tarsy.db.rows import NewRow, Row, columns, read, storable_json
from tarsy.db.tables import alerts, incidents
from tarsy.domain.alert import Alert
from tarsy.domain.incident import Incident, KnownAlert, Member
from tarsy.domain.status import SessionStatus


@dataclass(frozen=True, slots=True)
class InvestigationProgress:
    """How far the last investigation of an incident has come."""

    status: SessionStatus | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    # Parked by a budget before its first call.
    held_up: bool = False


UNKNOWN = InvestigationProgress()


def incident_of(row: Row, investigation: InvestigationProgress = UNKNOWN) -> Incident:
    return read(
        Incident,
        row,
        reinvestigations=row["looked_again"],
        session_status=investigation.status,
        session_started=investigation.started_at is not None,
        session_held_up=investigation.held_up,
        finished_at=investigation.completed_at,
    )


def incident_row(incident: Incident) -> NewRow:
    row = {name: value for name, value in columns(incident).items() if name in incidents.c}
    return {**row, "looked_again": incident.reinvestigations}


def member_of(row: Row) -> Member:
    known = read(KnownAlert, row, reported=row["said"], reported_at=row["said_at"], count=row["count_in_all"])
    return read(Member, row, alert=read(Alert, row), known=known)


def member_row(member: Member, *, is_current: bool) -> NewRow:
    alert, known = member.alert, member.known
    return {
        **{name: value for name, value in columns(alert).items() if name in alerts.c},
        "id": member.id,
        "incident_id": known.incident_id,
        "key": member.key,
        "is_current": is_current,
        "severity": known.severity,
        "status": known.status,
        "said": known.reported,
        "said_at": known.reported_at,
        "count": member.count,
        "count_in_all": known.count,
        "labels": storable_json(alert.labels),
        "annotations": storable_json(alert.annotations),
        "links": columns(alert.links),
        "first_at": member.first_at,
        "heard_at": member.heard_at,
        "reason": member.reason,
    }
