"""Incidents and alerts from their rows, and back."""

from tarsy.db.rows import NewRow, Row, columns, read, storable_json
from tarsy.db.tables import alerts, incidents
from tarsy.domain.alert import Alert
from tarsy.domain.incident import Incident, KnownAlert, StoredAlert


def incident_of(row: Row) -> Incident:
    """Return an incident; without the columns of its last investigation, as one whose investigation was erased."""
    return read(Incident, row, reinvestigations=row["looked_again"])


def incident_row(incident: Incident) -> NewRow:
    row = {name: value for name, value in columns(incident).items() if name in incidents.c}
    return {**row, "looked_again": incident.reinvestigations}


def stored_alert_of(row: Row) -> StoredAlert:
    known = read(KnownAlert, row, reported=row["said"], reported_at=row["said_at"], count=row["count_in_all"])
    return read(StoredAlert, row, alert=read(Alert, row), known=known)


def alert_row(stored: StoredAlert, *, is_current: bool) -> NewRow:
    alert, known = stored.alert, stored.known
    return {
        **{name: value for name, value in columns(alert).items() if name in alerts.c},
        "id": stored.id,
        "incident_id": known.incident_id,
        "key": stored.key,
        "is_current": is_current,
        "severity": known.severity,
        "status": known.status,
        "said": known.reported,
        "said_at": known.reported_at,
        "count": stored.count,
        "count_in_all": known.count,
        "labels": storable_json(alert.labels),
        "annotations": storable_json(alert.annotations),
        "links": columns(alert.links),
        "first_at": stored.first_at,
        "heard_at": stored.heard_at,
        "reason": stored.reason,
    }
