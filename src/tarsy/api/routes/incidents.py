"""Incidents: listing, investigating, resolving, merging, splitting and muting them; their alerts, and the changes around them."""

from datetime import UTC, datetime, timedelta
from typing import Annotated
from uuid import UUID

from fastapi import Path, Query
from pydantic import Field, field_validator

from tarsy.api.problems import ProblemKind, RequestRefusedError
from tarsy.api.router import api_router
from tarsy.api.routes.sessions import MAX_PAGE
from tarsy.api.schemas.incidents import (
    AlertDetail,
    ChangeList,
    IncidentList,
    IncidentView,
    Investigated,
    MergeRequest,
    MuteIncident,
    MuteItem,
    MuteList,
    MuteRequest,
    SplitOff,
    SplitRequest,
)
from tarsy.api.schemas.view import IdPrefix, Name, Request, StorableText, UtcTime
from tarsy.api.services import AuthorDep, ServicesDep
from tarsy.db.incident.mutes import MuteRepository
from tarsy.db.incident.repository import IncidentFilter, IncidentSort
from tarsy.domain.alert import Severity
from tarsy.domain.incident import IncidentState, Mute
from tarsy.domain.review import Subject, SubjectKind
from tarsy.domain.route import parse_matchers
from tarsy.domain.verdict import VerdictOutcome

router = api_router(tag="incidents")

# A change up to this long before may be the cause; an earlier one would have caused alerts earlier.
CHANGES_BEFORE = timedelta(hours=2)
MAX_CHANGES = 500
IncidentId = Annotated[UUID, Path(description="The incident's id.")]
Label = Annotated[StorableText, Field(max_length=1200)]


class IncidentQuery(Request):
    """Which incidents to list."""

    id_prefix: IdPrefix | None = Field(default=None, description="Only ids that begin with these hexadecimal digits.")
    state: list[IncidentState] = Field(default=[], max_length=len(IncidentState), description="Only these; repeat it for several.")
    severity: list[Severity] = Field(default=[], max_length=len(Severity), description="Only these; repeat it for several.")
    source: list[Name] = Field(default=[], max_length=20, description="Only from these senders; repeat it for several.")
    label: list[Label] = Field(
        default=[], max_length=20, description="`name=value`; only incidents with an alert that has all of these labels."
    )
    verdict: list[VerdictOutcome] = Field(
        default=[], max_length=len(VerdictOutcome), description="Outcome of the last investigation; repeat it for several."
    )
    text: StorableText | None = Field(default=None, max_length=200, description="A part of the title.")
    opened_from: UtcTime | None = Field(default=None, alias="from", description="Opened at or after.")
    opened_to: UtcTime | None = Field(default=None, alias="to", description="Opened before.")
    sort: IncidentSort = Field(default=IncidentSort.OPENED, description="`opened`: the latest first. `severity`: the worst first.")
    limit: int = Field(default=50, ge=1, le=MAX_PAGE)
    cursor: str | None = Field(default=None, max_length=200, description="`next_cursor` of the previous page.")

    @field_validator("label")
    @classmethod
    def _named(cls, labels: list[str]) -> list[str]:
        if any(not label.partition("=")[0] or "=" not in label for label in labels):
            raise ValueError("write a label as name=value")
        return labels

    def filter(self) -> IncidentFilter:
        return IncidentFilter(
            id_prefix=self.id_prefix,
            states=tuple(self.state),
            severities=tuple(self.severity),
            sources=tuple(self.source),
            labels=tuple((name, value) for name, _, value in (label.partition("=") for label in self.label)),
            verdicts=tuple(self.verdict),
            text=self.text or None,
            opened_from=self.opened_from,
            opened_to=self.opened_to,
        )


@router.get("/incidents", operation_id="listIncidents")
async def list_incidents(services: ServicesDep, query: Annotated[IncidentQuery, Query()]) -> IncidentList:
    """Incidents, the latest or the worst first."""
    page = await services.incidents.repository.list(query.filter(), limit=query.limit, cursor=query.cursor, sort=query.sort)
    return IncidentList.of(page)


@router.get("/incidents/{incident_id}", operation_id="getIncident")
async def get_incident(
    incident_id: IncidentId,
    services: ServicesDep,
) -> IncidentView:
    """An incident with its alerts, its investigations, and the changes around it."""
    detail, now = await services.incidents.repository.get(str(incident_id)), datetime.now(UTC)
    incident = detail.summary.incident
    changes = await services.incidents.changes.between(incident.opened_at - CHANGES_BEFORE, incident.resolved_at or now, limit=MAX_CHANGES)
    mutes = [mute for mute in await services.incidents.mutes.list(now) if mute.incident_key == incident.key]
    notes = await services.repositories.notes.of_incident(incident.id)
    triage = await services.repositories.reviews.triage_of(Subject(SubjectKind.INCIDENT, incident.id))
    return IncidentView.around(detail, changes, mutes, notes, triage)


