"""The audit log: who did what, when and from where."""

from collections.abc import AsyncIterator
from typing import Annotated
from uuid import UUID

from fastapi import Query, Response
from fastapi.responses import StreamingResponse
from pydantic import Field

from tarsy.api.router import api_router
from tarsy.api.routes.sessions import MAX_PAGE, MAX_POSITION
from tarsy.api.schemas.audit import AuditEntryView, AuditPage
from tarsy.api.schemas.view import Name, Request, UtcTime
from tarsy.api.services import ServicesDep
from tarsy.db.audit import AuditAction, AuditFilter, AuditLog

router = api_router(tag="audit")


class AuditChoice(Request):
    """Which entries are meant."""

    actor: Name | None = Field(default=None, description="Only actions of this person, program or sender.")
    action: list[AuditAction] = Field(default=[], max_length=len(AuditAction), description="Only these; repeat it for several.")
    session_id: UUID | None = Field(default=None, description="Only entries about this session.")
    since: UtcTime | None = Field(default=None, alias="from", description="At or after.")
    until: UtcTime | None = Field(default=None, alias="to", description="Before.")

    def filter(self) -> AuditFilter:
        session_id = str(self.session_id) if self.session_id else None
        return AuditFilter(actor=self.actor or None, actions=tuple(self.action), session_id=session_id, since=self.since, until=self.until)


class AuditQuery(AuditChoice):
    limit: int = Field(default=50, ge=1, le=MAX_PAGE)
    before: int | None = Field(default=None, ge=1, le=MAX_POSITION, description="`next_before` of the previous page.")


@router.get("/audit", operation_id="listAuditEntries")
async def list_audit_entries(services: ServicesDep, query: Annotated[AuditQuery, Query()]) -> AuditPage:
    """The audit log, newest first."""
    entries = await services.system.audit.list(query.filter(), limit=query.limit + 1, before=query.before)
    shown = entries[: query.limit]
    return AuditPage.build(entries=shown, next_before=shown[-1].id if len(entries) > len(shown) else None)


@router.get(
    "/audit-export",
    operation_id="exportAuditLog",
    response_class=Response,
    responses={200: {"content": {"application/jsonl": {}}, "description": "The entries, newest first, one JSON object per line."}},
)
async def export_audit_log(services: ServicesDep, choice: Annotated[AuditChoice, Query()]) -> Response:
    """The audit log as a file of JSON lines."""
    headers = {"Content-Disposition": 'attachment; filename="tarsy-audit.jsonl"'}
    return StreamingResponse(_lines(services.system.audit, choice.filter()), media_type="application/jsonl", headers=headers)


async def _lines(log: AuditLog, where: AuditFilter) -> AsyncIterator[str]:
    before: int | None = None
    while entries := await log.list(where, limit=MAX_PAGE, before=before):
        yield "".join(f"{AuditEntryView.model_validate(entry).model_dump_json()}\n" for entry in entries)
        before = entries[-1].id
