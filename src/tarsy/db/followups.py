"""What chat and scoring have in common: work on a finished session, asked for once at a time."""

from collections.abc import Generator
from contextlib import contextmanager

import asyncpg
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from tarsy.db.errors import ConflictError, NotFoundError
from tarsy.db.retry import cause_of
from tarsy.db.tables import alert_sessions
from tarsy.domain.status import SessionStatus


async def require_follow_up(connection: AsyncConnection, session_id: str, block: str) -> str:
    """Check that a session has ended and that its chain configures `block` (`chat` or `scoring`); keep it from being deleted meanwhile.

    Answers with the session's chain.

    Raises:
        NotFoundError: there is no such session.
        ConflictError: it still runs, or its chain has no such block.
    """
    enabled = alert_sessions.c.chain_snapshot.op("->")(block).op("IS DISTINCT FROM")(sa.text("'null'::jsonb"))
    present = alert_sessions.c.chain_snapshot.has_key(block)
    query = sa.select(alert_sessions.c.status, alert_sessions.c.chain_id, sa.and_(present, enabled).label("enabled"))
    of_session = query.where(alert_sessions.c.id == session_id, alert_sessions.c.deleted_at.is_(None)).with_for_update(read=True)
    row = (await connection.execute(of_session)).one_or_none()
    if row is None:
        raise NotFoundError("session", session_id)
    if not SessionStatus(row.status).is_final:
        raise ConflictError(f"Session {session_id} is {row.status}: wait until it has ended.")
    if not row.enabled:
        raise ConflictError(f"The chain of session {session_id} was configured without {block}.")
    return row.chain_id


@contextmanager
def one_at_a_time(constraint: str, text: str) -> Generator[None]:
    """Rename the database's refusal of a second open row."""
    try:
        yield
    except DBAPIError as error:
        if isinstance(cause := cause_of(error), asyncpg.UniqueViolationError) and cause.constraint_name == constraint:
            raise ConflictError(text) from error
        raise
