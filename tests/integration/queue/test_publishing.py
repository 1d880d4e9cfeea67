"""The events of a transaction reach the subscribers of its own process once it is committed, and not before."""

from datetime import UTC, datetime

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from support.claims import claimed
from support.followups import ended_session
from support.queue_ground import Ground
from support.queue_scenario import Scenario
from tarsy.db.outbox import Outbox, Publisher
from tarsy.db.session.followups import ChatRepository
from tarsy.db.session.notes import NoteRepository
from tarsy.db.work.pauses import PauseRepository
from tarsy.domain.live_events import SESSIONS_CHANNEL, StoredLiveEvent, session_channel, session_status
from tarsy.domain.status import SessionStatus


async def test_what_a_transaction_published_is_delivered_after_its_commit_and_nothing_of_one_that_failed(
    engine: AsyncEngine, ground: Ground, made: Scenario
) -> None:
    session_id, delivered = await ground.submit(made), list[StoredLiveEvent]()
    publisher, before = Publisher(engine, delivered.extend), await Outbox(engine).last_id(SESSIONS_CHANNEL)
    events = session_status(session_id, SessionStatus.IN_PROGRESS, alert_type="test", at=datetime.now(UTC))

    async def fail() -> None:
        async with publisher.transaction() as transaction:
            await transaction.publish(events, session_id=session_id)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert delivered == []
    async with publisher.transaction() as transaction:
        await transaction.publish(events, session_id=session_id)
        assert delivered == []
    assert [event.channel for event in delivered] == [session_channel(session_id), SESSIONS_CHANNEL]
    assert delivered[1:] == await Outbox(engine).read_after(SESSIONS_CHANNEL, before, 10)


async def test_questions_hints_and_pauses_are_delivered_in_their_process_at_once(
    engine: AsyncEngine, ground: Ground, made: Scenario
) -> None:
    delivered: list[StoredLiveEvent] = []
    publisher = Publisher(engine, delivered.extend)
    ended = await ended_session(ground, made)
    question = await ChatRepository(publisher).ask(ended, "And now?", author="ada")
    await ChatRepository(publisher).request_cancel(ended, question.id, actor="ada")
    await ground.submit(made)
    running = await claimed(engine)
    await NoteRepository(publisher).hint(running.subject_id, "Look at the disk.", author="ada")
    await PauseRepository(publisher).pause(None, actor="ada", reason="", now=False)
    shown = {(event.channel, event.payload["type"]) for event in delivered}
    assert shown >= {
        (session_channel(ended), "chat.message"),
        (session_channel(running.subject_id), "note.created"),
        (SESSIONS_CHANNEL, "pauses.changed"),
    }
