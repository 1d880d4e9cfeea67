"""New sessions as rows: all of a batch in one statement, which reads each of their chains once."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import orjson
from sqlalchemy.dialects import postgresql

from tarsy.db.driver import Connection, Statement
from tarsy.db.rows import columns
from tarsy.db.tables import alert_sessions
from tarsy.domain.session import NewSession
from tarsy.domain.status import SessionStatus

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
