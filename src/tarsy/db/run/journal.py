"""Pure module: the end of a session as SQL, alone in a transaction or within the statement of the step that brings it."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.db import rows
from tarsy.db.driver import RawConnection, Row, Statement, borrowed, columns_of, transaction
from tarsy.db.errors import NotFoundError
from tarsy.db.outbox import Draft, draft_of, stored_event
from tarsy.db.retry import retrying
from tarsy.db.rows import storable_json
from tarsy.db.run.status import OPEN_EVENTS, SESSIONS, ending_statement, ending_update, interrupt_events
from tarsy.db.run.step_statement import Ending, statement_for
from tarsy.db.session.followups import request_score
from tarsy.db.tables import messages, run_inputs
from tarsy.db.work.subjects import SUBJECTS
from tarsy.domain import live_events
from tarsy.domain.claim import INVESTIGATION, Claim, ClaimLostError, WorkKind
from tarsy.domain.live_events import LiveEvent, StoredLiveEvent
from tarsy.domain.note import Note
from tarsy.domain.session import SessionClose, with_cancellation
from tarsy.domain.status import RunStatus, SessionStatus
from tarsy.domain.step import Committed, Step, StoredCall, StoredRun, WorkClose
from tarsy.domain.timeline import TimelineEvent

_COLUMNS = (
    "completed_at",
    "analysis_is_partial",
    "analysis_partial_reason",
    "error_message",
    "executive_summary_error",
    "final_analysis",
    "executive_summary",
)
# What checking made of the analysis. Slashes part the names of an object: the parser would take the whole for a path.
_CHECKED = """citations = CAST(CAST(:citations AS text) AS jsonb), verdict = CAST(CAST(:verdict AS text) AS jsonb),
        verdict_outcome = :outcome, verdict_confidence = :confidence, verdict_object = :object,
        verdict_search = to_tsvector('simple'::regconfig, CAST(:words AS text))"""


def end_statement(close: SessionClose) -> Statement:
    """Answers with what is told of the session, if it could be moved."""
    return ending_statement(SESSIONS, close.status, _COLUMNS, "alert_type, chain_id", _CHECKED if close.citations else "")


def end_values(session_id: str, close: SessionClose) -> dict[str, Any]:
    checked = rows.checked_values(close.verdict, close.citations) if close.citations else {}
    return {**storable_json({name: getattr(close, name) for name in _COLUMNS}), **checked, "id": session_id}


def plain_ending(session_id: str, close: SessionClose) -> Ending:
    """The end of a session of which nothing streams any more, as a part of its step's statement."""
    types = sorted(SUBJECTS[INVESTIGATION].stage_types)
    values = {**end_values(session_id, close), "session_id": session_id, "types": types}
    return Ending(_update(close.status, checked=close.citations is not None), values)


@cache
def _update(status: SessionStatus, *, checked: bool) -> str:
    update = ending_update(SESSIONS, status, _COLUMNS, _CHECKED if checked else "", source="claimed")
    return f"{update} AND NOT EXISTS (SELECT FROM timeline_events WHERE {OPEN_EVENTS})"


Deliver = Callable[[Sequence[StoredLiveEvent]], None]

_TOLD = Statement("SELECT FROM events WHERE channel = :channel AND payload - 'id' = CAST(:payload AS jsonb) LIMIT 1")
_SAID = Statement("SELECT FROM messages WHERE id = :id")
_CLAIMED = Statement("SELECT claim_token::text AS claim_token, cancel_requested FROM work WHERE id = :id FOR UPDATE")
_OF_EXECUTION = {
    "inputs": Statement(f"SELECT {columns_of(run_inputs, 'i')} FROM run_inputs i WHERE i.execution_id = :id"),  # noqa: S608 - our own words
    "messages": Statement(f"SELECT {columns_of(messages, 'm')} FROM messages m WHERE m.execution_id = :id ORDER BY m.sequence_number"),  # noqa: S608 - our own words
    # Not the bodies: they are large, and a worker that continues does not need them.
    "calls": Statement(
        "SELECT kind, turn, error_code, error_message, provider FROM llm_interactions WHERE execution_id = :id ORDER BY started_at"
    ),
    "timed_out": Statement(
        "SELECT call_id FROM mcp_interactions WHERE execution_id = :id AND is_error AND CAST(result ->> 'is_timeout' AS boolean)"
    ),
}
_STANDING = Statement(
    """
    SELECT e.status, (SELECT max(t.sequence_number) FROM timeline_events t WHERE t.execution_id = e.id) AS last_sequence
    FROM agent_executions e WHERE e.id = :id
    """
)


