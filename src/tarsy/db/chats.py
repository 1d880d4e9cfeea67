"""Follow-up questions about a finished session. The answer to each is a stage; who gives it is the queue's business."""

from dataclasses import asdict
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db.audit import AuditAction, note
from tarsy.db.errors import NotFoundError
from tarsy.db.followups import one_at_a_time, require_follow_up
from tarsy.db.outbox import publish
from tarsy.db.session_rows import chat_message_of
from tarsy.db.tables import chat_user_messages, chats
from tarsy.db.work.enqueue import NewWork, enqueue
from tarsy.db.work.parking import CancelAnswer, cancel
from tarsy.domain import live_events
from tarsy.domain.claim import CHAT_ANSWER
from tarsy.domain.followup import ChatUserMessage
from tarsy.domain.status import RunStatus
from tarsy.kit.clock import Clock, SystemClock


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
