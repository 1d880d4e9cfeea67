"""Incidents: alerts that belong together, the mutes that keep alerts out, and the text that investigators receive."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tarsy.domain.alert import Alert, AlertStatus, Severity
from tarsy.domain.route import Matcher, all_accept
from tarsy.domain.status import SessionStatus
from tarsy.kit.text import clip


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
    reported: AlertStatus
    # None: it did not say of which time it spoke.
    reported_at: datetime | None
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
    reinvestigations: int = 0

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
    reinvestigations: int = 0
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
            reinvestigations=self.reinvestigations,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Mute:
    starts: datetime
    ends: datetime
    match: tuple[Matcher, ...] = ()
    # Only alerts of this incident; None: whatever matches.
    incident_key: str | None = None
    reason: str = "maintenance"
    # None: it stands in the configuration.
    id: str | None = None
    actor: str = "configuration"

    def covers(self, alert: Alert, now: datetime, incident_key: str | None = None) -> bool:
        meant = self.incident_key is None or self.incident_key == incident_key
        return meant and self.starts <= now < self.ends and all_accept(self.match, alert)


def muted_by(alert: Alert, mutes: Sequence[Mute], now: datetime, incident_key: str | None = None) -> Mute | None:
    return next((mute for mute in mutes if mute.covers(alert, now, incident_key)), None)


# An investigator reads them all before it begins; more of the same kind say nothing new.
MAX_SHOWN = 20
# Of all the alerts' bodies together: some ten thousand words.
MAX_BODIES = 60_000
# As long as a thorough analysis is.
MAX_ANALYSIS = 20_000


@dataclass(frozen=True, slots=True)
class Finding:
    """What the last investigation of an incident came to."""

    at: datetime
    status: str
    analysis: str
    # In a word, and about what; None if it did not say.
    verdict: str | None = None
    object: str | None = None


def incident_text(incident: Incident, members: Sequence[Member], last: Finding | None = None) -> str:
    """The incident for those who look into it. A lone alert without labels is given word for word."""
    if len(members) == 1 and last is None and _is_plain(members[0].alert):
        return members[0].alert.body
    shown = sorted(members, key=_worst_first)[:MAX_SHOWN]
    share = MAX_BODIES // max(len(shown), 1)
    sections = [
        _headline(incident),
        *(_section(member, share) for member in shown),
        *_left_out(incident.alerts - len(shown)),
        *_found(last),
    ]
    return "\n\n".join(sections) + "\n"


def _is_plain(alert: Alert) -> bool:
    return not alert.labels and not alert.annotations


def _worst_first(member: Member) -> tuple[bool, int, datetime, str]:
    known = member.known
    return known.status is AlertStatus.RESOLVED, -known.severity.priority, member.first_at, member.id


def _headline(incident: Incident) -> str:
    alerts = "1 alert" if incident.alerts == 1 else f"{incident.alerts} alerts"
    return (
        f"# {incident.title}\n\n"
        f"An incident of severity {incident.severity}, told by {incident.source}: {alerts}, {incident.firing} of them firing, "
        f"heard of {incident.deliveries} times since {_time(incident.opened_at)}."
    )


def _section(member: Member, share: int) -> str:
    alert = member.alert
    lines = [f"## {alert.title}", "", f"{member.known.severity}, {_status(member)}"]
    lines += [line for name, values in (("Labels", alert.labels), ("Annotations", alert.annotations)) for line in _listed(name, values)]
    return "\n".join([*lines, *_listed("Links", _links(alert)), "", "As it was sent:", clip(alert.body, share)])


def _links(alert: Alert) -> Mapping[str, str]:
    links = {"source": alert.links.source, "dashboard": alert.links.dashboard, "runbook": alert.links.runbook}
    return {name: address for name, address in links.items() if address}


def _listed(name: str, values: Mapping[str, str]) -> list[str]:
    return ["", f"{name}:", *(f"- {key} = {value}" for key, value in sorted(values.items()))] if values else []


def _status(member: Member) -> str:
    alert, known = member.alert, member.known
    if known.status is AlertStatus.RESOLVED:
        return f"over since {_time(alert.ends_at or member.heard_at)}"
    return f"firing since {_time(alert.starts_at or member.first_at)}, heard of {member.count} times"


def _left_out(count: int) -> Iterator[str]:
    if count > 0:
        yield f"{count} further alerts of this incident are not shown."


def _found(last: Finding | None) -> Iterator[str]:
    if last:
        verdict = f" Its verdict: {last.verdict}{', ' + last.object if last.object else ''}." if last.verdict else ""
        yield (
            f"## What the last investigation found\n\nIt ended {last.status} at {_time(last.at)}, and the incident still fires.{verdict} "
            f"Say what has changed since, and do not take over what no longer holds.\n\n{clip(last.analysis, MAX_ANALYSIS)}"
        )


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%SZ}"
