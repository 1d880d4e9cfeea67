"""Timeline events for tests that write steps by hand."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import uuid4

from tarsy.domain.claim import Claim
from tarsy.domain.status import TimelineStatus
from tarsy.domain.timeline import TimelineEvent, TimelineEventType


def streaming(claim: Claim, stage_id: str | None = None) -> TimelineEvent:
    return TimelineEvent(
        id=str(uuid4()),
        session_id=claim.session_id,
        stage_id=stage_id,
        execution_id=None,
        sequence_number=1,
        event_type=TimelineEventType.LLM_RESPONSE,
        status=TimelineStatus.STREAMING,
        content="",
        created_at=datetime.now(UTC),
    )


def warning(claim: Claim, text: str) -> TimelineEvent:
    event = replace(streaming(claim), event_type=TimelineEventType.WARNING, content=text)
    return replace(event, status=TimelineStatus.COMPLETED, completed_at=event.created_at)
