"""Notifications: the events that people are notified of, the rules that select them, and the messages that follow from both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from enum import StrEnum
from typing import assert_never
from uuid import UUID, uuid5
from zoneinfo import ZoneInfo

from tarsy.domain.action import Action
from tarsy.domain.alert import Severity
from tarsy.domain.approval import Approval
from tarsy.domain.claim import WorkKind
from tarsy.domain.route import Matcher
from tarsy.domain.session import SlackThread
from tarsy.domain.verdict import Confidence, VerdictOutcome

# Long enough for the night's quiet hours; older news is on the dashboard.
MAX_AGE = timedelta(hours=24)
# Any fixed value: ids of notifications are derived from it.
_IDS = UUID("6f1c2c52-6a0e-4a53-9a5e-1d1f0a7c2b11")


class EventKind(StrEnum):
    """Resolved is about an incident, all others are about a session."""

    STARTED = "started"
    # It completed; its analysis may lack a verdict.
    VERDICT = "verdict"
    # It failed or timed out.
    FAILED = "failed"
    # It waits for something other than a budget; with `approval`, one of its tool calls waits for a person.
    WAITING = "waiting"
    # The call that waited was approved or rejected, or has expired.
    DECIDED = "decided"
    # A question about it was answered, or could not be.
    ANSWERED = "answered"
    RESOLVED = "resolved"
    # It waits because a period budget has no room.
    BUDGET = "budget"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationEvent:
    """What happened. Rules match it, templates show it, and webhooks receive it; all texts are masked."""

    kind: EventKind
    at: datetime
    title: str
    severity: Severity = Severity.UNKNOWN
    # The sender of the incident's first alert, and those of all its alerts.
    source: str = ""
    sources: tuple[str, ...] = ()
    alert_type: str = ""
    # The values that the alerts of the incident have for each label.
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    # Those of the incident's first alerts, as their senders write them.
    fingerprints: tuple[str, ...] = ()
    # The sender of the alert has named the fingerprint by which its message in Slack is found.
    is_named_in_slack: bool = False
    session_id: str | None = None
    incident_id: str | None = None
    outcome: VerdictOutcome | None = None
    confidence: Confidence | None = None
    # The faulty object, such as `Deployment/shop/cart`.
    object: str = ""
    mechanism: str = ""
    summary: str = ""
    # The first command of *Do now*.
    command: str = ""
    # What was changed, in the order of the calls.
    actions: tuple[Action, ...] = ()
    # How many quotations of the analysis were verified, and what the session cost, for people.
    quotations: str = ""
    cost: str = ""
    # Why the session failed or waits.
    reason: str = ""
    # The tool call that waits or was decided about.
    approval: Approval | None = None
    # The chat question that was answered, and its answer.
    message_id: str | None = None
    question: str = ""
    answer: str = ""
    # Where in Slack the session was asked for, or the question that was answered.
    slack_thread: SlackThread | None = None
    # The page of the session or incident; empty if `system.dashboard_url` is not set.
    link: str = ""

    @property
    def key(self) -> str:
        """Return a text that is the same whenever the same event is read again."""
        match self.kind:
            case EventKind.STARTED | EventKind.VERDICT | EventKind.FAILED:
                return f"{self.kind}:{self.session_id}"
            case EventKind.WAITING | EventKind.DECIDED if self.approval:
                return f"{self.kind}:{self.approval.id}"
            case EventKind.ANSWERED:
                return f"{self.kind}:{self.message_id}"
            case EventKind.WAITING | EventKind.DECIDED | EventKind.BUDGET:
                # A session may wait several times, and an incident may be resolved again.
                return f"{self.kind}:{self.session_id}:{self.at.isoformat()}"
            case EventKind.RESOLVED:
                return f"{self.kind}:{self.incident_id}:{self.at.isoformat()}"
            case _:
                assert_never(self.kind)

    def values_of(self, name: str) -> Sequence[str]:
        """Return the values that a matcher with this name is compared with. As in routes, `severity` also has the senders' own values."""
        labels = self.labels.get(name, ())
        match name:
            case "severity":
                return (self.severity.value, *labels)
            case "source" if self.sources:
                return self.sources
            case "source" | "title" | "alert_type" | "object" | "outcome" | "confidence":
                value: str | None = getattr(self, name)
                return (value,) if value else ()
            case _:
                return labels

    def says_the_same_as(self, other: "NotificationEvent") -> bool:
        """Return whether both give a reader the same answer. The wording of the mechanism differs between runs, and does not count."""
        mine, others = (
            (one.outcome, one.object, one.confidence, one.approval and one.approval.id, one.message_id) for one in (self, other)
        )
        return mine == others

    def expires_at(self, max_age: timedelta) -> datetime:
        """Return the time after which it is not delivered any more: a call that has expired cannot be approved."""
        oldest = self.at + max_age
        return min(oldest, self.approval.expires_at) if self.kind is EventKind.WAITING and self.approval else oldest


