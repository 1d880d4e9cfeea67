"""Pure module: what many alerts come to that are taken together, one decision after the other, before anything is written.

The door loads what the alerts concern, enters each of them here, and writes what has changed in a few statements.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import assert_never

from tarsy.domain.alert import Alert, AlertStatus
from tarsy.domain.incident import Incident, IncidentView, Investigation, KnownAlert, Member, Mute, identity_of, muted_by
from tarsy.domain.route import OnResolved
from tarsy.domain.status import SessionStatus
from tarsy.intake.decision import (
    CountRepeat,
    Decision,
    Drop,
    Escalate,
    InvestigateAgain,
    Join,
    Look,
    OpenIncident,
    Record,
    Reopen,
    Resolve,
    decide,
    is_older,
)
from tarsy.intake.policy import Route, route_for
from tarsy.intake.updates import News, NewsKind


class Outcome(StrEnum):
    """What TARSy did with an alert."""

    OPENED = "opened"
    JOINED = "joined"
    REPEATED = "repeated"
    REOPENED = "reopened"
    ESCALATED = "escalated"
    INVESTIGATED_AGAIN = "investigated_again"
    RESOLVED = "resolved"
    RECORDED = "recorded"
    DROPPED = "dropped"


_OUTCOMES: Mapping[type, Outcome] = {
    Join: Outcome.JOINED,
    Reopen: Outcome.REOPENED,
    Escalate: Outcome.ESCALATED,
    InvestigateAgain: Outcome.INVESTIGATED_AGAIN,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """An alert on its way in: as it was sent, which routes look at, and masked, which is stored."""

    sent: Alert
    masked: Alert
    author: str
    # What the request asks for, instead of what its route does.
    alert_type: str | None = None
    runbook_url: str | None = None
    # Its text, where it was fetched already.
    runbook: str | None = None

    @property
    def key(self) -> str:
        return identity_of(self.sent.source, self.sent.fingerprint)


@dataclass(frozen=True, slots=True)
class Entered:
    """What became of an alert, and why where that is not plain."""

    outcome: Outcome
    incident_id: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class NewLook:
    """An investigation to be stored."""

    session_id: str
    look: Look
    cause: Arrival


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What the operator has set."""

    routes: Sequence[Route]
    mutes: Sequence[Mute]
    default_alert_type: str


@dataclass(frozen=True, slots=True)
class _Entry:
    """An alert with everything that its decision looks at."""

    arrival: Arrival
    route: Route
    key: str
    member: Member | None
    incident: Incident | None

    @property
    def known(self) -> KnownAlert | None:
        return self.member.known if self.member else None

    @property
    def view(self) -> IncidentView | None:
        return self.incident.view if self.incident else None


