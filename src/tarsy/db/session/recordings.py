"""Reads a finished session back as a recording."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db.connection import snapshot
from tarsy.db.rows import Row, placed_input_of, session_of
from tarsy.db.skill_texts import SkillTextRepository
from tarsy.db.tables import (
    agent_executions,
    alert_sessions,
    chat_user_messages,
    llm_interactions,
    mcp_interactions,
    messages,
    run_inputs,
    stages,
    timeline_events,
)
from tarsy.domain.interaction import LLMInteractionKind
from tarsy.domain.recording import (
    RecordedAlert,
    RecordedCall,
    RecordedCatalog,
    RecordedChunk,
    RecordedInput,
    RecordedOutcome,
    RecordedTool,
    Recording,
    sub_track_of,
    track_of,
)
from tarsy.domain.session import AlertSession
from tarsy.domain.status import TimelineStatus
from tarsy.domain.tool import ToolDefinition, ToolName
from tarsy.domain.verdict import judged_fields

# Measured anew in every run.
_VOLATILE = frozenset({"duration_ms"})
# Of a message, where it has them.
_TOOL_FIELDS = ("tool_calls", "tool_call_id", "tool_name")
_OF_THE_CONVERSATION = frozenset({LLMInteractionKind.ITERATION, LLMInteractionKind.FORCED_CONCLUSION})


class RecordingSource:
    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def read(self, session_id: str) -> Recording | None:
        """Return the recording of a session, or None if there is no such session."""
        # All of it at one moment: an agent may begin meanwhile.
        async with snapshot(self._engine).connect() as connection:
            row = (await connection.execute(sa.select(alert_sessions).where(alert_sessions.c.id == session_id))).mappings().first()
            if row is None:
                return None
            session = session_of(row)
            tracks = await _tracks(connection, session_id)
            tool_rows = await _rows(connection, mcp_interactions, session_id, mcp_interactions.c.started_at)
            questions = await _rows(connection, chat_user_messages, session_id, chat_user_messages.c.created_at)
            skills = session.chain_snapshot.get("skills", {}).values()
            hashes = {hashed for skill in skills for hashed in skill["files"].values()}
            recording = Recording(
                # The version of the format that is written now.
                tarsy_recording=5,
                title=f"Session {session_id}",
                alert=_alert(session),
                chain=dict(session.chain_snapshot),
                calls=_calls(await _rows(connection, llm_interactions, session_id, llm_interactions.c.started_at), questions),
                catalogs=_catalogs(tool_rows, tracks, await _warnings(connection, session_id)),
                tools=tuple(_tool(call, tracks[call["execution_id"]]) for call in tool_rows if call["kind"] == "tool_call"),
                inputs=await _inputs(connection, session_id),
                questions=tuple(question["content"] for question in questions),
                outcome=await _outcome(connection, session, tracks),
            )
        # Not with the connection held: readers that each wait for a second one would hold all of the pool.
        return recording.model_copy(update={"skills": await SkillTextRepository(self._engine).read(hashes)})


async def _rows(connection: AsyncConnection, table: sa.Table, session_id: str, order: sa.ColumnElement[Any]) -> Sequence[Row]:
    return (await connection.execute(sa.select(table).where(table.c.session_id == session_id).order_by(order))).mappings().all()


async def _tracks(connection: AsyncConnection, session_id: str) -> Mapping[str, str]:
    query = (
        sa.select(agent_executions, stages.c.stage_index, stages.c.stage_name)
        .join(stages, stages.c.id == agent_executions.c.stage_id)
        .where(agent_executions.c.session_id == session_id)
    )
    executions = {row.id: row for row in await connection.execute(query)}

    def track(execution_id: str) -> str:
        row = executions[execution_id]
        if row.parent_execution_id is None:
            return track_of(row.stage_index, row.stage_name, row.agent_index, row.agent_name)
        return sub_track_of(track(row.parent_execution_id), row.agent_index, row.agent_name)

    return {execution_id: track(execution_id) for execution_id in executions}


async def _inputs(connection: AsyncConnection, session_id: str) -> tuple[RecordedInput, ...]:
    found = await _rows(connection, run_inputs, session_id, run_inputs.c.turn)
    given = [RecordedInput.of(placed_input_of(row)) for row in found]
    return tuple(sorted(given, key=lambda one: (one.track, one.turn, one.kind, one.name)))


async def _warnings(connection: AsyncConnection, session_id: str) -> Mapping[str, tuple[str, ...]]:
    """Return the warnings about missing servers by execution."""
    warnings: dict[str, tuple[str, ...]] = {}
    for row in await _rows(connection, timeline_events, session_id, timeline_events.c.position):
        if row["event_type"] == "warning" and row["execution_id"] and "code" not in row["metadata"]:
            warnings[row["execution_id"]] = (*warnings.get(row["execution_id"], ()), row["content"])
    return warnings


def _alert(session: AlertSession) -> RecordedAlert:
    return RecordedAlert(
        alert_type=session.alert_type,
        data=session.alert_data,
        runbook_url=session.runbook_url,
        runbook=session.runbook,
        author=session.author,
        nonce=session.nonce,
        created_at=session.received_at.isoformat(),
    )


def _calls(rows: Sequence[Row], questions: Sequence[Row]) -> tuple[RecordedCall, ...]:
    asked = {question["stage_id"]: question["content"] for question in questions}
    # A summary of a tool's result is made without the question.
    return tuple(_call(row, asked.get(row["stage_id"]) if row["kind"] in _OF_THE_CONVERSATION else None) for row in rows)


def _call(row: Row, question: str | None) -> RecordedCall:
    chunks = tuple(RecordedChunk.model_validate(chunk) for chunk in _body(row, "response").get("chunks", ()))
    return RecordedCall(track=row["track"], turn=row["turn"], question=question, request_hash=row["request_hash"], chunks=chunks)


def _tool(row: Row, track: str) -> RecordedTool:
    result = _body(row, "result")
    return RecordedTool(
        track=track,
        call_id=row["call_id"] or "",
        name=str(ToolName(row["server"], row["tool"] or "")),
        arguments=row["arguments"] or "",
        content=result.get("content", ""),
        is_error=row["is_error"],
        is_timeout=result.get("is_timeout", False),
        duration_ms=row["duration_ms"],
    )


def _catalogs(tool_rows: Sequence[Row], tracks: Mapping[str, str], warnings: Mapping[str, tuple[str, ...]]) -> tuple[RecordedCatalog, ...]:
    tools: dict[str, dict[str, ToolDefinition]] = {}
    for row in tool_rows:
        if row["kind"] == "tool_list":
            of_execution = tools.setdefault(row["execution_id"], {})
            for tool in _body(row, "result").get("tools", ()):
                # A worker that continues an execution asks its servers again.
                of_execution.setdefault(tool["name"], ToolDefinition(**tool))
    return tuple(
        RecordedCatalog(track=tracks[execution_id], tools=tuple(definitions.values()), warnings=warnings.get(execution_id, ()))
        for execution_id, definitions in tools.items()
    )


def _body(row: Row, name: str) -> Mapping[str, Any]:
    return row[name] or {}


async def _outcome(connection: AsyncConnection, session: AlertSession, tracks: Mapping[str, str]) -> RecordedOutcome:
    conversations: dict[str, list[Mapping[str, Any]]] = {}
    for row in await _rows(connection, messages, session.id, messages.c.sequence_number):
        conversations.setdefault(tracks[row["execution_id"]], []).append(
            {"role": row["role"], "content": row["content"]} | {name: row[name] for name in _TOOL_FIELDS if row[name]}
        )
    events = await _rows(connection, timeline_events, session.id, timeline_events.c.sequence_number)
    timeline = [_event(row, tracks) for row in events if row["status"] != TimelineStatus.INTERRUPTED]
    return RecordedOutcome(
        status=session.status.value,
        final_analysis=session.final_analysis,
        executive_summary=session.executive_summary,
        verdict=judged_fields(session.verdict) if session.verdict else None,
        citations=asdict(session.citations) if session.citations else None,
        conversations={track: tuple(messages) for track, messages in sorted(conversations.items())},
        # Agents that ran at the same time are ordered one after the other, because their real order is arbitrary.
        timeline=tuple(sorted(timeline, key=lambda event: event["track"])),
    )


def _event(row: Row, tracks: Mapping[str, str]) -> Mapping[str, Any]:
    return {
        "track": tracks.get(row["execution_id"], ""),
        "event_type": row["event_type"],
        "status": row["status"],
        "content": row["content"],
        "metadata": {name: value for name, value in sorted(row["metadata"].items()) if name not in _VOLATILE},
    }
