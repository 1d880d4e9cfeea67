"""Questions and judgements about a session that has ended."""

from sqlalchemy.ext.asyncio import AsyncEngine

from support.queue_ground import Ground
from support.queue_scenario import Scenario
from tarsy.db.outbox import Publisher
from tarsy.db.session.followups import ChatRepository, ScoreRepository
from tarsy.domain.claim import CHAT_ANSWER, WorkKind


async def ended_session(ground: Ground, made: Scenario) -> str:
    session_id = await ground.submit(made)
    await ground.fetch("UPDATE alert_sessions SET status = 'completed', completed_at = now() WHERE id = $1", session_id)
    await ground.fetch("UPDATE work SET state = 'done' WHERE subject_id = $1", session_id)
    return session_id


async def open_followup(engine: AsyncEngine, ground: Ground, made: Scenario, kind: WorkKind) -> str:
    """Ask for something that waits to be claimed; returns its session's id."""
    session_id = await ended_session(ground, made)
    if kind is CHAT_ANSWER:
        await ChatRepository(Publisher(engine)).ask(session_id, "And now?", author="somebody")
    else:
        await ScoreRepository(engine).request(session_id, requested_by="somebody")
    return session_id
