"""New sessions as rows: all of a batch in one statement, which reads each of their chains once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import orjson
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.db.audit import AuditAction
from tarsy.db.batcher import Turns
from tarsy.db.driver import Connection, RawConnection, Statement, transaction
from tarsy.db.errors import QueueFullError
from tarsy.db.notifications import WORK
from tarsy.db.outbox import DRAFTS, PUBLISHING, draft_of, publish_for, publishing_parameters
from tarsy.db.rows import columns
from tarsy.db.tables import alert_sessions
from tarsy.db.work.enqueue import ENQUEUING, NewWork, enqueue
from tarsy.domain import live_events
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.live_events import LiveEvent
from tarsy.domain.session import NewSession
from tarsy.domain.status import SessionStatus
from tarsy.domain.work import WorkState

_CHAIN = "chain_snapshot"
_JSON = ("mcp_selection", "fork")
_NAMES = tuple(field.name for field in fields(NewSession) if field.name != _CHAIN)
_KINDS = {name: alert_sessions.c[name].type.compile(postgresql.dialect()) for name in _NAMES}

# The sessions of a batch, in their order.
ARRIVING = f"""
    arrived AS (
        SELECT * FROM unnest({", ".join(f"CAST(:{name} AS {kind}[])" for name, kind in _KINDS.items())}, CAST(:chain AS integer[]))
        WITH ORDINALITY AS a({", ".join(_NAMES)}, chain, place)
    )"""  # noqa: S608 - names from our own tables
# Stores them. A chain is copied from a session that has the same one, as it lies there: to compress it again takes longer than all the rest.
# By their ids, so that of two batches with the same keys in them neither waits for the other.
INSERTING = f"""
    sessions AS (
        INSERT INTO alert_sessions ({", ".join(_NAMES)}, status, {_CHAIN})
        SELECT {", ".join(f"a.{name}" for name in _NAMES)}, '{SessionStatus.PENDING}', coalesce(
            (SELECT s.{_CHAIN} FROM alert_sessions s WHERE s.id = (CAST(:alike AS uuid[]))[a.chain]), (CAST(:chains AS jsonb[]))[a.chain]
        )
        FROM arrived a ORDER BY a.id
        RETURNING id
    )"""  # noqa: S608 - names from our own tables
_INSERT = Statement(f"WITH {ARRIVING}, {INSERTING} SELECT count(*) FROM sessions")  # noqa: S608 - our own words


async def insert_sessions(connection: Connection, sessions: Sequence[NewSession]) -> None:
    """Store new sessions, all in one statement."""
    await _INSERT.rows(connection, session_values(sessions))


def session_values(sessions: Sequence[NewSession], alike: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What ARRIVING and INSERTING read. `alike` names, by a chain's text, a session that was stored with it."""
    rows = [columns(session) for session in sessions]
    values: dict[str, Any] = {name: [row[name] for row in rows] for name in _NAMES}
    for name in _JSON:
        values[name] = [None if value is None else orjson.dumps(value).decode() for value in values[name]]
    texts = chain_texts(sessions)
    places = {text: place for place, text in enumerate(dict.fromkeys(texts), 1)}
    return {**values, "chain": [places[text] for text in texts], "chains": [*places], "alike": [(alike or {}).get(text) for text in places]}


def chain_texts(sessions: Sequence[NewSession]) -> list[str]:
    """The chain of each session as JSON. Most sessions of a batch share theirs, which is written once."""
    shared = {id(session.chain_snapshot): session.chain_snapshot for session in sessions}
    texts = {place: orjson.dumps(chain).decode() for place, chain in shared.items()}
    return [texts[id(session.chain_snapshot)] for session in sessions]


