"""Pure module: a step as one SQL statement. Its claim is held, and whatever it brings is written and announced, in a single round trip.

Rows travel as JSON and become rows again in PostgreSQL. The parts of a statement see the same snapshot: a step never changes a row
that it inserts itself. Every part reads `held`, so that nothing at all happens under a claim that was lost.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import cache
from typing import Any

import sqlalchemy as sa

from tarsy.db import notifications, rows
from tarsy.db.driver import Statement
from tarsy.db.outbox import DRAFTS, PUBLISHING, Draft, publishing_parameters
from tarsy.db.rows import json_text, storable
from tarsy.db.tables import agent_executions, citations, llm_interactions, mcp_interactions, messages, run_inputs, stages, timeline_events
from tarsy.db.usage import model_sums, session_sums, tool_sums
from tarsy.db.work.release import DONE
from tarsy.db.work.subjects import SUBJECTS
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.execution import ExecutionChange
from tarsy.domain.stage import StageClose
from tarsy.domain.status import RUN_MOVES, RunStatus, sources_of
from tarsy.domain.step import Compacted, Step
from tarsy.domain.timeline import TimelineClose, TimelineEvent, TimelineEventType


def _insert(table: sa.Table, source: str = "", **computed: str) -> str:
    columns = ", ".join(f'"{column.name}"' for column in table.c)
    values = ", ".join(computed.get(column.name, f'r."{column.name}"') for column in table.c)
    return f"INSERT INTO {table.name} ({columns}) SELECT {values} FROM {source or _brought(table)}"  # noqa: S608 - names from our own tables


def _brought(table: sa.Table) -> str:
    """The rows that a step brings for a table. They are its session's, all of them: saying so tells PostgreSQL that they are few."""
    return f"held JOIN jsonb_populate_recordset(NULL::{table.name}, CAST(:new_{table.name} AS jsonb)) r ON r.session_id = :session_id"


def _given(name: str, columns: str) -> str:
    """What a step changes, by the name of its part; as with `_brought`, the few of its session."""
    return f"held JOIN jsonb_to_recordset(CAST(:{name} AS jsonb)) AS c(session_id uuid, {columns}) ON c.session_id = :session_id"


# A timeline event's position is the id of the live event that announces it; the row brings that one's place among the drafts.
_POSITION = "(SELECT t.id FROM told t WHERE t.place = r.position)"

_OF_EXECUTION = (
    "id uuid, status text, error_message text, llm_provider text, llm_backend text, model_name text, "
    "started_at timestamptz, completed_at timestamptz, sources jsonb"
)

