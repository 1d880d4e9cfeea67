"""The stored run of a session, as the next stage or question reads it."""

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.db.connection import snapshot
from tarsy.db.retry import retried
from tarsy.db.run.actions import read_actions
from tarsy.db.run.records import read_records, read_timelines
from tarsy.db.session.followups import read_questions
from tarsy.domain.action import Action
from tarsy.domain.followup import ChatUserMessage
from tarsy.domain.history import StageRecord


class SessionHistory:
    """Stages, executions, timelines, actions and questions of a session. Reading waits for a database that is away."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = snapshot(engine)

    @retried()
    async def stages(self, session_id: str) -> Sequence[StageRecord]:
        """Return the stages of a session with their executions, without timelines."""
        async with self._engine.connect() as connection:
            return await read_records(connection, session_id, {})

    @retried()
    async def timelines(self, session_id: str) -> Sequence[StageRecord]:
        """Return the stages of a session with their executions and the timelines of these."""
        async with self._engine.connect() as connection:
            return await read_records(connection, session_id, await read_timelines(connection, session_id))

    @retried()
    async def actions(self, session_id: str) -> Sequence[Action]:
        """Return the actions of a session, as its page shows them."""
        async with self._engine.connect() as connection:
            return await read_actions(connection, session_id)

    @retried()
    async def questions(self, session_id: str) -> Sequence[ChatUserMessage]:
        """Return the questions about a session, oldest first."""
        async with self._engine.connect() as connection:
            return await read_questions(connection, session_id)