# Submissions take turns while the queue has a limit; any number that no other code locks will do.
_INTAKE_LOCK = Statement(f"SELECT pg_advisory_xact_lock({0x7A25_0001})")
# Stops at the limit, and walks an index that holds nothing but what waits.
_WAITING = Statement(
    f"""
    SELECT count(*) AS number
    FROM (SELECT FROM work WHERE kind = '{INVESTIGATION}' AND state = '{WorkState.READY}' LIMIT :limit) waiting
    """  # noqa: S608 - our own words
)
# A megabyte each at most, and seldom more than a few kilobytes.
MAX_TOGETHER = 64
# While PostgreSQL stores one batch, we read and mask the alerts of the next: neither waits for the other.
AT_ONCE = 2
# Fewer do not make up for a transaction of their own beside one that is under way.
ENOUGH = 8
# Longer than any healthy commit; a client that waits for it is told that the database is away.
STORE_SECONDS = 30.0
# Longer than the indexing of the longest alerts takes, all of them in one statement; what takes longer is ended by the server, and the
# others of its batch are stored without it.
STATEMENT_SECONDS = 5
# More than a configuration has chains: those of an older one are forgotten with the rest.
MAX_CHAINS = 100
# The drafts wait until all are stored: the shared channel is every session's, and kept until the commit.
_ADMIT = Statement(
    f"""
    WITH {ARRIVING}, {INSERTING},
    noted AS (
        INSERT INTO audit_log (actor, action, session_id) SELECT author, '{AuditAction.ALERT_SUBMITTED}', id FROM arrived ORDER BY place
    ),
    wanted AS (
        SELECT gen_random_uuid() AS id, '{INVESTIGATION}' AS kind, id AS subject_id, id AS session_id, chain_id, '{WorkState.READY}' AS state,
            0 AS priority, created_at AS rank, CAST(NULL AS timestamptz) AS not_before, created_at
        FROM arrived
    ), {ENQUEUING},
    drafts AS (SELECT d.* FROM {DRAFTS} JOIN sessions s ON s.id = d.session_id), {PUBLISHING}
    SELECT pg_notify(:work, '{INVESTIGATION}') FROM (SELECT count(sent) FROM announced) told
    """  # noqa: S608 - our own words
)


@dataclass(frozen=True, slots=True)
class _Submission:
    session: NewSession
    max_queue_size: int | None


class Admission:
    """Stores submissions as pending sessions and wakes the workers."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._turns = Turns(self._store, together=MAX_TOGETHER, seconds=STORE_SECONDS, at_once=AT_ONCE, enough=ENOUGH)
        # Chains as text, each with a session that is stored with it.
        self._alike: dict[str, str] = {}

    async def admit(self, session: NewSession, *, max_queue_size: int | None) -> None:
        """Store one submission.

        Raises:
            QueueFullError: `max_queue_size` sessions wait already.
        """
        if not await self._turns.take(_Submission(session, max_queue_size)):
            raise QueueFullError(max_queue_size or 0)

    async def _store(self, submissions: Sequence[_Submission]) -> Sequence[bool]:
        """Store as many as there is room for, the first first; says of each whether it was."""
        # One configuration, one limit.
        limit, wanted = submissions[0].max_queue_size, len(submissions)
        patience = f"SET LOCAL statement_timeout = '{STATEMENT_SECONDS}s'"
        async with transaction(self._engine, begins_with=patience) as connection:
            room = wanted if limit is None else max(0, await room_for(connection, limit, wanted))
            admitted = [submission.session for submission in submissions[:room]]
            if admitted:
                await self._insert(connection, admitted)
        self._remember(admitted)
        return [place < room for place in range(wanted)]

    async def _insert(self, connection: RawConnection, sessions: Sequence[NewSession]) -> None:
        drafts = publishing_parameters([draft_of(session_id, event) for session_id, event in _news(sessions)])
        await _ADMIT.rows(connection, {**session_values(sessions, self._alike), **drafts, "work": WORK})

    def _remember(self, stored: Sequence[NewSession]) -> None:
        if len(self._alike) > MAX_CHAINS:
            self._alike.clear()
        self._alike.update(zip(chain_texts(stored), (session.id for session in stored), strict=True))


async def room_for(connection: Connection, limit: int, wanted: int) -> int:
    """How many of `wanted` may come in. Holds the only key to the queue until the transaction ends."""
    await _INTAKE_LOCK.rows(connection)
    (waiting,) = await _WAITING.rows(connection, {"limit": limit})
    return min(limit - waiting["number"], wanted)


async def make_ready(connection: Connection, sessions: Sequence[NewSession]) -> None:
    """Put stored sessions into the queue, and tell of them."""
    await enqueue(connection, *(_investigation(session) for session in sessions))
    await publish_for(connection, _news(sessions))


def _news(sessions: Sequence[NewSession]) -> list[tuple[str, LiveEvent]]:
    """What is told of pending sessions, to the watchers of each before those of the list."""
    pending = SessionStatus.PENDING
    news = [(one.id, live_events.session_status(one.id, pending, alert_type=one.alert_type, at=one.created_at)) for one in sessions]
    return [*((session_id, own) for session_id, (own, _) in news), *((session_id, shared) for session_id, (_, shared) in news)]


def _investigation(session: NewSession) -> NewWork:
    return NewWork(
        kind=INVESTIGATION, subject_id=session.id, session_id=session.id, chain_id=session.chain_id, created_at=session.created_at
    )
