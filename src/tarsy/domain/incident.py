"""Incidents: what is wrong, as far as the alerts that were heard of it tell, and where its investigation stands."""

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tarsy.domain.alert import Alert, AlertStatus, Severity
from tarsy.domain.status import SessionStatus


class IncidentState(StrEnum):
    OPEN = "open"
    RESOLVED = "resolved"


class Investigation(StrEnum):
    """Where the last investigation of an incident stands."""

    # There was none, or it was cancelled because the trouble was over before it began.
    NONE = "none"
    PENDING = "pending"
    RUNNING = "running"
    # However it ended; also when a person cancelled it.
    FINISHED = "finished"


def investigation_of(session_id: str | None, status: SessionStatus | None, *, started: bool) -> Investigation:
    """Where the investigation `session_id` stands. One that was erased has ended."""
    if session_id is None:
        return Investigation.NONE
    if status is None or status.is_final:
        return Investigation.FINISHED
    # Parked or handed back: it has begun all the same.
    return Investigation.RUNNING if started else Investigation.PENDING


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownAlert:
    """What is known of an alert. `status` counts; it differs from what the sender said only after a long silence, or by a person's word."""

    status: AlertStatus
    # What the sender said last, going by the time of which it spoke.
    said: AlertStatus
    # None: it did not say of which time it spoke.
    said_at: datetime | None
    # How often the sender spoke of it.
    count: int
    severity: Severity
    incident_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentView:
    """The incident that an alert belongs to: the open one it is a member of, else the latest one of its key."""

    id: str
    # None: open.
    resolved_at: datetime | None = None
    severity: Severity
    # How many of its alerts fire.
    firing: int
    investigation: Investigation
    # Its worker found no room in a budget: whatever the investigation's status, nothing of it was done.
    held_up: bool = False
    finished_at: datetime | None = None
    # How many further investigations there were since its members or its severity last changed.
    looked_again: int = 0

    @property
    def may_be_cancelled(self) -> bool:
        """Whether there is an investigation that has done nothing yet."""
        return self.investigation is Investigation.PENDING or self.held_up


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """An incident as it is stored, with where its last investigation stands."""

    id: str
    # The same for alerts that belong together.
    key: str
    route: str
    title: str
    severity: Severity
    source: str
    # What its investigations run as.
    alert_type: str
    opened_at: datetime
    # When an alert of it was last heard of.
    heard_at: datetime
    resolved_at: datetime | None = None
    firing: int = 0
    alerts: int = 0
    deliveries: int = 0
    looked_again: int = 0
    # The last investigation; None also when the door cancelled it before it began.
    session_id: str | None = None
    session_status: SessionStatus | None = None
    session_started: bool = False
    session_held_up: bool = False
    finished_at: datetime | None = None
    # The incident that a person found it to be part of.
    merged_into: str | None = None

    @property
    def state(self) -> IncidentState:
        return IncidentState.OPEN if self.resolved_at is None else IncidentState.RESOLVED

    @property
    def view(self) -> IncidentView:
        return IncidentView(
            id=self.id,
            resolved_at=self.resolved_at,
            severity=self.severity,
            firing=self.firing,
            investigation=investigation_of(self.session_id, self.session_status, started=self.session_started),
            held_up=self.session_id is not None and self.session_held_up,
            finished_at=self.finished_at,
            looked_again=self.looked_again,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """An alert as it is stored: one row for each incident that it was part of, the latest of them `current`."""

    id: str
    # What it said last; masked.
    alert: Alert
    known: KnownAlert
    # How often it was heard of within this row.
    count: int
    first_at: datetime
    heard_at: datetime
    # Why it is only recorded; None for one that is part of an incident.
    reason: str | None = None

    @property
    def key(self) -> str:
        return identity_of(self.alert.source, self.alert.fingerprint)


def identity_of(*parts: str) -> str:
    """A name of fixed length for what is told apart by `parts`: senders' own words may be longer than an index takes."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:40]
