"""A process hears of stored events while its clients follow some, misses none of those, and is left alone otherwise."""

import orjson

from support.live_node import LiveNode, ids, new_id, read_until
from tarsy.db.outbox import EVENTS_NOTIFICATION
from tarsy.domain.live_events import session_channel
from tarsy.events.live_updates import Hearing


def heard_by(node: LiveNode) -> list[str]:
    """The channels of the events that PostgreSQL tells this process of."""
    heard: list[str] = []
    node.listener.subscribe(EVENTS_NOTIFICATION, lambda text: heard.append(orjson.loads(text)["channel"]))
    return heard


async def follow_one(there: LiveNode, here: LiveNode, session: str) -> None:
    """Follow a session there until what is written here has arrived."""
    hub = there.live.hub
    with hub.connect() as connection:
        await hub.subscribe(connection, session_channel(session), 0)
        (written,) = await here.write_status(session, announce=False)
        await read_until(connection, lambda messages: written.id in ids(messages))


async def test_what_no_client_follows_wakes_no_process(here: LiveNode, there: LiveNode) -> None:
    before, followed = new_id(), new_id()
    heard = heard_by(there)
    await here.write_status(before, 3, announce=False)
    await follow_one(there, here, followed)
    # Notifications come in the order of commits: the first three would have come before.
    assert heard == [session_channel(followed)]


async def test_a_process_stops_listening_with_its_last_follower_and_begins_again_with_the_next(here: LiveNode, there: LiveNode) -> None:
    session, unheard = new_id(), new_id()
    heard, hearing = heard_by(there), Hearing(there.listener, EVENTS_NOTIFICATION, lambda: bool(there.live.hub.followed))
    there.live.hub.hear = hearing.begin
    with there.live.hub.connect() as connection:
        await there.live.hub.subscribe(connection, session_channel(session), None)
        await hearing.end_unless_followed()
        (written,) = await here.write_status(session, announce=False)
        await read_until(connection, lambda messages: written.id in ids(messages))
    await hearing.end_unless_followed()
    await here.write_status(unheard, announce=False)
    await follow_one(there, here, session)
    assert heard == [session_channel(session)] * 2


async def test_a_process_that_begins_to_listen_while_its_connection_is_lost_misses_nothing(here: LiveNode, there: LiveNode) -> None:
    session = new_id()
    # Both their listening connections.
    ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"
    async with here.engine.connect() as connection:
        assert len((await connection.exec_driver_sql(ended)).all()) == 2
    await follow_one(there, here, session)
    await follow_one(there, here, session)
