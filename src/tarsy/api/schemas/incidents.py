"""Incidents, alerts, changes and mutes, and the response to a webhook."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Self
from uuid import UUID

from pydantic import AfterValidator, Field

from tarsy.api.schemas.followups import NoteView
from tarsy.api.schemas.reviews import TriageView
from tarsy.api.schemas.sessions import VerdictView
from tarsy.api.schemas.view import Cost, Request, StorableText, UtcTime, View
from tarsy.db.incident.changes import StoredChange
from tarsy.db.incident.repository import Activity, IncidentDetail, IncidentInvestigation, IncidentPage, IncidentSummary
from tarsy.domain.alert import AlertStatus, ChangeOutcome, Severity
from tarsy.domain.incident import IncidentState, Mute, StoredAlert
from tarsy.domain.note import SessionNote
from tarsy.domain.review import Triage
from tarsy.domain.route import MatcherError, parse_matchers
from tarsy.domain.status import SessionStatus
from tarsy.domain.verdict import Confidence, VerdictOutcome
from tarsy.intake.answer import Answer, Outcome


class WebhookAction(StrEnum):
    OPENED = "opened"
    JOINED = "joined"
    REPEATED = "repeated"
    REOPENED = "reopened"
    ESCALATED = "escalated"
    INVESTIGATED_AGAIN = "investigated_again"
    RESOLVED = "resolved"
    RECORDED = "recorded"
    DROPPED = "dropped"
    # The body had no alert: a change, a handshake, a ping.
    NOTED = "noted"


class WebhookResult(View):
    # Absent for alerts that are recorded only, or dropped.
    incident_id: UUID | None
    action: Outcome
    alerts: int
    session_id: UUID | None
    # Why they are in no incident.
    reason: str | None


class WebhookAccepted(View):
    """What TARSy did with the most important alert; `results` has all of them."""

    incident_id: UUID | None
    alerts: int
    # The incident's last investigation, which need not be new; absent while there is none.
    session_id: UUID | None
    action: WebhookAction
    status: SessionStatus | None
    source: str
    changes: int
    # How many alerts the sender or TARSy left out.
    truncated: int
    # Why the body had neither an alert nor a change.
    remark: str | None
    results: list[WebhookResult]

    @classmethod
    def of(cls, answer: Answer) -> "WebhookAccepted":
        main = answer.main
        return cls.build(
            answer,
            incident_id=main.incident_id if main else None,
            session_id=main.session_id if main else None,
            action=main.action if main else WebhookAction.NOTED,
            status=main.session_status if main else None,
        )


class IncidentItem(View):
    id: UUID
    state: IncidentState
    title: str
    severity: Severity
    source: str
    route: str
    alert_type: str
    opened_at: datetime
    # When one of its alerts was last received.
    heard_at: datetime
    resolved_at: datetime | None
    # How many of its alerts fire, how many it has, and how often they were received.
    firing: int
    alerts: int
    deliveries: int
    # How many further alerts were left out of the last delivery.
    truncated: int
    last_session_id: UUID | None
    last_session_status: SessionStatus | None
    last_session_completed_at: datetime | None
    executive_summary: str | None
    # Whether the analysis of the last investigation is.
    analysis_is_partial: bool
    # Of the last investigation; absent if it has no verdict.
    verdict_outcome: VerdictOutcome | None
    verdict_confidence: Confidence | None
    verdict_object: str | None
    # No model answers the last investigation for now.
    waiting_for_model: bool
    # Of all its investigations and of the questions about them.
    cost: Cost

    @classmethod
    def of(cls, summary: IncidentSummary) -> "IncidentItem":
        incident = summary.incident
        return cls.build(
            incident,
            summary,
            last_session_id=incident.session_id,
            last_session_status=incident.session_status,
            last_session_completed_at=incident.finished_at,
            cost=summary.spending,
        )


class IncidentList(View):
    incidents: list[IncidentItem]
    # Give it back as `cursor` for the next page; absent on the last one.
    next_cursor: str | None
    # Over all pages: `total` with all filters, the others with all filters except the one by state.
    total: int
    open: int
    resolved: int

    @classmethod
    def of(cls, page: IncidentPage) -> "IncidentList":
        return cls.build(page, incidents=[IncidentItem.of(summary) for summary in page.incidents])


class AlertLinks(View):
    source: str | None
    dashboard: str | None
    runbook: str | None
    silence: str | None


class AlertItem(View):
    id: UUID
    incident_id: UUID | None
    source: str
    fingerprint: str
    title: str
    severity: Severity
    status: AlertStatus
    labels: dict[str, str]
    annotations: dict[str, str]
    links: AlertLinks
    starts_at: datetime | None
    ends_at: datetime | None
    first_at: datetime
    heard_at: datetime
    # How often it was received as part of this incident.
    count: int
    # Why it is only recorded.
    reason: str | None

    @classmethod
    def of(cls, member: StoredAlert) -> Self:
        # These may have changed since the alert was received.
        known = member.known
        return cls.build(
            member.alert, member, id=UUID(member.id), incident_id=known.incident_id, severity=known.severity, status=known.status
        )


class AlertDetail(AlertItem):
    # As it was received, with secrets masked.
    body: str


class ActivityBarItem(View):
    at: datetime
    firing: int
    resolved: int


class ActivityView(View):
    """How often its alerts arrived over time; empty intervals are left out."""

    bar_seconds: int
    bars: list[ActivityBarItem]

    @classmethod
    def of(cls, activity: Activity) -> "ActivityView":
        return cls.build(activity, bar_seconds=int(activity.width.total_seconds()))


class ChangeItem(View):
    id: UUID
    source: str
    title: str
    outcome: ChangeOutcome
    labels: dict[str, str]
    link: str | None
    at: datetime


class ChangeList(View):
    changes: list[ChangeItem]


class IncidentSession(View):
    id: UUID
    status: SessionStatus
    author: str
    executive_summary: str | None
    analysis_is_partial: bool
    # Why, in one sentence for people.
    analysis_partial_reason: str | None
    error_message: str | None
    # Absent if there is no verdict.
    verdict: VerdictView | None
    # No model answers it for now.
    waiting_for_model: bool
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None

    @classmethod
    def of(cls, investigation: IncidentInvestigation) -> "IncidentSession":
        return cls.build(investigation, verdict=VerdictView.of(investigation.verdict))


class MuteItem(View):
    # Absent for one of the configuration, which only its file ends.
    id: UUID | None
    starts: datetime
    ends: datetime
    match: list[str]
    # Whether it mutes one incident alone.
    of_incident: bool
    reason: str
    actor: str

    @classmethod
    def of(cls, mute: Mute) -> "MuteItem":
        return cls.build(mute, match=[str(matcher) for matcher in mute.match], of_incident=mute.incident_key is not None)


class MuteList(View):
    mutes: list[MuteItem]


class IncidentView(IncidentItem):
    # Firing alerts first; at most 200 of `alerts`.
    members: list[AlertItem]
    activity: ActivityView
    # Newest first.
    sessions: list[IncidentSession]
    # From two hours before it was opened until it was over.
    changes: list[ChangeItem]
    # In force now, for this incident alone.
    mutes: list[MuteItem]
    # Incidents that were merged into this one.
    merged: list[UUID]
    # The notes that its investigations received while they ran, oldest first.
    notes: list[NoteView]
    triage: TriageView

    @classmethod
    def around(
        cls, detail: IncidentDetail, changes: Sequence[StoredChange], mutes: Sequence[Mute], notes: Sequence[SessionNote], triage: Triage
    ) -> "IncidentView":
        return cls.build(
            IncidentItem.of(detail.summary),
            detail,
            members=[AlertItem.of(member) for member in detail.members],
            activity=ActivityView.of(detail.activity),
            sessions=[IncidentSession.of(investigation) for investigation in detail.investigations],
            changes=changes,
            mutes=[MuteItem.of(mute) for mute in mutes],
            notes=[NoteView.of(note) for note in notes],
            triage=triage,
        )


class Investigated(View):
    session_id: UUID


class SplitOff(View):
    incident_id: UUID


class MergeRequest(Request):
    incident_id: UUID = Field(description="The incident that becomes part of this one.")


class SplitRequest(Request):
    alerts: list[UUID] = Field(min_length=1, max_length=200, description="The alerts that form the new incident.")


Reason = Annotated[StorableText, Field(max_length=1000)]


class MuteIncident(Request):
    ends: UtcTime = Field(description="When its alerts count again.")
    reason: Reason = Field(default="", description="Shown with muted alerts.")


def _matcher(text: str) -> str:
    try:
        parse_matchers(text)
    except MatcherError as error:
        raise ValueError(str(error)) from error
    return text


class MuteRequest(MuteIncident):
    starts: UtcTime | None = Field(default=None, description="Start; absent: now.")
    match: list[Annotated[StorableText, Field(max_length=1000), AfterValidator(_matcher)]] = Field(
        min_length=1, max_length=20, description="Matchers, all of which must match."
    )
