"""What chat and scoring have in common: work on a finished session, asked for once at a time."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, fields
from uuid import uuid4

import asyncpg
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db.audit import AuditAction, note
from tarsy.db.driver import Connection, Statement
from tarsy.db.errors import ConflictError, NotFoundError
from tarsy.db.outbox import publish
from tarsy.db.retry import cause_of
from tarsy.db.rows import chat_message_of, score_of
from tarsy.db.tables import alert_sessions, chat_user_messages, chats, session_scores
from tarsy.db.work.enqueue import NewWork, enqueue
from tarsy.db.work.parking import CancelAnswer, cancel
from tarsy.domain import live_events
from tarsy.domain.claim import CHAT_ANSWER, SCORING
from tarsy.domain.followup import ChatUserMessage, SessionScore
from tarsy.domain.status import RunStatus, SessionStatus
from tarsy.kit.clock import Clock, SystemClock


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


class ChatRepository:
    def __init__(self, engine: AsyncEngine, clock: Clock | None = None) -> None:
        self._engine = engine
        self._clock = clock or SystemClock()

    async def ask(self, session_id: str, content: str, *, author: str) -> ChatUserMessage:
        """Store a question and wake a worker.

        Raises:
            NotFoundError: there is no such session.
            ConflictError: the session still runs, its chain has no chat, or another question is being answered.
        """
        busy = "Another question about this session is being answered: wait for it or cancel it."
        with one_at_a_time("uq_chat_user_messages_open", busy):
            async with self._engine.begin() as connection:
                chain_id = await require_follow_up(connection, session_id, "chat")
                message = await self._store(connection, session_id, content, author)
                await note(
                    connection, actor=author, action=AuditAction.CHAT_ASKED, session_id=session_id, details={"message_id": message.id}
                )
                await enqueue(connection, _answer(message, chain_id))
                await publish(connection, [live_events.chat_message(message)], session_id=session_id)
        return message

    async def _store(self, connection: AsyncConnection, session_id: str, content: str, author: str) -> ChatUserMessage:
        at = self._clock.now()
        opened = insert(chats).values(id=str(uuid4()), session_id=session_id, created_by=author, created_at=at, questions=1)
        counted = opened.on_conflict_do_update(index_elements=["session_id"], set_={"questions": chats.c.questions + 1})
        chat_id = (await connection.execute(counted.returning(chats.c.id))).scalar_one()
        message = ChatUserMessage(
            id=str(uuid4()),
            chat_id=chat_id,
            session_id=session_id,
            content=content,
            author=author,
            status=RunStatus.PENDING,
            created_at=at,
        )
        await connection.execute(sa.insert(chat_user_messages).values(asdict(message)))
        return message

    async def list(self, session_id: str) -> list[ChatUserMessage]:
        """The questions about a session, oldest first."""
        table = chat_user_messages
        query = sa.select(table).where(table.c.session_id == session_id)
        async with self._engine.connect() as connection:
            rows = (await connection.execute(query.order_by(table.c.created_at, table.c.id))).mappings().all()
        return [chat_message_of(row) for row in rows]

    async def request_cancel(self, session_id: str, message_id: str, *, actor: str) -> CancelAnswer:
        """Withdraw a question, or stop its answer.

        Raises:
            NotFoundError: the session has no such question.
        """
        table = chat_user_messages
        asked = sa.select(table.c.id).where(table.c.id == message_id, table.c.session_id == session_id)
        async with self._engine.begin() as connection:
            if (await connection.execute(asked)).first() is None:
                raise NotFoundError("chat message", message_id)
            answer, _ = await cancel(connection, CHAT_ANSWER, message_id, reason="cancelled")
            if answer is not CancelAnswer.ALREADY_ENDED:
                details = {"message_id": message_id}
                await note(connection, actor=actor, action=AuditAction.CHAT_CANCELLED, session_id=session_id, details=details)
        return answer


def _answer(message: ChatUserMessage, chain_id: str) -> NewWork:
    return NewWork(kind=CHAT_ANSWER, subject_id=message.id, session_id=message.session_id, chain_id=chain_id, created_at=message.created_at)


_COLUMNS = [field.name for field in fields(SessionScore)]
_INSERT = Statement(f"INSERT INTO session_scores ({', '.join(_COLUMNS)}) VALUES (:{', :'.join(_COLUMNS)})")  # noqa: S608 - our own words


async def request_score(connection: Connection, score: SessionScore, *, chain_id: str) -> None:
    """Store a judgement that is to be made, and the work that it is."""
    await _INSERT.rows(connection, asdict(score))
    wanted = NewWork(kind=SCORING, subject_id=score.id, session_id=score.session_id, chain_id=chain_id, created_at=score.created_at)
    await enqueue(connection, wanted)


class ScoreRepository:
    def __init__(self, engine: AsyncEngine, clock: Clock | None = None) -> None:
        self._engine = engine
        self._clock = clock or SystemClock()

    async def request(self, session_id: str, *, requested_by: str) -> SessionScore:
        """Ask for a judgement and wake a worker.

        Raises:
            NotFoundError: there is no such session.
            ConflictError: the session still runs, its chain has no scoring, or a judgement is under way.
        """
        score = SessionScore(
            id=str(uuid4()),
            session_id=session_id,
            status=RunStatus.PENDING,
            requested_by=requested_by,
            created_at=self._clock.now(),
        )
        with one_at_a_time("uq_session_scores_open", "This session is being scored already."):
            async with self._engine.begin() as connection:
                chain_id = await require_follow_up(connection, session_id, "scoring")
                await request_score(connection, score, chain_id=chain_id)
                await note(connection, actor=requested_by, action=AuditAction.SCORE_REQUESTED, session_id=session_id)
        return score

    async def latest(self, session_id: str) -> SessionScore | None:
        """The newest score of a session, finished or not."""
        query = sa.select(session_scores).where(session_scores.c.session_id == session_id)
        newest = query.order_by(session_scores.c.created_at.desc(), session_scores.c.id.desc()).limit(1)
        async with self._engine.connect() as connection:
            row = (await connection.execute(newest)).mappings().one_or_none()
        return score_of(row) if row else None
