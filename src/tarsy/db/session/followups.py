"""Follow-ups on a finished session: questions and scores. The answer to a question is a stage; workers give answers and scores."""

from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from uuid import uuid4

import asyncpg
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db.audit import AuditAction, add_audit_entry
from tarsy.db.connection import autocommit, driver_error
from tarsy.db.errors import ConflictError, NotFoundError
from tarsy.db.outbox import Publisher
from tarsy.db.rows import columns, read
from tarsy.db.tables import alert_sessions, chat_user_messages, chats, session_scores
from tarsy.db.work.enqueue import NewWork, enqueue
from tarsy.db.work.parking import CancelAnswer, cancel
from tarsy.domain import live_events
from tarsy.domain.claim import CHAT_ANSWER, SCORING
from tarsy.domain.followup import ChatUserMessage, SessionScore
from tarsy.domain.session import SlackThread
from tarsy.domain.status import RunStatus, SessionStatus


class ChatRepository:
    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher

    async def ask(
        self, session_id: str, content: str, *, author: str, message_id: str | None = None, slack_thread: SlackThread | None = None
    ) -> ChatUserMessage:
        """Store a question and wake a worker. A question with a `message_id` that is stored already is returned as it is.

        Raises:
            NotFoundError: there is no such session.
            ConflictError: the session still runs, its chain has no chat, or another question is being answered.
        """
        busy, now = "Another question about this session is being answered: wait for it or cancel it.", datetime.now(UTC)
        with _one_at_a_time("uq_chat_user_messages_open", busy):
            async with self._publisher.transaction() as transaction:
                connection = transaction.connection
                before = sa.select(chat_user_messages).where(chat_user_messages.c.id == message_id)
                if message_id and (row := (await connection.execute(before)).mappings().first()):
                    return read(ChatUserMessage, row)
                chain_id = await _require_follow_up(connection, session_id, "chat")
                chat = insert(chats).values(id=str(uuid4()), session_id=session_id, created_by=author, created_at=now, questions=1)
                counted = chat.on_conflict_do_update(index_elements=["session_id"], set_={"questions": chats.c.questions + 1})
                message = ChatUserMessage(
                    id=message_id or str(uuid4()),
                    chat_id=(await connection.execute(counted.returning(chats.c.id))).scalar_one(),
                    session_id=session_id,
                    content=content,
                    author=author,
                    status=RunStatus.PENDING,
                    created_at=now,
                    slack_thread=slack_thread,
                )
                await connection.execute(sa.insert(chat_user_messages).values(columns(message)))
                details = {"message_id": message.id}
                await add_audit_entry(connection, actor=author, action=AuditAction.CHAT_ASKED, session_id=session_id, details=details)
                work = NewWork(kind=CHAT_ANSWER, subject_id=message.id, session_id=session_id, chain_id=chain_id, created_at=now)
                await enqueue(connection, work)
                await transaction.publish([live_events.chat_message(message)], session_id=session_id)
        return message

    async def list(self, session_id: str) -> list[ChatUserMessage]:
        """Return the questions about a session, oldest first."""
        async with autocommit(self._publisher.engine).connect() as connection:
            return await read_questions(connection, session_id)

    async def request_cancel(self, session_id: str, message_id: str, *, actor: str) -> CancelAnswer:
        """Withdraw a question, or stop its answer.

        Raises:
            NotFoundError: the session has no such question.
        """
        table = chat_user_messages
        question = sa.select(table.c.id).where(table.c.id == message_id, table.c.session_id == session_id)
        async with self._publisher.transaction() as transaction:
            connection = transaction.connection
            if (await connection.execute(question)).first() is None:
                raise NotFoundError("chat message", message_id)
            answer = await cancel(transaction, CHAT_ANSWER, message_id, reason="cancelled")
            if answer is not CancelAnswer.ALREADY_ENDED:
                details = {"message_id": message_id}
                await add_audit_entry(connection, actor=actor, action=AuditAction.CHAT_CANCELLED, session_id=session_id, details=details)
        return answer


async def read_questions(connection: AsyncConnection, session_id: str) -> list[ChatUserMessage]:
    """Return the questions about a session, oldest first."""
    table = chat_user_messages
    query = sa.select(table).where(table.c.session_id == session_id).order_by(table.c.created_at, table.c.id)
    return [read(ChatUserMessage, row) for row in (await connection.execute(query)).mappings()]


class ScoreRepository:
    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def request(self, session_id: str, *, requested_by: str) -> SessionScore:
        """Request a score and wake a worker.

        Raises:
            NotFoundError: there is no such session.
            ConflictError: the session still runs, its chain has no scoring, or it is being scored.
        """
        score = SessionScore(
            id=str(uuid4()),
            session_id=session_id,
            status=RunStatus.PENDING,
            requested_by=requested_by,
            created_at=datetime.now(UTC),
        )
        with _one_at_a_time("uq_session_scores_open", "This session is being scored already."):
            async with self._engine.begin() as connection:
                chain_id = await _require_follow_up(connection, session_id, "scoring")
                await request_score(connection, score, chain_id=chain_id)
                await add_audit_entry(connection, actor=requested_by, action=AuditAction.SCORE_REQUESTED, session_id=session_id)
        return score

    async def latest(self, session_id: str) -> SessionScore | None:
        """Return the newest score of a session, finished or not."""
        table = session_scores.c
        query = sa.select(session_scores).where(table.session_id == session_id).order_by(table.created_at.desc(), table.id.desc()).limit(1)
        async with autocommit(self._engine).connect() as connection:
            row = (await connection.execute(query)).mappings().one_or_none()
        return read(SessionScore, row) if row else None


async def request_score(connection: AsyncConnection, score: SessionScore, *, chain_id: str) -> None:
    """Store a requested score and the work to make it."""
    await connection.execute(sa.insert(session_scores).values(columns(score)))
    work = NewWork(kind=SCORING, subject_id=score.id, session_id=score.session_id, chain_id=chain_id, created_at=score.created_at)
    await enqueue(connection, work)


async def _require_follow_up(connection: AsyncConnection, session_id: str, block: str) -> str:
    """Check that a session has ended and that its chain configures `block` (`chat` or `scoring`); lock it against deletion.

    Return the session's chain.

    Raises:
        NotFoundError: there is no such session.
        ConflictError: it still runs, or its chain has no such block.
    """
    snapshot = alert_sessions.c.chain_snapshot
    enabled = sa.and_(snapshot.has_key(block), snapshot.op("->")(block).op("IS DISTINCT FROM")(sa.text("'null'::jsonb")))
    query = sa.select(alert_sessions.c.status, alert_sessions.c.chain_id, enabled.label("enabled"))
    query = query.where(alert_sessions.c.id == session_id, alert_sessions.c.deleted_at.is_(None)).with_for_update(read=True)
    row = (await connection.execute(query)).one_or_none()
    if row is None:
        raise NotFoundError("session", session_id)
    if not SessionStatus(row.status).is_final:
        raise ConflictError(f"Session {session_id} is {row.status}: wait until it has ended.")
    if not row.enabled:
        raise ConflictError(f"The chain of session {session_id} was configured without {block}.")
    return row.chain_id


@contextmanager
def _one_at_a_time(constraint: str, text: str) -> Generator[None]:
    """Rename the violation of a constraint by a second open row."""
    try:
        yield
    except DBAPIError as error:
        if isinstance(cause := driver_error(error), asyncpg.UniqueViolationError) and cause.constraint_name == constraint:
            raise ConflictError(text) from error
        raise