@dataclass(frozen=True, slots=True)
class _Written:
    """What a step left to tell, and what its writer learns."""

    events: Sequence[StoredLiveEvent] = ()
    committed: Committed = field(default_factory=Committed)


class PostgresJournal:
    """Writes steps. `deliver` hands what was committed to this process's own subscribers at once."""

    def __init__(self, engine: AsyncEngine, deliver: Deliver) -> None:
        self._engine = engine
        self._deliver = deliver
        # Executions that this process has stored and of which nothing more was: there is nothing to read of them.
        self._new: dict[str, StoredRun] = {}

    async def commit(self, step: Step) -> Committed:
        repeated = False

        async def attempt() -> _Written:
            nonlocal repeated
            if repeated and await self._went_through(step):
                return _Written()
            repeated = True
            if ends := step.session_close or step.work_close:
                if written := await self._ended_plainly(step):
                    return written
                async with transaction(self._engine) as connection:
                    return await _end(connection, step, ends.completed_at)
            async with borrowed(self._engine) as connection:
                return await _store(connection, step, _announcements(step))

        # Whole: half of what a step says must never be left to chance by a cancellation.
        written = await retrying(attempt, whole=True)
        self._deliver(written.events)
        self._remember_new(step)
        return written.committed

    def _remember_new(self, step: Step) -> None:
        changed = {change.execution_id for change in step.execution_changes}
        for execution_id in changed:
            self._new.pop(execution_id, None)
        if not step.messages:
            self._new |= {execution.id: StoredRun(begun=execution.id in changed) for execution in step.executions}

    async def _ended_plainly(self, step: Step) -> _Written | None:
        """End a session in one statement, as nearly all can be; None: there is more to it, or the claim was lost, and nothing was written."""
        close = step.session_close
        if close is None or close.alert_type is None or step.score:
            return None
        drafts = _drafts(step, [*_announcements(step), *live_events.session_completed(step.session_id, close, alert_type=close.alert_type)])
        statement, parameters = statement_for(step, drafts, plain_ending(step.session_id, close))
        async with borrowed(self._engine) as connection:
            stored = await statement.rows(connection, parameters)
        return _written(drafts, stored) if stored else None

    async def load(self, execution_id: str) -> StoredRun:
        if new := self._new.pop(execution_id, None):
            return new

        async def attempt() -> StoredRun:
            async with borrowed(self._engine) as connection:
                return await _load(connection, execution_id)

        # Whole as well: an agent that is stopped this early still has a status to end.
        return await retrying(attempt, whole=True)

    async def _went_through(self, step: Step) -> bool:
        """Whether the attempt before, whose connection was lost, was committed all the same: then it has left what no other step leaves."""
        async with transaction(self._engine) as connection:
            # It may not have ended yet. It holds the claimed row until it has.
            if await _CLAIMED.row(connection, {"id": step.claim.id}) is None:
                raise ClaimLostError(step.claim)
            return await _is_stored(connection, step)


async def _is_stored(connection: RawConnection, step: Step) -> bool:
    if ends := step.session_close or step.work_close:
        ended = await _ended_at(step.claim.kind).row(connection, {"id": step.claim.subject_id})
        return ended is not None and ended["completed_at"] == ends.completed_at
    if drafts := _drafts(step, _announcements(step)):
        return await _TOLD.row(connection, {"channel": drafts[0].channel, "payload": drafts[0].text}) is not None
    if step.messages:
        return await _SAID.row(connection, {"id": step.messages[0].id}) is not None
    # What is left only sets what may be set twice.
    return False


@cache
def _ended_at(kind: WorkKind) -> Statement:
    return Statement(f"SELECT completed_at FROM {SUBJECTS[kind].door.table.name} WHERE id = :id")  # noqa: S608 - a name of our own


async def _end(connection: RawConnection, step: Step, at: datetime) -> _Written:
    """Write a step that ends what was claimed.

    Raises:
        ClaimLostError: the claim's token is no longer the row's, or the row was erased.
    """
    claimed = await _CLAIMED.row(connection, {"id": step.claim.id})
    if claimed is None or claimed["claim_token"] != step.claim.token:
        raise ClaimLostError(step.claim)
    if step.session_close:
        close = with_cancellation(step.session_close, cancel_requested=claimed["cancel_requested"])
        # What was cancelled in its last moment is not judged either.
        step = replace(step, session_close=close, score=step.score if close.status is SessionStatus.COMPLETED else None)
    # The noun before the channels: indexing a long analysis takes time, and the shared channel is every session's.
    ended = await _close_noun(connection, step)
    # Whatever an agent could not close in time must not stream for ever.
    left_open = await interrupt_events(connection, step.session_id, SUBJECTS[step.claim.kind].stage_types, at)
    return await _store(connection, step, [*left_open, *_announcements(step), *ended])


