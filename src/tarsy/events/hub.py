"""The hub: which connections follow which channel, and how every channel is kept complete.

An event may arrive twice (from this process and by notification), late, out of order or only as a number: the feed puts it in order
and the hub fetches what is missing from the store.
"""

from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import orjson
from anyio.abc import TaskGroup, TaskStatus

from tarsy.domain.live_events import LiveEventType, StoredLiveEvent, session_of
from tarsy.events.connection import Connection
from tarsy.events.feed import CATCHUP_LIMIT, Feed
from tarsy.events.live_state import LiveState, Topic
from tarsy.events.messages import SubscriptionConfirmed
from tarsy.events.store import EventStore, RetryingStore, SessionExists

# Two writers of one process may report their commits in the wrong order: the other is waited for before the store is asked.
OUT_OF_ORDER_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class HubLimits:
    # Each costs a socket and some 100 KB of buffers.
    connections: int = 1_000
    # A dashboard needs two; a wall of sessions a few dozen.
    subscriptions: int = 50


class RefusedError(Exception):
    """The client asked for more than it may have; the text says what would help."""


@dataclass(slots=True)
class _Channel:
    feed: Feed
    followers: dict[Connection, None] = field(default_factory=dict[Connection, None])
    settled: anyio.Event = field(default_factory=anyio.Event)
    # Counts the reasons to ask the store where the channel stands: an answer given before the last one is worth nothing.
    doubts: int = 0
    filling: bool = False

    def wake(self) -> None:
        for connection in self.followers:
            connection.wake()