class AfterQuietHours(StrEnum):
    """What happens to a notification of the quiet hours."""

    SEND = "send"
    DROP = "drop"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuietHours:
    """A time of every day, which may go past midnight."""

    start: time
    end: time
    zone: ZoneInfo
    afterwards: AfterQuietHours = AfterQuietHours.SEND

    def end_after(self, at: datetime) -> datetime | None:
        """Return when the quiet hours that `at` falls into end; None if it falls into none."""
        local = at.astimezone(self.zone)
        for first_day in (local.date() - timedelta(days=1), local.date()):
            last_day = first_day if self.start < self.end else first_day + timedelta(days=1)
            begins = datetime.combine(first_day, self.start, self.zone)
            ends = datetime.combine(last_day, self.end, self.zone)
            # Times of one zone would be compared by their clock reading, which goes back when summer ends.
            if begins.timestamp() <= at.timestamp() < ends.timestamp():
                return ends
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationRule:
    name: str
    on: frozenset[EventKind]
    to: tuple[str, ...]
    match: tuple[Matcher, ...] = ()
    quiet_hours: QuietHours | None = None
    max_age: timedelta = MAX_AGE
    only_if_changed: bool = False
    # None: the default of the target.
    template: str | None = None

    def selects(self, event: NotificationEvent) -> bool:
        return event.kind in self.on and all(matcher.accepts(event.values_of(matcher.name)) for matcher in self.match)

    def quiet_until(self, at: datetime) -> datetime | None:
        """Return when its quiet hours that `at` falls into end; None if it falls into none."""
        return self.quiet_hours.end_after(at) if self.quiet_hours else None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewNotification:
    """An event to be delivered to a target, not before and not after the given times."""

    event: NotificationEvent
    target: str
    rule: NotificationRule
    not_before: datetime
    expires_at: datetime

    @property
    def id(self) -> str:
        """Return the id, which is also the idempotency key: the same for the same event and target, however often the event is read."""
        return str(uuid5(_IDS, f"{self.event.key} {self.target}"))


def notifications_of(
    event: NotificationEvent, rules: Sequence[NotificationRule], last: Mapping[str, NotificationEvent]
) -> list[NewNotification]:
    """Decide who is notified of an event. For each target the first rule that selects the event decides.

    `last` has, by target, the previous event of this kind about the same incident that the target was notified of.
    """
    decided: dict[str, NotificationRule] = {}
    for rule in rules:
        if rule.selects(event):
            for target in rule.to:
                decided.setdefault(target, rule)
    found: list[NewNotification] = []
    for target, rule in decided.items():
        if rule.only_if_changed and target in last and event.says_the_same_as(last[target]):
            continue
        quiet_until = rule.quiet_until(event.at)
        if rule.quiet_hours and quiet_until and rule.quiet_hours.afterwards is AfterQuietHours.DROP:
            continue
        not_before, expires_at = quiet_until or event.at, event.expires_at(rule.max_age)
        if not_before < expires_at:
            found.append(NewNotification(event=event, target=target, rule=rule, not_before=not_before, expires_at=expires_at))
    return found


def reply(event: NotificationEvent, target: str) -> NewNotification:
    """Return a notification that no rule asks for: the event answers what a person asked for there, or closes what a person was asked."""
    rule = NotificationRule(name="reply", on=frozenset({event.kind}), to=(target,))
    return NewNotification(event=event, target=target, rule=rule, not_before=event.at, expires_at=event.expires_at(rule.max_age))


class NotificationStatus(StrEnum):
    PENDING = "pending"
    DELIVERED = "delivered"
    # Given up after the last attempt; a person can send it again.
    DEAD_LETTER = "dead_letter"
    # Older than its rule allows before it could be delivered.
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True, kw_only=True)
class PostedMessage:
    """A message in a chat that can be changed. `parent`: the message whose thread it was posted in."""

    channel: str
    ts: str
    parent: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """A stored notification. Every attempt sends the same text."""

    id: str
    target: str
    rule: str
    event: NotificationEvent
    text: str
    status: NotificationStatus
    # Failed attempts.
    attempts: int
    error: str | None
    created_at: datetime
    expires_at: datetime
    delivered_at: datetime | None
    # The message that its delivery posted, if the service has threads.
    posted: PostedMessage | None = None
    # A person who sends it again wants it now: no quiet hours hold it back.
    is_sent_again: bool = False

    def quiet_until(self, rules: Sequence[NotificationRule], now: datetime) -> datetime | None:
        """Return until when the quiet hours of its rule hold it back; None if it may be sent now."""
        made_by = (rule for rule in rules if rule.name == self.rule and self.target in rule.to and rule.selects(self.event))
        rule = None if self.is_sent_again else next(made_by, None)
        return rule.quiet_until(now) if rule else None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageThread:
    """What one target shows about an incident (or a session without one)."""

    # Its message. An approval has a message of its own.
    posted: PostedMessage | None
    # The time of the latest event that was delivered.
    shown_at: datetime
    # The text of the latest verdict or failure; empty before the first.
    finding: str = ""
    # The message with the approval that an event is about, and whether it has shown the decision.
    approval: PostedMessage | None = None
    shows_decision: bool = False


def thread_of(delivered: Sequence[Notification], event: NotificationEvent) -> MessageThread | None:
    """Return the thread in which `event` is shown, by the notifications that one target got about the same subject; None if it is the first."""
    if not delivered:
        return None
    posted = [one.posted for one in delivered if one.posted and not one.event.approval]
    findings = [one for one in delivered if one.event.kind in {EventKind.VERDICT, EventKind.FAILED}]
    same = [one for one in delivered if event.approval and one.event.approval and one.event.approval.id == event.approval.id]
    return MessageThread(
        posted=posted[-1] if posted else None,
        approval=next((one.posted for one in same if one.posted), None),
        shows_decision=any(one.event.kind is EventKind.DECIDED for one in same),
        shown_at=max(one.event.at for one in delivered),
        finding=max(findings, key=lambda one: one.event.at).text if findings else "",
    )


# The beginning of the kinds of work that deliver notifications.
DELIVERY_PREFIX = "notification:"


def delivery_kind(target: str) -> WorkKind:
    """Return the kind of work of deliveries to a target. Each target has its own, so that a receiver that hangs delays no other."""
    return WorkKind(f"{DELIVERY_PREFIX}{target}")
