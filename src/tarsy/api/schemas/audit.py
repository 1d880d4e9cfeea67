"""The audit log."""

from datetime import datetime
from typing import Any
from uuid import UUID

from tarsy.api.schemas.view import View


class AuditEntryView(View):
    id: int
    at: datetime
    actor: str
    # The address of the client; absent for actions of TARSy itself, of monitoring systems, and of earlier versions.
    origin: str | None
    action: str
    session_id: UUID | None
    details: dict[str, Any]


class AuditPage(View):
    # Newest first.
    entries: list[AuditEntryView]
    # Give it back as `before` for the next page; absent on the last one.
    next_before: int | None