async def _store(connection: RawConnection, step: Step, told: Sequence[LiveEvent]) -> _Written:
    """Write what `step` brings, and tell of it.

    Raises:
        ClaimLostError: the claim's token is no longer the row's.
    """
    drafts = _drafts(step, told)
    statement, parameters = statement_for(step, drafts)
    stored = await statement.rows(connection, parameters)
    if not stored:
        raise ClaimLostError(step.claim)
    unread = () if step.notes_after is None else tuple(rows.note_of(row) for row in stored[0]["notes"] or ())
    if unread and step.unless_notes:
        return _Written(committed=Committed(unread, refused=True))
    return _written(drafts, stored, unread)


def _written(drafts: Sequence[Draft], stored: Sequence[Row], unread: tuple[Note, ...] = ()) -> _Written:
    return _Written([stored_event(draft, row["id"]) for draft, row in zip(drafts, stored, strict=False)], Committed(unread))


def _drafts(step: Step, told: Sequence[LiveEvent]) -> list[Draft]:
    return [draft_of(step.session_id, event) for event in told]


def _announcements(step: Step) -> list[LiveEvent]:
    """Everything a person should see of `step` but its being the last, in the order in which it is told."""
    session_id = step.session_id
    stage_ends = [live_events.stage_completed(session_id, close) for close in step.stage_closes]
    # A stage that begins is told after the one it follows, which ends in the same step.
    drafts = stage_ends if step.stages else []
    for stage in step.stages:
        drafts += live_events.stage_started(stage)
    first, last = _around_closed(step)
    drafts += [live_events.timeline_created(event) for event in first]
    drafts += [live_events.timeline_completed(session_id, close) for close in step.closed]
    drafts += [live_events.timeline_created(event) for event in last]
    drafts += [live_events.interaction_created(interaction) for interaction in (*step.llm_interactions, *step.mcp_interactions)]
    drafts += [live_events.execution_status(session_id, change) for change in step.execution_changes]
    return drafts if step.stages else drafts + stage_ends


def _around_closed(step: Step) -> tuple[Sequence[TimelineEvent], Sequence[TimelineEvent]]:
    """The entries that the step opens: up to the last that it also closes, which must be told of before that, and behind it."""
    ended = {close.event_id for close in step.closed}
    count = max((place for place, event in enumerate(step.opened, start=1) if event.id in ended), default=0)
    return step.opened[:count], step.opened[count:]


async def _close_noun(connection: RawConnection, step: Step) -> list[LiveEvent]:
    """End what the claimed work is about, and say so."""
    drafts: list[LiveEvent] = []
    if step.session_close:
        session = await _close_session(connection, step, step.session_close)
        drafts += live_events.session_completed(step.session_id, step.session_close, alert_type=session["alert_type"])
        if step.score:
            await request_score(connection, step.score, chain_id=session["chain_id"])
    if step.work_close:
        await _close_followup(connection, step.claim, step.work_close)
        drafts.append(live_events.work_completed(step.session_id, step.claim.kind, step.claim.subject_id, step.work_close))
    return drafts


async def _close_followup(connection: RawConnection, claim: Claim, close: WorkClose) -> None:
    door = SUBJECTS[claim.kind].door
    judgement = asdict(close.judgement) if close.judgement else {}
    values = storable_json({"completed_at": close.completed_at, "error_message": close.error_message, **judgement})
    await ending_statement(door, close.status, tuple(values)).rows(connection, {**values, "id": claim.subject_id})


async def _close_session(connection: RawConnection, step: Step, close: SessionClose) -> Row:
    ended = await end_statement(close).row(connection, end_values(step.session_id, close))
    if ended is None:
        raise ClaimLostError(step.claim)
    return ended


async def _load(connection: RawConnection, execution_id: str) -> StoredRun:
    of_execution = {"id": execution_id}
    standing = await _STANDING.row(connection, of_execution)
    if standing is None:
        raise NotFoundError("execution", execution_id)
    found = {name: await statement.rows(connection, of_execution) for name, statement in _OF_EXECUTION.items()}
    return StoredRun(
        inputs=tuple(rows.placed_input_of(row) for row in found["inputs"]),
        messages=tuple(rows.message_of(row) for row in found["messages"]),
        calls=tuple(StoredCall(*row) for row in found["calls"]),
        timed_out_tools=frozenset(row["call_id"] for row in found["timed_out"]),
        begun=standing["status"] != RunStatus.PENDING,
        next_timeline_sequence=(standing["last_sequence"] or 0) + 1,
    )
