"""Delivery between two processes' hubs on one real database."""

import anyio
import orjson

from support.live_node import (
    GIVE_UP_SECONDS,
    LiveNode,
    Message,
    completed_event,
    created_event,
    delta,
    ids,
    new_id,
    read_until,
    text_of,
)
from tarsy.db.notifications import NotificationListener
from tarsy.domain.live_events import SESSIONS_CHANNEL, LiveEvent, LiveEventType, session_channel
from tarsy.events.relay import TEXT_NOTIFICATION, TopicUpdates, parse_updates


async def test_readers_of_both_processes_see_each_event_once_and_in_order(here: LiveNode, there: LiveNode) -> None:
    session = new_id()
    for node in (here, there):
        with node.live.hub.connect() as connection:
            before = await node.outbox.last_id(session_channel(session))
            await node.live.hub.subscribe(connection, session_channel(session), None)
            for _ in range(5):
                await here.write_status(session, 2)
                await there.write_status(session, 1)
            seen = await read_until(connection, lambda messages: len(ids(messages)) >= 15)
            assert ids(seen) == list(range(before + 1, before + 16))


async def test_a_busy_channel_keeps_neither_the_events_of_another_nor_text_from_a_slow_client(here: LiveNode) -> None:
    session, event, turns = new_id(), new_id(), 4
    busy = LiveEvent(SESSIONS_CHANNEL, LiveEventType.SESSION_STATUS, {"session_id": new_id()})
    with here.live.hub.connect() as connection, anyio.fail_after(GIVE_UP_SECONDS):
        for channel in (SESSIONS_CHANNEL, session_channel(session)):
            await here.live.hub.subscribe(connection, channel, None)
        await connection.next_messages()
        await here.write([created_event(session, event)])
        here.live.publish(delta(session, event, 0, "text"))
        seen = list[Message]()
        for _ in range(turns):
            # Whenever the client reads again, the list of sessions has news.
            await here.write([busy])
            seen += [orjson.loads(message) for message in await connection.next_messages()]
    assert len(ids([message for message in seen if message["channel"] == SESSIONS_CHANNEL])) >= turns // 2
    assert text_of(seen, event) == "text"


async def test_an_event_too_large_for_a_notification_arrives_in_its_place(here: LiveNode, there: LiveNode) -> None:
    session = new_id()
    with there.live.hub.connect() as connection:
        await there.live.hub.subscribe(connection, session_channel(session), None)
        await here.write_status(session)
        await here.write_status(session, filler="x" * 20_000)
        await here.write_status(session)
        seen = await read_until(connection, lambda messages: len(ids(messages)) >= 3)
        assert ids(seen) == [1, 2, 3]
        assert len(seen[2]["filler"]) == 20_000


async def test_a_reader_of_another_process_that_joins_in_mid_stream_gets_the_text_so_far_and_then_the_rest(
    here: LiveNode, there: LiveNode
) -> None:
    session, event = new_id(), new_id()
    await here.write([created_event(session, event)])
    here.live.publish(delta(session, event, 0, "Hello "))
    with there.live.hub.connect() as connection:
        await there.live.hub.subscribe(connection, session_channel(session), None)
        seen = await read_until(connection, lambda messages: text_of(messages, event) == "Hello ")
        here.live.publish(delta(session, event, 6, "world, "))
        here.live.publish(delta(session, event, 13, "bye"))
        seen += await read_until(connection, lambda messages: text_of([*seen, *messages], event) == "Hello world, bye")
        await here.write([completed_event(session, event, "Hello world, bye")])
        seen += await read_until(connection, lambda messages: any(message["type"] == "timeline_event.completed" for message in messages))
        assert seen[-1]["type"] == "timeline_event.completed"


async def test_a_stream_that_starts_over_does_so_on_the_other_process_too(here: LiveNode, there: LiveNode) -> None:
    session, event = new_id(), new_id()
    with there.live.hub.connect() as connection:
        await there.live.hub.subscribe(connection, session_channel(session), None)
        await here.write([created_event(session, event)])
        here.live.publish(delta(session, event, 0, "a first attempt"))
        seen = await read_until(connection, lambda messages: text_of(messages, event) == "a first attempt")
        here.live.publish(delta(session, event, 0, "another"))
        await read_until(connection, lambda messages: text_of([*seen, *messages], event) == "another")


async def test_progress_reaches_the_list_of_the_other_process(here: LiveNode, there: LiveNode) -> None:
    session = new_id()
    here.live.progress(session, stage_name="look", stage_index=1, stage_count=3)
    with there.live.hub.connect() as connection:
        await there.live.hub.subscribe(connection, "sessions", None)
        await read_until(connection, lambda messages: any(message.get("stage_index") == 1 for message in messages))
        here.live.progress(session, stage_name="look", stage_index=2, stage_count=3)
        await read_until(connection, lambda messages: any(message.get("stage_index") == 2 for message in messages))


async def test_text_crosses_in_few_notifications_and_only_while_somebody_watches(
    here: LiveNode, there: LiveNode, database_url: str
) -> None:
    unwatched, watched, event = new_id(), new_id(), new_id()
    updatess: list[TopicUpdates] = []
    listener = NotificationListener(database_url)
    listener.subscribe(TEXT_NOTIFICATION, lambda payload: updatess.append(parse_updates(payload)))
    async with anyio.create_task_group() as tasks:
        await tasks.start(listener.run)
        with there.live.hub.connect() as connection:
            await there.live.hub.subscribe(connection, session_channel(watched), None)
            await here.write([created_event(watched, event)])
            for number in range(300):
                here.live.publish(delta(unwatched, "elsewhere", number, "x"))
                here.live.publish(delta(watched, event, number, "y"))
                # The others have their turn after every piece.
                await anyio.lowlevel.checkpoint()
            await read_until(connection, lambda messages: text_of(messages, event) == "y" * 300)
            assert {text.session_id for updates in updatess for text in updates.texts} == {watched}
            assert len(updatess) < 30
        tasks.cancel_scope.cancel()


async def follow_one(there: LiveNode, here: LiveNode, session: str) -> None:
    """Follow a session there until what is written here has arrived."""
    hub = there.live.hub
    with hub.connect() as connection:
        await hub.subscribe(connection, session_channel(session), 0)
        (written,) = await here.write_status(session, announce=False)
        await read_until(connection, lambda messages: written.id in ids(messages))


async def test_a_process_that_begins_to_listen_while_its_connection_is_lost_misses_nothing(here: LiveNode, there: LiveNode) -> None:
    session = new_id()
    # Both their listening connections.
    ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"
    async with here.engine.connect() as connection:
        assert len((await connection.exec_driver_sql(ended)).all()) == 2
    await follow_one(there, here, session)
    await follow_one(there, here, session)
