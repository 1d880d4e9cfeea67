"""Pure module: a step as one SQL statement. Whatever a step holds is written, and announced, in a single round trip.

Rows travel as JSON and become rows again in PostgreSQL. The parts of a statement see the same snapshot: a step never changes a row
that it inserts itself.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import orjson
import sqlalchemy as sa

from tarsy.db import rows
from tarsy.db.outbox import EVENTS_NOTIFICATION, notification
from tarsy.db.storable import storable, storable_json
from tarsy.db.tables import agent_executions, llm_interactions, mcp_interactions, messages, stages, timeline_events
from tarsy.domain.execution import ExecutionChange
from tarsy.domain.live import StoredLiveEvent
from tarsy.domain.stage import StageClose
from tarsy.domain.status import RUN_MOVES, RunStatus
from tarsy.domain.step import Step
from tarsy.domain.timeline import TimelineClose

Row = Mapping[str, Any]


def _insert(table: sa.Table) -> str:
    columns = ", ".join(column.name for column in table.c)
    parameter = f"CAST(:new_{table.name} AS jsonb)"
    return f"INSERT INTO {table.name} ({columns}) SELECT {columns} FROM jsonb_populate_recordset(NULL::{table.name}, {parameter})"  # noqa: S608 - names from our own tables


# Parts by name. An update takes only rows that may still move: the compare side of compare-and-set.
_PARTS: Mapping[str, str] = {
    **{f"new_{table.name}": _insert(table) for table in (stages, agent_executions, messages, timeline_events)},
    **{f"new_{table.name}": _insert(table) for table in (llm_interactions, mcp_interactions)},
    "compacted": """
        UPDATE messages m
        SET content = c.content, original_content = coalesce(m.original_content, m.content),
            compacted_before_turn = coalesce(m.compacted_before_turn, c.before_turn)
        FROM jsonb_to_recordset(CAST(:compacted AS jsonb)) AS c(id uuid, content text, before_turn integer) WHERE m.id = c.id""",
    "closed": """
        UPDATE timeline_events t
        SET status = c.status, content = c.content, completed_at = c.completed_at,
            metadata = t.metadata || c.metadata, event_type = coalesce(c.event_type, t.event_type)
        FROM jsonb_to_recordset(CAST(:closed AS jsonb))
            AS c(id uuid, status text, content text, completed_at timestamptz, metadata jsonb, event_type text)
        WHERE t.id = c.id AND t.status = 'streaming'""",
    "execution_changes": """
        UPDATE agent_executions e
        SET status = coalesce(c.status, e.status), error_message = coalesce(c.error_message, e.error_message),
            llm_provider = coalesce(c.llm_provider, e.llm_provider), llm_backend = coalesce(c.llm_backend, e.llm_backend),
            model_name = coalesce(c.model_name, e.model_name),
            started_at = coalesce(c.started_at, e.started_at), completed_at = coalesce(c.completed_at, e.completed_at)
        FROM jsonb_to_recordset(CAST(:execution_changes AS jsonb))
            AS c(id uuid, status text, error_message text, llm_provider text, llm_backend text, model_name text,
                 started_at timestamptz, completed_at timestamptz, sources jsonb)
        WHERE e.id = c.id AND (c.status IS NULL OR c.sources ? e.status)""",
    "stage_closes": """
        UPDATE stages s SET status = c.status, error_message = c.error_message, completed_at = c.completed_at
        FROM jsonb_to_recordset(CAST(:stage_closes AS jsonb))
            AS c(id uuid, status text, error_message text, completed_at timestamptz, sources jsonb)
        WHERE s.id = c.id AND c.sources ? s.status""",
    "events": """
        INSERT INTO events (channel, id, session_id, payload)
        SELECT e.channel, e.id, CAST(:session_id AS uuid), e.payload
        FROM jsonb_to_recordset(CAST(:events AS jsonb)) AS e(channel text, id bigint, payload jsonb)""",
}

_ANNOUNCE = "SELECT pg_notify(:notification, n.payload) FROM unnest(CAST(:payloads AS text[])) WITH ORDINALITY AS n(payload, place) ORDER BY n.place"


def statement_for(step: Step, events: Sequence[StoredLiveEvent]) -> tuple[sa.TextClause, dict[str, Any]]:
    """The statement that writes `step` and announces `events` (what of it a person should see), and its parameters."""
    parts = {name: values for name, values in _values(step, events).items() if values}
    parameters: dict[str, Any] = {name: orjson.dumps(values).decode() for name, values in parts.items()}
    if events:
        parameters["session_id"] = step.session_id
    parameters |= {"notification": EVENTS_NOTIFICATION, "payloads": [notification(event) for event in events]}
    return _statement(tuple(parts)), parameters


@cache
def _statement(names: tuple[str, ...]) -> sa.TextClause:
    """Cached: the few shapes that steps have are prepared once per connection."""
    parts = ",\n".join(f"part_{name} AS ({_PARTS[name]})" for name in names)
    return sa.text(f"WITH {parts}\n{_ANNOUNCE}" if names else _ANNOUNCE)


def _values(step: Step, events: Sequence[StoredLiveEvent]) -> Mapping[str, Sequence[Row]]:
    return {
        "new_stages": [rows.stage_row(stage) for stage in step.stages],
        "new_agent_executions": [rows.execution_row(execution) for execution in step.executions],
        "new_messages": [rows.message_row(message, step.session_id) for message in step.messages],
        "new_timeline_events": [rows.timeline_row(event) for event in step.opened],
        "new_llm_interactions": [rows.llm_interaction_row(interaction) for interaction in step.llm_interactions],
        "new_mcp_interactions": [rows.mcp_interaction_row(interaction) for interaction in step.mcp_interactions],
        "compacted": [{"id": one.message_id, "content": storable(one.content), "before_turn": one.before_turn} for one in step.compacted],
        "closed": [_closed(close) for close in step.closed],
        "execution_changes": [_changed(change) for change in step.execution_changes],
        "stage_closes": [_stage_closed(close) for close in step.stage_closes],
        "events": [{"channel": event.channel, "id": event.id, "payload": event.payload} for event in events],
    }


def _closed(close: TimelineClose) -> Row:
    return {
        "id": close.event_id,
        "status": close.status.value,
        "content": storable(close.content),
        "completed_at": close.completed_at,
        "metadata": storable_json(close.metadata),
        "event_type": close.event_type.value if close.event_type else None,
    }


def _changed(change: ExecutionChange) -> Row:
    begins = change.status is RunStatus.ACTIVE
    return {
        "id": change.execution_id,
        "status": change.status.value if change.status else None,
        "error_message": storable(change.error_message) if change.error_message else None,
        "llm_provider": change.llm_provider,
        "llm_backend": change.llm_backend,
        "model_name": change.model_name,
        "started_at": change.at if begins else None,
        "completed_at": change.at if change.status and not begins else None,
        "sources": _sources(change.status) if change.status else [],
    }


def _stage_closed(close: StageClose) -> Row:
    return {
        "id": close.stage_id,
        "status": close.status.value,
        "error_message": storable(close.error_message) if close.error_message else None,
        "completed_at": close.completed_at,
        "sources": _sources(close.status),
    }


def _sources(target: RunStatus) -> list[str]:
    return [source.value for source, targets in RUN_MOVES.items() if target in targets]
