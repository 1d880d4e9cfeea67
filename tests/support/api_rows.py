"""What a worker would have left behind, written straight into the tables."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine

from support.api_world import AT
from tarsy.db.tables import (
    agent_executions,
    alert_sessions,
    llm_interactions,
    mcp_interactions,
    messages,
    session_figures,
    stages,
    timeline_events,
    work,
)
from tarsy.domain.status import SessionStatus


@dataclass(frozen=True)
class Run:
    """The ids of one stage with one execution, two model calls and a tool call."""

    stage_id: str
    execution_id: str
    llm_id: str
    own_llm_id: str
    mcp_id: str


async def set_status(engine: AsyncEngine, session_id: str, status: SessionStatus, **more: Any) -> None:
    """Put a session where a worker would have put it."""
    values: dict[str, Any] = {
        "status": status.value,
        "started_at": None if status is SessionStatus.PENDING else AT,
        "completed_at": AT + timedelta(seconds=5) if status.is_final else None,
        "final_analysis": "The disk is full." if status is SessionStatus.COMPLETED else None,
        **more,
    }
    async with engine.begin() as connection:
        await connection.execute(sa.update(alert_sessions).where(alert_sessions.c.id == session_id).values(values))
        await connection.execute(sa.update(work).where(work.c.subject_id == session_id).values(claim_state(status)))


def claim_state(status: SessionStatus) -> dict[str, Any]:
    """The claim state that goes with a status."""
    if status in {SessionStatus.IN_PROGRESS, SessionStatus.CANCELLING}:
        cancelled = status is SessionStatus.CANCELLING
        return {"state": "claimed", "claim_token": str(uuid4()), "claimed_by": "pod-1", "cancel_requested": cancelled}
    if status is SessionStatus.WAITING:
        return {"state": "parked", "claim_token": None, "parked_at": AT, "parked_reason": "all models are away"}
    return {"state": "ready" if status is SessionStatus.PENDING else "done", "claim_token": None}


async def add_run(engine: AsyncEngine, session_id: str, *, ended: bool = True) -> Run:
    run = Run(*(str(uuid4()) for _ in range(5)))
    owner = {"session_id": session_id, "stage_id": run.stage_id, "execution_id": run.execution_id}
    end = {"status": "completed", "completed_at": AT + timedelta(seconds=2)} if ended else {"status": "active"}
    async with engine.begin() as connection:
        for table, rows in _rows(run, session_id, owner, end):
            for row in rows:
                await connection.execute(sa.insert(table).values(row))
    return run


def _rows(run: Run, session_id: str, owner: dict[str, str], end: dict[str, Any]) -> list[tuple[sa.Table, list[dict[str, Any]]]]:
    stage = {"id": run.stage_id, "session_id": session_id, "stage_name": "triage", "stage_index": 0, "stage_type": "investigation"}
    execution = {
        "id": run.execution_id,
        "session_id": session_id,
        "stage_id": run.stage_id,
        "agent_name": "KubernetesAgent",
        "agent_index": 1,
        "llm_backend": "langchain",
        "llm_provider": "recorded",
        "model_name": "recorded",
        "tool_calling": "native",
    }
    timed = {"started_at": AT, "duration_ms": 700}
    call = {**owner, "id": run.mcp_id, "kind": "tool_call", "server": "kubernetes-server", "tool": "pods_list", "call_id": "c1", **timed}
    return [
        (stages, [{**stage, "expected_agent_count": 1, "started_at": AT, **end}]),
        (agent_executions, [{**execution, "started_at": AT, **end}]),
        (session_figures, [{"session_id": session_id, "agents": 1, "fallbacks": 0}]),
        (timeline_events, [_event(owner, 1, "llm_thinking", "thinking about it"), _event(owner, 2, "final_analysis", "The disk is full.")]),
        (messages, _messages(owner)),
        (llm_interactions, _llm_calls(run, owner)),
        (mcp_interactions, [{**call, "arguments": "{}", "result": {"text": "no pods"}, "is_error": False}]),
    ]


def _event(owner: dict[str, str], number: int, kind: str, content: str) -> dict[str, Any]:
    event = {**owner, "id": str(uuid4()), "sequence_number": number, "position": number, "event_type": kind, "content": content}
    return {**event, "status": "completed", "created_at": AT, "completed_at": AT}


def _messages(owner: dict[str, str]) -> list[dict[str, Any]]:
    of_execution = {"session_id": owner["session_id"], "execution_id": owner["execution_id"], "created_at": AT}
    tool_call = {"id": "c1", "name": "kubernetes-server.pods_list", "arguments": "{}"}
    bodies: list[dict[str, Any]] = [
        {"role": "system", "content": "You are an SRE."},
        {"role": "user", "content": "pod is down"},
        {"role": "assistant", "content": "", "tool_calls": [tool_call]},
        {
            "role": "tool",
            "content": "[shortened]",
            "original_content": "a very long result",
            "compacted_before_turn": 99,
            "tool_call_id": "c1",
            "tool_name": tool_call["name"],
        },
        {"role": "assistant", "content": "The disk is full."},
    ]
    return [{**of_execution, "id": str(uuid4()), "sequence_number": number, **body} for number, body in enumerate(bodies)]


def _llm_calls(run: Run, owner: dict[str, str]) -> list[dict[str, Any]]:
    call = {**owner, "track": "0.triage/1.KubernetesAgent", "provider": "recorded", "model": "recorded", "request_hash": "abc"}
    tokens = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15, "duration_ms": 900, "first_chunk_ms": 100}
    own = {"messages": [{"role": "user", "content": "Summarise this."}]}
    return [
        {
            **call,
            **tokens,
            "id": run.llm_id,
            "kind": "iteration",
            "turn": 1,
            "message_count": 4,
            "request": {"tools": []},
            "started_at": AT,
        },
        {
            **call,
            **tokens,
            "id": run.own_llm_id,
            "kind": "summarization",
            "turn": 2,
            "message_count": 1,
            "request": own,
            "started_at": AT + timedelta(seconds=1),
        },
    ]