@router.post("/incidents/{incident_id}/investigate", status_code=202, operation_id="investigateIncident")
async def investigate_incident(incident_id: IncidentId, services: ServicesDep, author: AuthorDep) -> Investigated:
    """Investigate the incident, also again; 409 while an investigation waits or runs."""
    return Investigated(session_id=UUID(await services.incidents.service.commands.investigate(str(incident_id), actor=author)))


@router.post("/incidents/{incident_id}/resolve", status_code=204, operation_id="resolveIncident")
async def resolve_incident(incident_id: IncidentId, services: ServicesDep, author: AuthorDep) -> None:
    """Resolve the incident and cancel waiting investigations. An alert that fires again reopens it."""
    await services.incidents.service.commands.resolve(str(incident_id), actor=author)


@router.post("/incidents/{incident_id}/merge", status_code=204, operation_id="mergeIncidents")
async def merge_incidents(incident_id: IncidentId, wanted: MergeRequest, services: ServicesDep, author: AuthorDep) -> None:
    """Merge another incident into this one, with all its future alerts."""
    await services.incidents.service.commands.merge(str(incident_id), str(wanted.incident_id), actor=author)


@router.post("/incidents/{incident_id}/split", status_code=201, operation_id="splitIncident")
async def split_incident(incident_id: IncidentId, wanted: SplitRequest, services: ServicesDep, author: AuthorDep) -> SplitOff:
    """Split some of its alerts off into a new incident."""
    alerts = [str(alert) for alert in wanted.alerts]
    return SplitOff(incident_id=UUID(await services.incidents.service.commands.split(str(incident_id), alerts, actor=author)))


@router.post("/incidents/{incident_id}/mute", status_code=201, operation_id="muteIncident")
async def mute_incident(incident_id: IncidentId, wanted: MuteIncident, services: ServicesDep, author: AuthorDep) -> MuteItem:
    """Mute the incident until a given time: TARSy records its alerts, but does not investigate it."""
    incident = (await services.incidents.repository.get(str(incident_id))).summary.incident
    reason = services.mask(wanted.reason)
    mute = Mute(starts=datetime.now(UTC), ends=wanted.ends, incident_key=incident.key, reason=reason, actor=author)
    return await _add_mute(services.incidents.mutes, mute)


@router.get("/mutes", operation_id="listMutes")
async def list_mutes(services: ServicesDep) -> MuteList:
    """All mutes that have not ended, those of the configuration first."""
    now = datetime.now(UTC)
    configured = [mute for mute in services.incidents.service.policy.mutes if mute.ends > now]
    return MuteList(mutes=[MuteItem.of(mute) for mute in (*configured, *await services.incidents.mutes.list(now))])


@router.post("/mutes", status_code=201, operation_id="addMute")
async def add_mute(wanted: MuteRequest, services: ServicesDep, author: AuthorDep) -> MuteItem:
    """Mute matching alerts for a time, such as maintenance: TARSy records them, but does not investigate."""
    matchers = tuple(matcher for text in wanted.match for matcher in parse_matchers(text))
    starts, reason = wanted.starts or datetime.now(UTC), services.mask(wanted.reason)
    return await _add_mute(services.incidents.mutes, Mute(starts=starts, ends=wanted.ends, match=matchers, reason=reason, actor=author))


@router.delete("/mutes/{mute_id}", status_code=204, operation_id="endMute")
async def end_mute(mute_id: UUID, services: ServicesDep, author: AuthorDep) -> None:
    """End a mute early."""
    await services.incidents.mutes.end(str(mute_id), actor=author)


@router.get("/alerts/{alert_id}", operation_id="getAlert")
async def get_alert(alert_id: UUID, services: ServicesDep) -> AlertDetail:
    """One alert, with what was sent."""
    return AlertDetail.of(await services.incidents.repository.alert(str(alert_id)))


@router.get("/changes", operation_id="listChanges")
async def list_changes(
    services: ServicesDep,
    since: Annotated[UtcTime, Query(alias="from", description="Made at or after.")],
    until: Annotated[UtcTime | None, Query(alias="to", description="Changes made at or before this time; absent: now.")] = None,
) -> ChangeList:
    """Changes in a time range, latest first."""
    changes = await services.incidents.changes.between(since, until or datetime.now(UTC), limit=MAX_CHANGES)
    return ChangeList.build(changes=changes)


async def _add_mute(mutes: MuteRepository, mute: Mute) -> MuteItem:
    if mute.ends <= max(mute.starts, datetime.now(UTC)):
        raise RequestRefusedError(ProblemKind.BAD_REQUEST, "A mute must end after it starts, and in the future.")
    return MuteItem.of(await mutes.add(mute))