class ConnectionManager:
    """The meeting point of writers and readers in one process."""

    def __init__(self, store: EventStore, session_exists: SessionExists, live_state: LiveState, *, limits: HubLimits | None = None) -> None:
        self._store = RetryingStore(store, session_exists)
        self._live_state = live_state
        self._limits = limits or HubLimits()
        self._channels: dict[str, _Channel] = {}
        self._connections = 0
        self._tasks: TaskGroup | None = None
        # Told of every channel that gets its first follower here.
        self.on_followed: Callable[[str], None] = _ask_no_one
        # Returns when whatever is written from then on is heard of here.
        self.hear: Callable[[], Awaitable[None]] = _hear_already

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Own the tasks that complete channels, until cancelled."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            task_status.started()
            await anyio.sleep_forever()

    @property
    def followed(self) -> Sequence[str]:
        """The channels that clients here follow."""
        return tuple(self._channels)

    @property
    def connection_count(self) -> int:
        return self._connections

    def is_followed(self, channel: str) -> bool:
        return channel in self._channels

    def deliver(self, events: Sequence[StoredLiveEvent]) -> None:
        """Hand over what this process has just committed; never waits."""
        for event in events:
            self._take(event.channel, event.id, event.payload)

    def on_notification(self, text: str) -> None:
        """Hand over what any process has committed."""
        message = orjson.loads(text)
        self._take(message["channel"], message["id"], message.get("payload"))

    def on_gap(self) -> None:
        """Notifications may have been lost: ask the store where every channel stands."""
        for channel in self._channels.values():
            self._doubt(channel)

    @contextmanager
    def connect(self) -> Generator[Connection]:
        """A new connection, followed through to its end.

        Raises:
            RefusedError: there are too many.
        """
        if self._connections >= self._limits.connections:
            raise RefusedError("This server has as many live connections as it takes; try again later.")
        connection = Connection(self._store, self._live_state)
        self._connections += 1
        try:
            yield connection
        finally:
            self._disconnect(connection)

    def _disconnect(self, connection: Connection) -> None:
        self._connections -= 1
        for name in tuple(connection.joined):
            self.unsubscribe(connection, name)

    async def subscribe(self, connection: Connection, name: str, last_event_id: int | None) -> None:
        """Let `connection` follow a channel from `last_event_id`, or from now.

        Raises:
            UnknownChannelError: there is no such channel.
            RefusedError: it follows too many, or the session does not exist.
        """
        await self._check(connection, name)
        channel = self._join(connection, name)
        await self._reach(channel, last_event_id or 0)
        cursor = channel.feed.last if last_event_id is None else last_event_id
        connection.answer(SubscriptionConfirmed(channel=name, last_event_id=channel.feed.last))
        connection.follow(channel.feed, cursor)

    async def _check(self, connection: Connection, name: str) -> None:
        session_id = session_of(name)
        if name not in connection.joined and len(connection.joined) >= self._limits.subscriptions:
            raise RefusedError(f"One connection follows {self._limits.subscriptions} channels at most.")
        if session_id is not None and not await self._store.session_exists(session_id):
            raise RefusedError(f"There is no session {session_id}.")

    async def catch_up(self, connection: Connection, name: str, last_event_id: int) -> None:
        """Tell a follower again of everything after `last_event_id`.

        Raises:
            RefusedError: it does not follow the channel.
        """
        if name not in connection.subscriptions:
            raise RefusedError(f"Subscribe to {name[:80]!r} before catching up with it.")
        channel = self._channels[name]
        await self._reach(channel, last_event_id)
        connection.follow(channel.feed, last_event_id)

    def unsubscribe(self, connection: Connection, name: str) -> None:
        connection.joined.discard(name)
        connection.unfollow(name)
        channel = self._channels.get(name)
        if channel is None:
            return
        channel.followers.pop(connection, None)
        if not channel.followers:
            del self._channels[name]
            self._live_state.forget_foreign(name)

    def tell(self, topic: Topic, agreed: int) -> None:
        """A topic of the live state has changed after position `agreed`."""
        channel = self._channels.get(topic.channel)
        if channel is None:
            return
        if topic.anchor is None and channel.feed.settled:
            # Its timeline event was announced before its first text, so everything known by now is enough to wait for.
            topic.anchor = channel.feed.target
        for connection in channel.followers:
            connection.tell(topic, agreed)

    def _take(self, name: str, identity: int, payload: Mapping[str, Any] | None) -> None:
        if payload is not None:
            self._end_topics(payload)
        channel = self._channels.get(name)
        if channel is None:
            return
        if channel.feed.offer(identity, payload):
            channel.wake()
        if channel.feed.settled and not channel.feed.is_complete and not channel.filling:
            channel.filling = True
            self._start(self._fill, channel, OUT_OF_ORDER_SECONDS if payload is not None else 0.0)

    def _end_topics(self, payload: Mapping[str, Any]) -> None:
        kind = payload.get("type")
        if kind == LiveEventType.TIMELINE_COMPLETED:
            self._live_state.end(payload["event_id"])
        elif kind == LiveEventType.SESSION_COMPLETED:
            self._live_state.end_session(payload["session_id"])

    def _join(self, connection: Connection, name: str) -> _Channel:
        channel = self._channels.get(name)
        if channel is None:
            channel = self._channels[name] = _Channel(Feed(name))
            self._start(self._settle, channel)
            self.on_followed(name)
        channel.followers[connection] = None
        connection.joined.add(name)
        return channel

    async def _reach(self, channel: _Channel, event_id: int) -> None:
        """Wait until the feed knows its place; a client that has seen more than this process is no reason to doubt the client."""
        await channel.settled.wait()
        if event_id > channel.feed.target:
            self._doubt(channel)
            await channel.settled.wait()

    def _doubt(self, channel: _Channel) -> None:
        channel.doubts += 1
        if channel.feed.settled:
            channel.feed.unsettle()
            channel.settled = anyio.Event()
            self._start(self._settle, channel)

    async def _settle(self, channel: _Channel) -> None:
        feed, doubts = channel.feed, -1
        last_id = 0
        while doubts != channel.doubts:
            doubts = channel.doubts
            await self.hear()
            last_id = await self._store.last_id(feed.channel)
        feed.settle(last_id)
        for topic in self._live_state.on_channel(feed.channel):
            if topic.anchor is None or topic.anchor > feed.target:
                topic.anchor = feed.target
        channel.settled.set()
        if not feed.is_complete and not channel.filling:
            channel.filling = True
            await self._fill(channel, 0.0)
        channel.wake()

    async def _fill(self, channel: _Channel, patience: float) -> None:
        feed = channel.feed
        await anyio.sleep(patience)
        while feed.settled and not feed.is_complete:
            if feed.target - feed.last > CATCHUP_LIMIT:
                feed.skip()
            else:
                self._extend(feed, await self._store.read_after(feed.channel, feed.last, CATCHUP_LIMIT))
        channel.filling = False
        channel.wake()

    def _extend(self, feed: Feed, events: Sequence[StoredLiveEvent]) -> None:
        for event in events:
            self._end_topics(event.payload)
        feed.extend(events)

    def _start(self, work: Callable[..., Any], *arguments: Any) -> None:
        if self._tasks is None:
            raise RuntimeError("the hub is not running")
        self._tasks.start_soon(work, *arguments)


def _ask_no_one(_channel: str) -> None: ...


async def _hear_already() -> None: ...
