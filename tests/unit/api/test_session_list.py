"""The list of sessions as clients receive it: `session_list.json` holds what they have always received."""

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

from support.verdicts import ODD, VERDICT
from tarsy.api.schemas.sessions import SessionList
from tarsy.db.session.listing import SessionPage, SessionSummary
from tarsy.db.work.queue_position import QueuePosition
from tarsy.domain.alert import Severity
from tarsy.domain.citation import CitationCounts
from tarsy.domain.status import SessionStatus
from tarsy.domain.usage import Spending
from tarsy.domain.verdict import Confidence, JudgedVerdict

AT = datetime(2026, 3, 1, 12, 0, 0, 120_000, UTC)

PLAIN = SessionSummary(
    id="01234567-89ab-cdef-0123-456789abcdef",
    alert_type="kubernetes",
    chain_id="chain",
    author="ada",
    status=SessionStatus.PENDING,
    severity=None,
    cancelled_by=None,
    title=ODD,
    alert_excerpt=ODD,
    executive_summary=None,
    error_message=None,
    analysis_is_partial=False,
    analysis_partial_reason=None,
    verdict=None,
    citations=None,
    # A whole second, which is written without a fraction.
    created_at=AT.replace(microsecond=0),
    started_at=None,
    completed_at=None,
    stage_count=3,
    cost=Spending(),
    position=QueuePosition(2, 0, "Paused by ada.", AT),
)
WHOLE = SessionSummary(
    id="fedcba98-7654-3210-fedc-ba9876543210",
    alert_type="kubernetes",
    chain_id="chain",
    author="ada",
    status=SessionStatus.CANCELLED,
    severity=Severity.CRITICAL,
    cancelled_by="ada",
    title="title",
    alert_excerpt="excerpt",
    executive_summary=ODD,
    error_message=ODD,
    analysis_is_partial=True,
    analysis_partial_reason="It was cancelled.",
    verdict=JudgedVerdict(VERDICT, Confidence.LOW, "A citation failed."),
    citations=CitationCounts(5, 4, 0, 1, 2),
    created_at=AT,
    started_at=AT,
    completed_at=AT + timedelta(milliseconds=1500),
    stage_count=3,
    current_stage_name="analysis",
    current_stage_index=1,
    total_tokens=41_200,
    # Numbers that are written in different ways: with an exponent, and as they are.
    cost=Spending(Decimal("0.0000012"), 1, 2),
    agents=4,
    fallbacks=1,
    score=77,
    questions=2,
    position=QueuePosition(),
)


def test_the_list_has_the_fields_the_order_and_the_formats_that_clients_know() -> None:
    rendered = SessionList.of(SessionPage((PLAIN, WHOLE), "cursor")).model_dump_json()
    expected = Path(__file__).with_name("session_list.json").read_text()
    assert json.dumps(json.loads(rendered)) == json.dumps(json.loads(expected))


def test_the_last_page_and_an_empty_one_have_no_cursor() -> None:
    assert json.loads(SessionList.of(SessionPage((), None)).model_dump_json()) == {"sessions": [], "next_cursor": None}
