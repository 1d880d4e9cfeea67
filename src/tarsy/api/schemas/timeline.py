"""The timeline of a session."""

from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from tarsy.api.schemas.execution_tree import ExecutionInTreeView
from tarsy.api.schemas.view import View
from tarsy.db.run.timeline import TimelinePage
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
    # By which agents cite the result that the event is about, or brings.
    evidence_id: str | None
    status: TimelineStatus
    content: str
    metadata: dict[str, Any]
    created_at: datetime
    completed_at: datetime | None


class Timeline(View):
    events: list[TimelineEventView]
    # The agents that the events' `execution_id` names, each before those that it sent.
    executions: list[ExecutionInTreeView]
    # Subscribe from this live event on to miss nothing.
    last_event_id: int
    # Give it back as `after` for the next page; absent on the last one.
    next_after: int | None


def timeline_json(page: TimelinePage) -> tuple[bytes, ...]:
    """A `Timeline` in pieces, with the events as they were read: thousands at a time, they are passed on and not copied."""
    rest = orjson.dumps({"executions": page.executions, "last_event_id": page.last_event_id, "next_after": page.next_after})
    return b'{"events":', page.events, b"," + rest.removeprefix(b"{")
