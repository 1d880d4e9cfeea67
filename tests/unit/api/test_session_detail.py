"""A session's detail as clients receive it: `session_detail.json` holds what they have always received."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from support.verdicts import ODD, VERDICT
from tarsy.api.schemas.sessions import SessionDetail
from tarsy.db.run.trace import SessionRun
from tarsy.db.session.repository import StoredDetail
from tarsy.db.work.queue_position import QueuePosition
from tarsy.domain.citation import CitationCounts
from tarsy.domain.execution import AgentExecution
from tarsy.domain.session import AlertSession
from tarsy.domain.stage import ParallelType, Stage, StageType, SuccessPolicy
from tarsy.domain.status import RunStatus, SessionStatus
from tarsy.domain.usage import Spending, TokenUsage
from tarsy.domain.verdict import Confidence, JudgedVerdict

AT = datetime(2026, 3, 1, 12, 0, 0, 120_000, UTC)
SESSION, STAGE, AGENT, OTHER = (f"{digit * 8}-89ab-cdef-0123-456789abcdef" for digit in "0123")

PLAIN = StoredDetail(
    AlertSession(
        id=SESSION,
        alert_data=ODD,
        alert_type="kubernetes",
        chain_id="chain",
        chain_snapshot={},
        author="ada",
        nonce="n" * 32,
        # A whole second, which is written without a fraction.
        created_at=AT.replace(microsecond=0),
        status=SessionStatus.PENDING,
    ),
    SessionRun((), (), {}, {}),
    QueuePosition(2, 0, "Paused by ada.", AT),
    None,
)
STAGES = (
    Stage(
        id=STAGE,
        session_id=SESSION,
        stage_name="analysis",
        stage_index=0,
        stage_type=StageType.INVESTIGATION,
        expected_agent_count=2,
        status=RunStatus.FAILED,
        parallel_type=ParallelType.MULTI_AGENT,
        success_policy=SuccessPolicy.ANY,
        error_message=ODD,
        started_at=AT,
        completed_at=AT + timedelta(seconds=2),
    ),
)
EXECUTION = AgentExecution(
    id=AGENT,
    session_id=SESSION,
    stage_id=STAGE,
    agent_name="Investigator",
    agent_index=1,
    llm_backend="openai",
    llm_provider="openai-default",
    model_name="model",
    tool_calling="native",
    status=RunStatus.COMPLETED,
    started_at=AT,
)
# It has called no model.
SENT = replace(EXECUTION, id=OTHER, parent_execution_id=AGENT, dispatched_by="A1", task=ODD)
WHOLE = StoredDetail(
    replace(
        PLAIN.session,
        chain_snapshot={
            "chat": {},
            "scoring": {},
            "executive_summary": {},
            "budget": {"usd": "0.5", "seconds": 90},
            "stages": [
                {"name": "analysis", "agents": [{"agent_name": "Investigator"}, {"agent_name": "Other"}], "synthesis": {}},
                {"name": "report", "agents": [{"agent_name": "Investigator", "provider": {"type": "replay"}}], "synthesis": {}},
            ],
        },
        mcp_selection={"servers": [{"name": "kubernetes", "tools": ["pods_list"]}], "native_tools": {"google_search": True}},
        fork={"session_id": OTHER, "stage": "analysis", "agent": "Investigator", "turn": 3, "model": None, "received_at": AT.isoformat()},
        incident_id=OTHER,
        runbook_url="https://example.com/runbook",
        status=SessionStatus.COMPLETED,
        final_analysis=ODD,
        analysis_is_partial=True,
        analysis_partial_reason="It was cancelled.",
        executive_summary=ODD,
        verdict=JudgedVerdict(VERDICT, Confidence.LOW, "A citation failed."),
        citations=CitationCounts(5, 4, 0, 1, 2),
        started_at=AT,
        completed_at=AT + timedelta(milliseconds=1500),
    ),
    # An amount that is written with an exponent.
    SessionRun(STAGES, (EXECUTION, SENT), {AGENT: TokenUsage(1, 2, 3, 4, 5)}, {AGENT: Spending(Decimal("0.0000012"), 1)}),
    QueuePosition(),
    "ada",
)


EXPECTED = json.loads(Path(__file__).with_name("session_detail.json").read_text())


@pytest.mark.parametrize(("name", "stored"), [("plain", PLAIN), ("whole", WHOLE)])
def test_a_detail_has_the_fields_the_order_and_the_formats_that_clients_know(name: str, stored: StoredDetail) -> None:
    rendered = SessionDetail.of(stored).model_dump_json()
    assert json.dumps(json.loads(rendered)) == json.dumps(EXPECTED[name])
