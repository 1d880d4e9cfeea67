"""A judgement of a finished session."""

from dataclasses import dataclass
from datetime import datetime

from tarsy.domain.status import RunStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionScore:
    id: str
    session_id: str
    status: RunStatus
    requested_by: str
    total_score: int | None = None
    analysis: str | None = None
    missing_tools: str | None = None
    error_message: str | None = None
    stage_id: str | None = None
    recoveries: int = 0
    created_at: datetime
    completed_at: datetime | None = None