# Parts by name. An update takes only rows that may still move: the compare side of compare-and-set.
_PARTS: Mapping[str, str] = {
    **{f"new_{table.name}": _insert(table) for table in (stages, agent_executions, messages)},
    # Read once for the rows and for the sums: they hold what a model or a tool has said.
    **{f"read_{table.name}": f"SELECT r.* FROM {_brought(table)}" for table in (llm_interactions, mcp_interactions)},  # noqa: S608 - see above
    **{f"new_{table.name}": _insert(table, source=f"part_read_{table.name} r") for table in (llm_interactions, mcp_interactions)},
    "new_timeline_events": _insert(timeline_events, position=_POSITION),
    "new_citations": _insert(citations),
    # A run that is continued brings the inputs again that it was played.
    "new_run_inputs": f"{_insert(run_inputs)} ON CONFLICT DO NOTHING",
    "compacted": f"""
        UPDATE messages m
        SET content = c.content, original_content = coalesce(m.original_content, m.content),
            compacted_before_turn = coalesce(m.compacted_before_turn, c.before_turn)
        FROM {_given("compacted", "id uuid, content text, before_turn integer")} WHERE m.id = c.id""",  # noqa: S608 - our own words
    "closed": f"""
        UPDATE timeline_events t
        SET status = c.status, content = c.content, completed_at = c.completed_at,
            metadata = t.metadata || c.metadata, event_type = coalesce(c.event_type, t.event_type)
        FROM {_given("closed", "id uuid, status text, content text, completed_at timestamptz, metadata jsonb, event_type text")}
        WHERE t.id = c.id AND t.completed_at IS NULL""",  # noqa: S608 - our own words
    "execution_changes": f"""
        UPDATE agent_executions e
        SET status = coalesce(c.status, e.status), error_message = coalesce(c.error_message, e.error_message),
            llm_provider = coalesce(c.llm_provider, e.llm_provider), llm_backend = coalesce(c.llm_backend, e.llm_backend),
            model_name = coalesce(c.model_name, e.model_name),
            started_at = coalesce(c.started_at, e.started_at), completed_at = coalesce(c.completed_at, e.completed_at)
        FROM {_given("execution_changes", _OF_EXECUTION)} WHERE e.id = c.id AND (c.status IS NULL OR c.sources ? e.status)""",  # noqa: S608 - our own words
    "stage_closes": f"""
        UPDATE stages s SET status = c.status, error_message = c.error_message, completed_at = c.completed_at
        FROM {_given("stage_closes", "id uuid, status text, error_message text, completed_at timestamptz, sources jsonb")}
        WHERE s.id = c.id AND c.sources ? s.status""",  # noqa: S608 - our own words
    "model_sums": model_sums("part_read_llm_interactions r"),
    "session_sums": session_sums("part_read_llm_interactions r"),
    "tool_sums": tool_sums("part_read_mcp_interactions r"),
    "figures": f"""
        INSERT INTO session_figures AS f (session_id, agents, fallbacks)
        SELECT c.session_id, c.agents, c.fallbacks FROM {_given("figures", "agents integer, fallbacks integer")}
        ON CONFLICT (session_id) DO UPDATE SET agents = f.agents + excluded.agents, fallbacks = f.fallbacks + excluded.fallbacks""",  # noqa: S608 - our own words
    "work_done": f"UPDATE work w SET {DONE} FROM held WHERE w.id = :claim_id AND w.claim_token = :token",  # noqa: S608 - see above
    "settled": "DELETE FROM reservations d USING held WHERE d.id = ANY(CAST(:settled AS uuid[]))",
    "runbook": "UPDATE alert_sessions SET runbook = :runbook FROM held WHERE id = :session_id",
    **{
        f"stage_of_{kind}": f"UPDATE {subject.door.table.name} SET stage_id = :stage_id FROM held WHERE id = :subject_id"  # noqa: S608 - see above
        for kind, subject in SUBJECTS.items()
        if "stage_id" in subject.door.table.c
    },
}


class _Reading(Enum):
    """What a step wants with the notes that its writer does not know of: to learn of them, or to be written only without them."""

    UNREAD = auto()
    UNLESS_UNREAD = auto()


@dataclass(frozen=True, slots=True)
class Ending:
    """The update that ends the noun of a step's work, and its values. It reads `claimed`, and takes no row that must be ended otherwise."""

    update: str
    values: Mapping[str, Any]


_UNREAD = """
        SELECT jsonb_agg(to_jsonb(n) ORDER BY n.number) AS notes
        FROM claimed, notes n WHERE n.session_id = :session_id AND n.number > :notes_after"""


def statement_for(step: Step, drafts: Sequence[Draft], ending: Ending | None = None) -> tuple[Statement, dict[str, Any]]:
    """The statement that writes `step` and announces `drafts` (what of it a person should see), and its parameters.

    It answers with the id of each draft, with a single 0 if there are none, and with nothing if the claim was lost; beside them with
    the notes that the step's writer does not know of, if it asks for them. With an `ending`, it also answers with nothing, and writes
    nothing, if the work was asked to stop or its noun cannot be ended so.
    """
    step = _written_once(step)
    parts = _values(step, drafts)
    parameters: dict[str, Any] = {name: json_text(values) for name, values in parts.items()}
    parameters |= {"claim_id": step.claim.id, "token": step.claim.token, "session_id": step.session_id}
    if drafts:
        parameters |= publishing_parameters(drafts)
    notes = _notes(step)
    for values in notes.values():
        parameters |= values
    reading = None
    if step.notes_after is not None:
        parameters["notes_after"] = step.notes_after
        reading = _Reading.UNLESS_UNREAD if step.unless_notes else _Reading.UNREAD
    names = (*_read(step), *parts, *_sums(step), *notes)
    if ending:
        return _statement(names, announces=bool(drafts), ending=ending.update), {**parameters, **ending.values}
    return _statement(names, announces=bool(drafts), reading=reading), parameters


