"""Whatever happens to clients, processes and connections: what each client saw is what was stored."""

from dataclasses import dataclass, field
from random import Random

import anyio
import orjson
import pytest
import sqlalchemy as sa

from support.live_node import GIVE_UP_SECONDS, LiveNode, Message, completed_event, created_event, delta, live_node, new_id
from tarsy.domain.live_events import session_channel
from tarsy.events.connection import Connection

ROUNDS = 40
WRITERS = 3
READERS = 6

_END_LISTENERS = sa.text(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle' AND query LIKE 'LISTEN%'"
)


def chances(seed: int, role: str, number: int) -> Random:
    return Random(f"{seed} {role} {number}")  # noqa: S311 - a test that can be repeated, not a secret


@dataclass(slots=True)
class Reader:
    """A client that obeys the protocol: it continues after its last event and puts each chunk at its place."""

    last: int = 0
    seen: list[int] = field(default_factory=list[int])
    texts: dict[str, str] = field(default_factory=dict[str, str])
    created: set[str] = field(default_factory=set[str])
    ended: set[str] = field(default_factory=set[str])

    def take(self, message: Message) -> None:
        match message["type"]:
            case "stream.chunk" if message["event_id"] in self.ended:
                pass
            case "stream.chunk":
                assert message["event_id"] in self.created, "text before its event"
                known = self.texts.get(message["event_id"], "")
                assert message["offset"] <= len(known), "a hole in the text"
                self.texts[message["event_id"]] = known[: message["offset"]] + message["delta"]
            case "subscription.confirmed":
                pass
            case "timeline_event.created":
                self.created.add(message["event"]["id"])
                self._step(message["id"])
            case "timeline_event.completed":
                self.ended.add(message["event_id"])
                assert message["content"].startswith(self.texts.get(message["event_id"], ""))
                self._step(message["id"])
            case _:
                self._step(message["id"])

    def _step(self, identity: int) -> None:
        assert identity == self.last + 1, "a gap or a repetition"
        self.last = identity
        self.seen.append(identity)


async def write(node: LiveNode, session: str, chance: Random) -> None:
    for _ in range(ROUNDS):
        event, text = new_id(), ""
        # Sometimes larger than a notification, so that it arrives as a number only.
        await node.write([created_event(session, event, filler="x" * chance.choice([0, 0, 9_000]))])
        for number in range(chance.randrange(6)):
            piece = f"{number} word "
            node.live.publish(delta(session, event, len(text), piece))
            text += piece
            await anyio.sleep(chance.random() * 0.004)
        await node.write([completed_event(session, event, text + "x" * chance.choice([0, 9_000]))], announce=chance.random() < 0.9)


async def read(reader: Reader, nodes: list[LiveNode], session: str, until: int, chance: Random) -> None:
    """Come and go, read quickly or slowly, until all is seen."""
    while reader.last < until:
        node = chance.choice(nodes)
        with node.live.hub.connect() as connection:
            await node.live.hub.subscribe(connection, session_channel(session), reader.last)
            with anyio.move_on_after(chance.random() * 0.4):
                await follow(reader, connection, until, lazy=chance.random() < 0.3, chance=chance)


async def follow(reader: Reader, connection: Connection, until: int, *, lazy: bool, chance: Random) -> None:
    while reader.last < until:
        for message in await connection.next_messages():
            reader.take(orjson.loads(message))
        if lazy:
            await anyio.sleep(chance.random() * 0.05)


async def cut_now_and_then(node: LiveNode, chance: Random) -> None:
    while True:
        await anyio.sleep(0.1 + chance.random() * 0.3)
        with anyio.CancelScope(shield=True):
            async with node.engine.begin() as connection:
                await connection.execute(_END_LISTENERS)


@pytest.mark.parametrize("seed", range(3))
async def test_every_reader_sees_the_stored_truth(database_url: str, seed: int) -> None:
    session, total = new_id(), 2 * ROUNDS * WRITERS
    readers = [Reader() for _ in range(READERS)]
    async with live_node(database_url) as one, live_node(database_url) as two:
        nodes = [one, two]
        with anyio.fail_after(2 * GIVE_UP_SECONDS):
            async with anyio.create_task_group() as disturbance:
                disturbance.start_soon(cut_now_and_then, one, chances(seed, "line", 0))
                async with anyio.create_task_group() as work:
                    for number in range(WRITERS):
                        work.start_soon(write, nodes[number % 2], session, chances(seed, "writer", number))
                    for number, reader in enumerate(readers):
                        work.start_soon(read, reader, nodes, session, total, chances(seed, "reader", number))
                disturbance.cancel_scope.cancel()
        stored = await one.outbox.read_after(session_channel(session), 0, total + 1)
    assert len(stored) == total
    assert all(reader.seen == [event.id for event in stored] for reader in readers)