@dataclass(slots=True, kw_only=True)
class Ledger:
    rules: Rules
    now: datetime
    new_id: Callable[[], str]
    # What is known: incidents by id, the latest incident of each key, and alerts by theirs.
    incidents: dict[str, Incident]
    latest: dict[str, str]
    members: dict[str, Member]
    # What is to be written. A dictionary keeps the order of first mention.
    touched: dict[str, None] = field(default_factory=dict[str, None])
    written: dict[str, Member] = field(default_factory=dict[str, Member])
    # Rows that are no longer the current ones of their alerts.
    retired: list[str] = field(default_factory=list[str])
    # By incident.
    looks: dict[str, NewLook] = field(default_factory=dict[str, NewLook])
    # Investigations that wait and have lost their reason, by incident.
    cancelled: dict[str, str] = field(default_factory=dict[str, str])
    # Investigations that wait, and how urgent they have become.
    raised: dict[str, int] = field(default_factory=dict[str, int])
    # By incident: what those who investigate it should hear.
    news: dict[str, list[News]] = field(default_factory=dict[str, list[News]])
    activity: Counter[tuple[str, AlertStatus]] = field(default_factory=Counter[tuple[str, AlertStatus]])

    def enter(self, arrival: Arrival) -> Entered:
        """Decide about one alert, and remember what follows."""
        entry = self._entry(arrival)
        mute = muted_by(arrival.sent, self.rules.mutes, self.now, entry.key)
        return self._apply(entry, decide(arrival.sent, route=entry.route, incident=entry.view, known=entry.known, now=self.now, mute=mute))

    def _entry(self, arrival: Arrival) -> _Entry:
        route = route_for(arrival.sent, self.rules.routes)
        key = route.incident_key(arrival.sent)
        member = self.members.get(arrival.key)
        return _Entry(arrival, route, key, member, self._incident_of(member, key))

    def _incident_of(self, member: Member | None, key: str) -> Incident | None:
        """The open incident that the alert is part of, else the latest one of its key."""
        own = self.incidents.get(member.known.incident_id or "") if member else None
        if own and own.resolved_at is None:
            return own
        latest = self.incidents.get(self.latest.get(key, ""))
        return self.incidents.get(latest.merged_into, latest) if latest and latest.merged_into else latest

    def _apply(self, entry: _Entry, decision: Decision) -> Entered:
        after = decision.alert
        match decision.action:
            case Drop(reason):
                entered = Entered(Outcome.DROPPED, None, reason)
            case Record(reason):
                self._write(entry, after, None, reason)
                entered = Entered(Outcome.RECORDED, None, reason)
            case CountRepeat(incident_id):
                self._write(entry, after, incident_id, entry.member.reason if entry.member else None)
                entered = Entered(Outcome.REPEATED, incident_id)
            case OpenIncident(look):
                entered = self._open(entry, after, look)
            case Join() | Reopen() | Escalate() | InvestigateAgain():
                entered = self._goes_on(entry, after, decision.action)
            case Resolve():
                entered = self._over(entry, after, decision.action)
            case _:
                assert_never(decision.action)
        return entered

    def _open(self, entry: _Entry, after: KnownAlert, look: Look) -> Entered:
        alert, incident_id = entry.arrival.masked, self.new_id()
        self.latest[entry.key] = incident_id
        self._put(
            Incident(
                id=incident_id,
                key=entry.key,
                route=entry.route.name,
                title=alert.title,
                severity=after.severity,
                source=alert.source,
                alert_type=entry.arrival.alert_type or entry.route.alert_type or self.rules.default_alert_type,
                opened_at=self.now,
                heard_at=self.now,
            )
        )
        self._write(entry, after, incident_id)
        self._look(incident_id, look, entry.arrival)
        return Entered(Outcome.OPENED, incident_id)

    def _goes_on(self, entry: _Entry, after: KnownAlert, action: Join | Reopen | Escalate | InvestigateAgain) -> Entered:
        """The incident is open from now on, and as bad as the worst of its alerts."""
        before = self.incidents[action.incident_id]
        if not isinstance(action, InvestigateAgain) and (action.note or before.view.investigation is Investigation.PENDING):
            self._tell(action.incident_id, _news_of(action), entry, after)
        severity = before.severity.worst(after.severity)
        anew = severity is not before.severity or (isinstance(action, Join | Reopen) and action.new)
        self._put(replace(before, resolved_at=None, severity=severity, reinvestigations=0 if anew else before.reinvestigations))
        self._write(entry, after, action.incident_id)
        if action.look:
            self._look(action.incident_id, action.look, entry.arrival)
        self._raise(action.incident_id, entry.route.priority_of(entry.arrival.sent))
        return Entered(_OUTCOMES[type(action)], action.incident_id)

    def _over(self, entry: _Entry, after: KnownAlert, action: Resolve) -> Entered:
        waits = self.incidents[action.incident_id].view.may_be_cancelled
        if action.note or (waits and entry.route.on_resolved is not OnResolved.IGNORE):
            self._tell(action.incident_id, NewsKind.OVER, entry, after)
        self._write(entry, after, action.incident_id)
        if action.last:
            self._put(replace(self.incidents[action.incident_id], resolved_at=self.now))
        if action.cancel_pending:
            self.cancel(action.incident_id)
        return Entered(Outcome.RESOLVED, action.incident_id)

    def _tell(self, incident_id: str, kind: NewsKind, entry: _Entry, after: KnownAlert) -> None:
        """Remember what an investigation should hear: one that runs, or that may begin before this is written."""
        told = entry.member.alert if kind is NewsKind.OVER and entry.member else entry.arrival.masked
        self.news.setdefault(incident_id, []).append(News(kind, told, after.severity))

    def cancel(self, incident_id: str) -> None:
        """Take back the investigation that waits."""
        incident = self.incidents[incident_id]
        # One that is not stored yet never will be.
        if self.looks.pop(incident_id, None) is None and incident.session_id:
            self.cancelled[incident_id] = incident.session_id
        self._put(replace(incident, session_id=None, session_status=None))

    def without_look(self, incident_id: str) -> None:
        """There is no room for its investigation now."""
        self.looks.pop(incident_id, None)
        self._put(replace(self.incidents[incident_id], session_id=None, session_status=None))

    def _look(self, incident_id: str, look: Look, cause: Arrival) -> None:
        new = NewLook(self.new_id(), look, cause)
        self.looks[incident_id] = new
        self._put(
            replace(
                self.incidents[incident_id],
                session_id=new.session_id,
                session_status=SessionStatus.PENDING,
                session_started=False,
                reinvestigations=look.again,
            )
        )

    def _raise(self, incident_id: str, priority: int) -> None:
        """What waits is as urgent as the worst alert."""
        incident = self.incidents[incident_id]
        if incident.view.investigation is not Investigation.PENDING or incident.session_id is None:
            return
        if incident_id in self.looks:
            waiting = self.looks[incident_id]
            self.looks[incident_id] = replace(waiting, look=replace(waiting.look, priority=max(waiting.look.priority, priority)))
        else:
            self.raised[incident.session_id] = max(self.raised.get(incident.session_id, 0), priority)

    def _put(self, incident: Incident) -> None:
        self.incidents[incident.id] = incident
        self.touched[incident.id] = None

    def _write(self, entry: _Entry, after: KnownAlert, incident_id: str | None, reason: str | None = None) -> None:
        """Remember the alert's row, and count it in the incident."""
        member = self._row(entry, replace(after, incident_id=incident_id), reason)
        self.members[entry.arrival.key] = member
        self.written[member.id] = member
        if incident_id is None or incident_id not in self.incidents:
            return
        incident, before = self.incidents[incident_id], entry.member if _stays(entry, incident_id) else None
        was_firing = before is not None and before.known.status is AlertStatus.FIRING
        self.activity[incident_id, entry.arrival.sent.status] += 1
        self._put(
            replace(
                incident,
                heard_at=self.now,
                deliveries=incident.deliveries + 1,
                alerts=incident.alerts + (before is None),
                firing=incident.firing + (after.status is AlertStatus.FIRING) - was_firing,
            )
        )

    def _row(self, entry: _Entry, after: KnownAlert, reason: str | None) -> Member:
        member, told = entry.member, _as_told(entry, after, self.now)
        if member and _stays(entry, after.incident_id):
            return replace(member, alert=told, known=after, count=member.count + 1, heard_at=self.now, reason=reason)
        if member:
            self.retired.append(member.id)
        return Member(id=self.new_id(), alert=told, known=after, count=1, first_at=self.now, heard_at=self.now, reason=reason)


def _news_of(action: Join | Reopen | Escalate) -> NewsKind:
    match action:
        case Escalate():
            return NewsKind.WORSE
        case Join(new=new) | Reopen(new=new):
            return NewsKind.JOINED if new else NewsKind.BACK


def _stays(entry: _Entry, incident_id: str | None) -> bool:
    return entry.member is not None and entry.member.known.incident_id == incident_id


def _as_told(entry: _Entry, after: KnownAlert, now: datetime) -> Alert:
    """What is shown of an alert: what it said when it fired, since many senders say little more than "over" at the end."""
    alert, member = entry.arrival.masked, entry.member
    if member is None:
        return alert
    if is_older(entry.arrival.sent, member.known, now):
        return member.alert
    if after.status is AlertStatus.RESOLVED:
        return replace(member.alert, status=AlertStatus.RESOLVED, ends_at=alert.ends_at or now)
    return alert
