"""The timeline of a session."""

from datetime import datetime
from typing import Any
from uuid import UUID

from tarsy.api.schemas.view import View
from tarsy.db.timeline import TimelinePage
from tarsy.domain.status import TimelineStatus
from tarsy.domain.timeline import TimelineEventType


class TimelineEventView(View):
    id: UUID
    stage_id: UUID | None
    execution_id: UUID | None
    # Orders the session; also the id of the live event that announced it.
    position: int
    sequence_number: int
    event_type: TimelineEventType
    status: TimelineStatus
    content: str
    metadata: dict[str, Any]
    created_at: datetime
    completed_at: datetime | None


class Timeline(View):
    events: list[TimelineEventView]
    # Subscribe from this live event on to miss nothing.
    last_event_id: int
    # Give it back as `after` for the next page; absent on the last one.
    next_after: int | None

    @classmethod
    def of(cls, page: TimelinePage) -> "Timeline":
        return cls.shown(page, next_after=page.events[-1].position if page.more else None)