def _written_once(step: Step) -> Step:
    """The step with every row that it both brings and changes as one that is new as it is in the end."""
    step = _with_ends(step) if step.opened and step.closed else step
    return _with_moves(step) if step.executions and step.execution_changes else step


def _with_ends(step: Step) -> Step:
    ends = {close.event_id: close for close in step.closed}
    opened = tuple(ends.pop(event.id).of(event) if event.id in ends else event for event in step.opened)
    return replace(step, opened=opened, closed=tuple(ends.values()))


def _with_moves(step: Step) -> Step:
    new = {execution.id: execution for execution in step.executions}
    for change in step.execution_changes:
        if change.execution_id in new:
            new[change.execution_id] = change.of(new[change.execution_id])
    changes = tuple(change for change in step.execution_changes if change.execution_id not in new)
    return replace(step, executions=tuple(new.values()), execution_changes=changes)


def _read(step: Step) -> tuple[str, ...]:
    """The parts that others read."""
    return (
        *(("read_llm_interactions",) if step.llm_interactions else ()),
        *(("read_mcp_interactions",) if step.mcp_interactions else ()),
    )


def _sums(step: Step) -> tuple[str, ...]:
    """The parts that add to sums what other parts bring."""
    return (*(("model_sums", "session_sums") if step.llm_interactions else ()), *(("tool_sums",) if step.mcp_interactions else ()))


@cache
def _statement(names: tuple[str, ...], *, announces: bool, reading: _Reading | None = None, ending: str = "") -> Statement:
    """Cached: the few shapes that steps have are prepared once per connection."""
    parts = _ended(ending) if ending else _held(reading)
    if announces:
        parts += [f"drafts AS (SELECT d.* FROM held JOIN {DRAFTS} ON d.session_id = :session_id)", PUBLISHING]  # noqa: S608 - see above
    parts += [f"part_{name} AS ({_PARTS[name]})" for name in names]
    answers = "a.id, a.sent" if announces else "0 AS id"
    answers += ", (SELECT notes FROM unread) AS notes" if reading else ""
    # What was held back by this work may begin.
    answers += ", pg_notify(:work_signal, :work_kind) AS signalled" if "work_done" in names else ""
    announced = " LEFT JOIN announced a ON true ORDER BY a.place" if announces else ""
    source = "held" if ending else "claimed"
    return Statement("WITH " + ",\n".join(parts) + f"\nSELECT {answers} FROM {source}{announced}")


def _held(reading: _Reading | None) -> list[str]:
    """The claim, and whether the step is written under it."""
    condition = ", unread WHERE notes IS NULL" if reading is _Reading.UNLESS_UNREAD else ""
    return [
        "claimed AS (SELECT FROM work WHERE id = :claim_id AND claim_token = :token FOR SHARE)",
        *([f"unread AS ({_UNREAD})"] if reading else []),
        f"held AS (SELECT FROM claimed{condition})",
    ]


def _ended(update: str) -> list[str]:
    """The claim, and the end of its noun. All else reads `held`, and so waits for it: indexing a long analysis takes time, and the shared channel is every session's."""
    return [
        "claimed AS (SELECT FROM work WHERE id = :claim_id AND claim_token = :token AND NOT cancel_requested FOR UPDATE)",
        f"ended AS ({update} RETURNING id)",
        "held AS (SELECT FROM claimed, ended)",
    ]


def _compacted(change: Compacted) -> rows.NewRow:
    return {"id": change.message_id, "content": change.content, "before_turn": change.before_turn}


def _closed(close: TimelineClose) -> rows.NewRow:
    return {
        "id": close.event_id,
        "status": close.status.value,
        "content": close.content,
        "completed_at": close.completed_at,
        "metadata": close.metadata,
        "event_type": close.event_type.value if close.event_type else None,
    }


def _changed(change: ExecutionChange) -> rows.NewRow:
    return {
        "id": change.execution_id,
        "status": change.status.value if change.status else None,
        "error_message": change.error_message,
        "llm_provider": change.llm_provider,
        "llm_backend": change.llm_backend,
        "model_name": change.model_name,
        "started_at": change.started_at,
        "completed_at": change.completed_at,
        "sources": _sources(change.status) if change.status else [],
    }


