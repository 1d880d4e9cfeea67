"""A step as one SQL statement: in a single round trip its claim is checked, its rows are written, and its events are published.

Rows travel as JSON and become rows again in PostgreSQL. The statement has only the parts that the step writes: each costs PostgreSQL time, also
with nothing to write. All parts see the same snapshot: a step never changes a row that it inserts itself. Every part reads `held`, so that
nothing happens without the claim.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import sqlalchemy as sa

from tarsy.db import notifications, rows
from tarsy.db.outbox import DRAFTS, PUBLISHING, Draft, draft_parameters
from tarsy.db.tables import agent_executions, citations, llm_interactions, mcp_interactions, messages, run_inputs, stages, timeline_events
from tarsy.db.usage import ADD_TO_SESSION_SPENDING, ADD_TO_TOOL_DAYS, ADD_TO_USAGE_DAYS
from tarsy.db.work.release import HELD_CLAIM, claim_parameters
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.status import RUN_TRANSITIONS, RunStatus, sources_of
from tarsy.domain.step import Step
from tarsy.domain.timeline import TimelineEventType
from tarsy.domain.work import WorkState


def _new(table: sa.Table) -> str:
    """Return the rows `r` that a step brings for a table."""
    return f"held, jsonb_populate_recordset(NULL::{table.name}, CAST(:{table.name} AS jsonb)) r"


def _insert(table: sa.Table, source: str = "") -> str:
    names = ", ".join(f'"{column.name}"' for column in table.c)
    return f"INSERT INTO {table.name} ({names}) SELECT {names} FROM {source or _new(table)}"


# Holds the claim and publishes the live events of the step.
_HELD = f"""
    WITH claimed AS ({HELD_CLAIM}),
    unread AS (
        SELECT jsonb_agg(to_jsonb(n) ORDER BY n.number) AS notes
        FROM claimed, notes n WHERE n.session_id = :session_id AND n.number > CAST(:notes_after AS integer)
    ),
    held AS (
        SELECT FROM claimed, unread WHERE notes IS NULL OR NOT CAST(:unless_notes AS boolean)
    ),
    drafts AS (SELECT d.* FROM held, {DRAFTS}),
    {PUBLISHING}"""
# What a step may write, by the name of the value it is written from. Updates only take rows that may still change: the compare side of
# compare-and-set.
_WRITES: Mapping[str, str] = {
    "stages": f"new_stages AS ({_insert(stages)})",
    "agent_executions": f"new_executions AS ({_insert(agent_executions)})",
    "messages": f"new_messages AS ({_insert(messages)})",
    # The position of a timeline event is the id of the live event that announces it; its row brings the place of that event.
    "timeline_events": f"""
    new_events AS (
        INSERT INTO timeline_events (
            id, session_id, stage_id, execution_id, sequence_number, position, event_type, status, content, metadata, created_at, completed_at
        )
        SELECT r.id, r.session_id, r.stage_id, r.execution_id, r.sequence_number, numbered.id, r.event_type, r.status, r.content, r.metadata,
            r.created_at, r.completed_at
        FROM {_new(timeline_events)} JOIN numbered ON numbered.place = r.position
    )""",
    "llm_interactions": f"""
    llm_calls AS (SELECT r.* FROM {_new(llm_interactions)}),
    new_llm_calls AS ({_insert(llm_interactions, "llm_calls")}),
    usage_sums AS ({ADD_TO_USAGE_DAYS}),
    spending_sums AS ({ADD_TO_SESSION_SPENDING})""",
    "mcp_interactions": f"""
    mcp_calls AS (SELECT r.* FROM {_new(mcp_interactions)}),
    new_mcp_calls AS ({_insert(mcp_interactions, "mcp_calls")}),
    tool_sums AS ({ADD_TO_TOOL_DAYS})""",
    "citations": f"new_citations AS ({_insert(citations)})",
    # A run that is continued brings the inputs again that it replays.
    "run_inputs": f"new_inputs AS ({_insert(run_inputs)} ON CONFLICT DO NOTHING)",
    "compacted": """
    compacted_messages AS (
        UPDATE messages m
        SET content = c.content, original_content = coalesce(m.original_content, m.content),
            compacted_before_turn = coalesce(m.compacted_before_turn, c.before_turn)
        FROM held, jsonb_to_recordset(CAST(:compacted AS jsonb)) AS c(id uuid, content text, before_turn integer)
        WHERE m.id = c.id
    )""",
    "closed": """
    closed_events AS (
        UPDATE timeline_events t
        SET status = c.status, content = c.content, completed_at = c.completed_at,
            metadata = t.metadata || c.metadata, event_type = coalesce(c.event_type, t.event_type)
        FROM held, jsonb_to_recordset(CAST(:closed AS jsonb))
            AS c(id uuid, status text, content text, completed_at timestamptz, metadata jsonb, event_type text)
        WHERE t.id = c.id AND t.completed_at IS NULL
    )""",
    "execution_changes": """
    changed_executions AS (
        UPDATE agent_executions e
        SET status = coalesce(c.status, e.status), error_message = coalesce(c.error_message, e.error_message),
            llm_provider = coalesce(c.llm_provider, e.llm_provider), llm_backend = coalesce(c.llm_backend, e.llm_backend),
            model_name = coalesce(c.model_name, e.model_name),
            started_at = coalesce(c.started_at, e.started_at), completed_at = coalesce(c.completed_at, e.completed_at)
        FROM held, jsonb_to_recordset(CAST(:execution_changes AS jsonb)) AS c(
            id uuid, status text, error_message text, llm_provider text, llm_backend text, model_name text,
            started_at timestamptz, completed_at timestamptz, sources jsonb
        )
        WHERE e.id = c.id AND (c.status IS NULL OR c.sources ? e.status)
    )""",
    "stage_closes": """
    closed_stages AS (
        UPDATE stages s SET status = c.status, error_message = c.error_message, completed_at = c.completed_at
        FROM held, jsonb_to_recordset(CAST(:stage_closes AS jsonb))
            AS c(id uuid, status text, error_message text, completed_at timestamptz, sources jsonb)
        WHERE s.id = c.id AND c.sources ? s.status
    )""",
    "stage_id": """
    question_stage AS (UPDATE chat_user_messages q SET stage_id = :stage_id FROM held WHERE q.id = :subject_id),
    score_stage AS (UPDATE session_scores q SET stage_id = :stage_id FROM held WHERE q.id = :subject_id)""",
    "runbook": "session_runbook AS (UPDATE alert_sessions s SET runbook = :runbook FROM held WHERE s.id = :session_id)",
    "conclusion": """
    session_conclusion AS (
        UPDATE alert_sessions s
        SET final_analysis = c.final_analysis, analysis_is_partial = c.analysis_is_partial, analysis_partial_reason = c.analysis_partial_reason,
            citations = c.citations, verdict = c.verdict, verdict_outcome = c.verdict_outcome, verdict_confidence = c.verdict_confidence,
            verdict_object = c.verdict_object, verdict_search = to_tsvector('simple', c.verdict_words)
        FROM held, jsonb_to_recordset(CAST(:conclusion AS jsonb)) AS c(
            final_analysis text, analysis_is_partial boolean, analysis_partial_reason text, citations jsonb, verdict jsonb,
            verdict_outcome text, verdict_confidence text, verdict_object text, verdict_words text
        )
        WHERE s.id = :session_id
    )""",
    "is_done": f"""
    work_done AS (
        UPDATE work w
        SET state = '{WorkState.DONE}', claim_token = NULL, claimed_by = NULL, claimed_at = NULL, heartbeat_at = NULL
        FROM held WHERE w.id = :claim_id
    )""",
    "figures": """
    figures AS (
        INSERT INTO session_figures AS f (session_id, agents, fallbacks)
        SELECT CAST(:session_id AS uuid), CAST(:agents AS integer), CAST(:fallbacks AS integer) FROM held
        ON CONFLICT (session_id) DO UPDATE SET agents = f.agents + excluded.agents, fallbacks = f.fallbacks + excluded.fallbacks
    )""",
    "settled": "settled AS (DELETE FROM reservations d USING held WHERE d.id = ANY(CAST(:settled AS uuid[])))",
}
# Work that was held back by work that is done may begin.
_RESULT = """
    SELECT a.id, a.sent, unread.notes, CASE WHEN CAST(:is_done AS boolean) THEN pg_notify(:work_notification, :work_kind) END AS notified
    FROM claimed CROSS JOIN unread LEFT JOIN announced a ON true ORDER BY a.place"""


@cache
def _statement(writes: Iterable[str]) -> sa.TextClause:
    return sa.text(f"{', '.join([_HELD, *(_WRITES[name] for name in writes)])} {_RESULT}")


def step_statement(step: Step, drafts: Sequence[Draft]) -> tuple[sa.TextClause, dict[str, Any]]:
    """Return the statement that writes `step` and publishes `drafts`, and its parameters.

    The statement returns the id of each draft, or one row without an id if there are none; no row if the claim was lost. Each row has
    the notes after `step.notes_after`. With `step.unless_notes` it writes nothing if there are any.
    """
    step = _merge_changes_of_new_rows(step)
    session = step.session_id
    places = {draft.payload["event"]["id"]: place for place, draft in enumerate(drafts, 1) if "event" in draft.payload}
    values: dict[str, list[rows.NewRow]] = {
        "stages": [rows.columns(stage) for stage in step.stages],
        "agent_executions": [rows.columns(execution) for execution in step.executions],
        "messages": [rows.message_row(message, session) for message in step.messages],
        "timeline_events": [{**rows.columns(event), "position": places[event.id]} for event in step.opened],
        "llm_interactions": [rows.llm_interaction_row(interaction) for interaction in step.llm_interactions],
        "mcp_interactions": [rows.columns(interaction) for interaction in step.mcp_interactions],
        "citations": [rows.citation_row(citation, session) for citation in step.citations],
        "run_inputs": [rows.input_row(given, session) for given in step.inputs],
        "compacted": [{"id": one.message_id, "content": one.content, "before_turn": one.before_turn} for one in step.compacted],
        "closed": [{**rows.columns(close), "id": close.event_id} for close in step.closed],
        "execution_changes": _execution_changes(step),
        "conclusion": [rows.conclusion_row(step.conclusion)] if step.conclusion else [],
        "stage_closes": [{**rows.columns(close), "id": close.stage_id, "sources": _sources(close.status)} for close in step.stage_closes],
    }
    settled = [interaction.settles for interaction in step.llm_interactions if interaction.settles]
    # The agents that answer questions or score did not work on the session.
    agents = len(step.executions) if step.claim.kind == INVESTIGATION else 0
    fallbacks = sum(event.event_type is TimelineEventType.PROVIDER_FALLBACK for event in step.opened)
    parameters = {
        **{name: rows.json_text(value) if value else None for name, value in values.items()},
        **draft_parameters(drafts),
        **claim_parameters(step.claim),
        "session_id": session,
        "subject_id": step.claim.subject_id,
        # The stage of a question or a score is its answer.
        "stage_id": step.stages[0].id if step.stages and step.claim.kind != INVESTIGATION else None,
        "runbook": None if step.runbook is None else rows.storable(step.runbook),
        "notes_after": step.notes_after,
        "unless_notes": step.unless_notes,
        "is_done": bool(step.session_close or step.work_close),
        "work_notification": notifications.WORK,
        "work_kind": step.claim.kind,
        "settled": settled or None,
        "figures": agents + fallbacks or None,
        "agents": agents,
        "fallbacks": fallbacks,
    }
    return _statement(tuple(name for name in _WRITES if parameters[name] not in (None, False))), parameters


def _merge_changes_of_new_rows(step: Step) -> Step:
    """Return the step with each row that it both inserts and changes as a new row in its final form."""
    closes = {close.event_id: close for close in step.closed}
    opened = tuple(closes.pop(event.id).of(event) if event.id in closes else event for event in step.opened)
    new = {execution.id: execution for execution in step.executions}
    changes = [change for change in step.execution_changes if change.execution_id not in new]
    for change in step.execution_changes:
        if change.execution_id in new:
            new[change.execution_id] = change.of(new[change.execution_id])
    return replace(step, opened=opened, closed=tuple(closes.values()), executions=tuple(new.values()), execution_changes=tuple(changes))


def _execution_changes(step: Step) -> list[rows.NewRow]:
    """Return one change for each execution: from where the first of its moves starts to where the last one leads."""
    combined: dict[str, rows.NewRow] = {}
    for change in step.execution_changes:
        row = combined.setdefault(change.execution_id, {"id": change.execution_id, "sources": []})
        if change.status and not row["sources"]:
            row["sources"] = _sources(change.status)
        row |= change.new_values
    return list(combined.values())


def _sources(target: RunStatus) -> Iterable[str]:
    return [source.value for source in sources_of(target, RUN_TRANSITIONS)]
