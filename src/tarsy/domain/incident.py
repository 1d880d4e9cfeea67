"""Incidents: alerts that belong together, the mutes that keep alerts out, and the text that investigators receive."""

import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from tarsy.domain.alert import Alert, AlertStatus, Severity
from tarsy.domain.route import Matcher, all_accept
from tarsy.domain.status import SessionStatus
from tarsy.kit.text import clip


class IncidentState(StrEnum):
    OPEN = "open"
    RESOLVED = "resolved"


class InvestigationState(StrEnum):
    """The state of an incident's last investigation."""

    # There was none, except those that were cancelled before they began because the incident was resolved.
    NONE = "none"
    PENDING = "pending"
    RUNNING = "running"
    # With any final status, also when a person cancelled it.
    FINISHED = "finished"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownAlert:
    """The current state of an alert.

    `status` differs from `reported` only if TARSy or a person resolved the alert without a report of the sender.
    """

    status: AlertStatus
    # The sender's latest report, by the time it states.
    reported: AlertStatus
    # The time that report states; None: it states none.
    reported_at: datetime | None
    # The number of reports.
    count: int
    severity: Severity
    incident_id: str | None = None


@dataclass(frozen=True, slots=True)
class EndedInvestigation:
    session_id: str
    # None: the session was erased.
    status: SessionStatus | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """A stored incident, with the state of its last investigation."""

    id: str
    # The same for alerts that belong together.
    key: str
    route: str
    title: str
    severity: Severity
    source: str
    # The alert type of its investigations.
    alert_type: str
    opened_at: datetime
    # When one of its alerts was last received.
    heard_at: datetime
    # None: open.
    resolved_at: datetime | None = None
    # The number of its firing alerts.
    firing: int = 0
    alerts: int = 0
    # How often its alerts were received: an alert counts once in each delivery. The API and the database call it so.
    deliveries: int = 0
    # The number of further alerts that the sender, or TARSy's limit, left out of the last delivery.
    truncated: int = 0
    # The number of repeated investigations since its alerts or its severity last changed.
    reinvestigations: int = 0
    # The last investigation, except those that intake cancelled before they began.
    session_id: str | None = None
    session_status: SessionStatus | None = None
    session_started: bool = False
    # A budget had no room for the investigation: it has done nothing yet in any status.
    session_held_up: bool = False
    finished_at: datetime | None = None
    # While an investigation waits: the one before it.
    previous: EndedInvestigation | None = None
    # The incident that a person merged it into.
    merged_into: str | None = None

    @property
    def state(self) -> IncidentState:
        return IncidentState.OPEN if self.resolved_at is None else IncidentState.RESOLVED

    @property
    def investigation(self) -> InvestigationState:
        if self.session_id is None:
            return InvestigationState.NONE
        # A session without a status was erased.
        if self.session_status is None or self.session_status.is_final:
            return InvestigationState.FINISHED
        # Parked or requeued sessions have started all the same.
        return InvestigationState.RUNNING if self.session_started else InvestigationState.PENDING

    @property
    def may_be_cancelled(self) -> bool:
        """Return whether there is an investigation that has done nothing yet."""
        held_up = self.session_id is not None and self.session_held_up
        return held_up or self.investigation is InvestigationState.PENDING

    def with_pending(self, session_id: str, *, reinvestigations: int) -> "Incident":
        """Return the incident with a new investigation, which has not begun."""
        ended = self.session_id if self.investigation is InvestigationState.FINISHED else None
        return replace(
            self,
            session_id=session_id,
            session_status=SessionStatus.PENDING,
            session_started=False,
            session_held_up=False,
            reinvestigations=reinvestigations,
            previous=EndedInvestigation(ended, self.session_status, self.finished_at) if ended else self.previous,
        )

    def without_pending(self) -> "Incident":
        """Return the incident without its last investigation, which has done nothing, and with the one before it, if there is one."""
        previous = self.previous
        return replace(
            self,
            session_id=previous and previous.session_id,
            session_status=previous and previous.status,
            session_started=previous is not None,
            session_held_up=False,
            finished_at=previous and previous.finished_at,
            reinvestigations=max(0, self.reinvestigations - 1),
            previous=None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAlert:
    """An alert as stored, in an incident or without one. It has a row for each incident that it was part of; the newest is its current one."""

    id: str
    # The latest notification; masked.
    alert: Alert
    known: KnownAlert
    # The number of notifications within this row.
    count: int
    first_at: datetime
    heard_at: datetime
    # Why the alert is only recorded; None if it is part of an incident.
    reason: str | None = None

    @property
    def key(self) -> str:
        return alert_key(self.alert)


def alert_key(alert: Alert) -> str:
    """Return a key that is the same in every notification about the same problem, and differs from those of all other problems."""
    # Without an instance it is the key that earlier versions gave the alert.
    return identity_of(*filter(None, (alert.source, alert.instance)), alert.fingerprint)


def identity_of(*parts: str) -> str:
    """Return a key of fixed length for `parts`: texts of senders may be too long for an index."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:40]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mute:
    """A time in which matching alerts are recorded only."""

    starts: datetime
    ends: datetime
    match: tuple[Matcher, ...] = ()
    # Only alerts of the incident with this key; None: of any.
    incident_key: str | None = None
    reason: str = "maintenance"
    # None: it is part of the configuration.
    id: str | None = None
    actor: str = "configuration"

    def covers(self, alert: Alert, now: datetime, incident_keys: Collection[str] = ()) -> bool:
        same_incident = self.incident_key is None or self.incident_key in incident_keys
        return same_incident and self.starts <= now < self.ends and all_accept(self.match, alert)


def muted_by(alert: Alert, mutes: Sequence[Mute], now: datetime, incident_keys: Collection[str] = ()) -> Mute | None:
    """Return the first mute that covers the alert, or None.

    `incident_keys` are the key by which its route groups it, and that of its incident: they differ if the alert was split off, or its
    incident was merged into another.
    """
    return next((mute for mute in mutes if mute.covers(alert, now, incident_keys)), None)


# An agent reads them all before it begins; more of the same kind add nothing new.
MAX_SHOWN = 20
# Characters of all alert bodies together: some ten thousand words.
MAX_BODIES = 60_000
# Characters: as long as a thorough analysis.
MAX_ANALYSIS = 20_000


@dataclass(frozen=True, slots=True)
class InvestigationResult:
    """The result of an incident's last investigation."""

    at: datetime
    status: str
    analysis: str
    # The outcome of the verdict and the affected object; None if the investigation stated none.
    verdict: str | None = None
    object: str | None = None


def incident_text(incident: Incident, members: Sequence[StoredAlert], last: InvestigationResult | None = None) -> str:
    """Render an incident for the agents that investigate it. A single alert without labels and annotations is returned unchanged."""
    if len(members) == 1 and last is None and not members[0].alert.labels and not members[0].alert.annotations:
        return members[0].alert.body
    shown = sorted(
        members,
        key=lambda member: (
            member.known.status is AlertStatus.RESOLVED,
            -member.known.severity.priority,
            member.first_at,
            member.id,
        ),
    )[:MAX_SHOWN]
    alerts = "1 alert" if incident.alerts == 1 else f"{incident.alerts} alerts"
    headline = (
        f"# {incident.title}\n\n"
        f"An incident of severity {incident.severity}, reported by {incident.source}: {alerts}, {incident.firing} of them firing, "
        f"received {incident.deliveries} times since {_time(incident.opened_at)}."
    )
    sections = [headline, *(_section(member, MAX_BODIES // max(len(shown), 1)) for member in shown)]
    if incident.alerts > len(shown):
        sections.append(f"{incident.alerts - len(shown)} further alerts of this incident are not shown.")
    if incident.truncated:
        sections.append(f"{incident.truncated} further alerts were left out of the last notification: what they are about is not known.")
    if last:
        verdict = f" Its verdict: {last.verdict}{', ' + last.object if last.object else ''}." if last.verdict else ""
        sections.append(
            f"## What the last investigation found\n\nIt ended {last.status} at {_time(last.at)}, and the incident still fires.{verdict} "
            f"State what has changed since, and do not repeat what is no longer true.\n\n{clip(last.analysis, MAX_ANALYSIS)}"
        )
    return "\n\n".join(sections) + "\n"


def _section(member: StoredAlert, max_body: int) -> str:
    alert = member.alert
    if member.known.status is AlertStatus.RESOLVED:
        status = f"resolved since {_time(alert.ends_at or member.heard_at)}"
    else:
        status = f"firing since {_time(alert.starts_at or member.first_at)}, received {member.count} times"
    addresses = {"source": alert.links.source, "dashboard": alert.links.dashboard, "runbook": alert.links.runbook}
    links = {name: address for name, address in addresses.items() if address}
    lines = [f"## {alert.title}", "", f"{member.known.severity}, {status}"]
    for name, values in (("Labels", alert.labels), ("Annotations", alert.annotations), ("Links", links)):
        if values:
            lines += ["", f"{name}:", *(f"- {key} = {value}" for key, value in sorted(values.items()))]
    return "\n".join([*lines, "", "As it was sent:", clip(alert.body, max_body)])


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%SZ}"