def _stage_closed(close: StageClose) -> rows.NewRow:
    return {
        "id": close.stage_id,
        "status": close.status.value,
        "error_message": close.error_message,
        "completed_at": close.completed_at,
        "sources": _sources(close.status),
    }


def _sources(target: RunStatus) -> list[str]:
    return [source.value for source in sources_of(target, RUN_MOVES)]


_Row = Callable[[Any, str], rows.NewRow]


def _whole(made: Callable[[Any], rows.NewRow]) -> _Row:
    """A row of a value that knows its session."""
    return lambda value, _session: made(value)


def _change(made: Callable[[Any], rows.NewRow]) -> _Row:
    """A change of a row, beside the session that it belongs to."""
    return lambda value, session: {"session_id": session, **made(value)}


# What becomes of the values that a step brings: its field, and the row of each.
_ROWS: Mapping[str, tuple[str, _Row]] = {
    "new_stages": ("stages", _whole(rows.stage_row)),
    "new_agent_executions": ("executions", _whole(rows.execution_row)),
    "new_messages": ("messages", rows.message_row),
    "new_llm_interactions": ("llm_interactions", _whole(rows.llm_interaction_row)),
    "new_mcp_interactions": ("mcp_interactions", _whole(rows.mcp_interaction_row)),
    "new_citations": ("citations", rows.citation_row),
    "new_run_inputs": ("inputs", rows.input_row),
    "compacted": ("compacted", _change(_compacted)),
    "closed": ("closed", _change(_closed)),
    "execution_changes": ("execution_changes", _change(_changed)),
    "stage_closes": ("stage_closes", _change(_stage_closed)),
}


def _values(step: Step, drafts: Sequence[Draft]) -> dict[str, Sequence[rows.NewRow]]:
    """What a step brings for each part of its statement; most steps bring little."""
    session = step.session_id
    values: dict[str, Sequence[rows.NewRow]] = {}
    for name, (field, row) in _ROWS.items():
        if brought := getattr(step, field):
            values[name] = [row(one, session) for one in brought]
    if len(step.execution_changes) > 1:
        values["execution_changes"] = _combined(values["execution_changes"])
    if step.opened:
        values["new_timeline_events"] = _placed(step.opened, drafts)
    if figures := _figures(step):
        values["figures"] = figures
    return values


def _combined(changes: Sequence[rows.NewRow]) -> list[rows.NewRow]:
    """One change for each execution: from where the first of its moves sets out to where the last one leads."""
    combined: dict[str, rows.NewRow] = {}
    for change in changes:
        before = combined.get(change["id"], {})
        told = {name: value for name, value in change.items() if value is not None}
        combined[change["id"]] = {**change, **before, **told, "sources": before.get("sources") or change["sources"]}
    return list(combined.values())


def _figures(step: Step) -> list[rows.NewRow]:
    """What the step adds to the figures of its session. Who answers a question or judges did not work on it."""
    agents = len(step.executions) if step.claim.kind == INVESTIGATION else 0
    fallbacks = sum(event.event_type is TimelineEventType.PROVIDER_FALLBACK for event in step.opened)
    return [{"session_id": step.session_id, "agents": agents, "fallbacks": fallbacks}] if agents or fallbacks else []


def _placed(opened: Sequence[TimelineEvent], drafts: Sequence[Draft]) -> list[rows.NewRow]:
    """The rows of new timeline events, each with the place of its announcement for a position."""
    places = {draft.payload["event"]["id"]: place for place, draft in enumerate(drafts, 1) if "event" in draft.payload}
    return [{**rows.timeline_row(event), "position": places[event.id]} for event in opened]


def _notes(step: Step) -> Mapping[str, rows.NewRow]:
    """What is noted beside the rows: what is no longer reserved, what the noun's agents are given, which stage is its own, that all is done."""
    notes: dict[str, rows.NewRow] = {}
    if step.session_close or step.work_close:
        notes["work_done"] = {"work_signal": notifications.WORK, "work_kind": step.claim.kind}
    if settled := [one.settles for one in step.llm_interactions if one.settles]:
        notes["settled"] = {"settled": settled}
    if step.runbook is not None:
        notes["runbook"] = {"runbook": storable(step.runbook)}
    if step.stages and (name := f"stage_of_{step.claim.kind}") in _PARTS:
        notes[name] = {"stage_id": step.stages[0].id, "subject_id": step.claim.subject_id}
    return notes
