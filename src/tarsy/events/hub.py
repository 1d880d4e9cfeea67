"""The hub: which connections follow which channel, and how every followed channel is kept complete.

An event may arrive twice (from this process and by notification), late, out of order or only as an id: the feed puts it in order
and the hub fetches missing events from the store.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
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

# Two writers of one process may report their commits in the wrong order: the hub waits this long for the other before it queries the store.
OUT_OF_ORDER_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class HubLimits:
    # Each costs a socket and some 100 KB of buffers.
    connections: int = 1_000
    # A dashboard needs two; a wall of sessions a few dozen.
    subscriptions: int = 50


class RefusedError(Exception):
    """The client requested more than it may have; the message has a remedy."""


@dataclass(slots=True)
class _Channel:
    feed: Feed
    followers: dict[Connection, None] = field(default_factory=dict[Connection, None])
    # Set while the feed is not stale.
    refreshed: anyio.Event = field(default_factory=anyio.Event)
    # How often the feed became stale: an answer of the store to a query made before the last time is out of date.
    stale_count: int = 0
    # Whether a task fetches missing events.
    filling: bool = False

    def wake(self) -> None:
        for connection in self.followers:
            connection.wake()


class Hub:
    """Connects the writers and the readers of one process."""

    def __init__(self, store: EventStore, session_exists: SessionExists, live_state: LiveState, *, limits: HubLimits | None = None) -> None:
        self._store = RetryingStore(store, session_exists)
        self._live_state = live_state
        self._limits = limits or HubLimits()
        self._channels: dict[str, _Channel] = {}
        self._connections = 0
        self._tasks: TaskGroup | None = None
        # Called with every channel that gets its first follower here.
        self.on_followed: Callable[[str], None] = lambda _channel: None

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Run the tasks that complete channels, until cancelled."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            task_status.started()
            await anyio.sleep_forever()

    @property
    def followed(self) -> Sequence[str]:
        """The channels that clients of this process follow."""
        return tuple(self._channels)

    @property
    def connection_count(self) -> int:
        return self._connections

    def is_followed(self, channel: str) -> bool:
        return channel in self._channels

    def deliver(self, events: Sequence[StoredLiveEvent]) -> None:
        """Take the events that this process has just committed; never waits."""
        for event in events:
            self._receive(event.channel, event.id, event.payload)

    def on_notification(self, text: str) -> None:
        """Take the notification of an event that any process has committed."""
        message = orjson.loads(text)
        self._receive(message["channel"], message["id"], message.get("payload"))

    def on_gap(self) -> None:
        """Query the newest id of every channel: notifications may have been lost."""
        for channel in self._channels.values():
            self._mark_stale(channel)

    @contextmanager
    def connect(self) -> Generator[Connection]:
        """Yield a new connection, and end its subscriptions with it.

        Raises:
            RefusedError: there are too many.
        """
        if self._connections >= self._limits.connections:
            raise RefusedError("This server has reached its limit of live connections; try again later.")
        connection = Connection(self._store, self._live_state)
        self._connections += 1
        try:
            yield connection
        finally:
            self._connections -= 1
            for name in tuple(connection.joined):
                self.unsubscribe(connection, name)

    async def subscribe(self, connection: Connection, name: str, last_event_id: int | None) -> None:
        """Let `connection` follow a channel from `last_event_id`, or from now.

        Raises:
            UnknownChannelError: there is no such channel.
            RefusedError: the connection follows too many, or the session does not exist.
        """
        session_id = session_of(name)
        if name not in connection.joined and len(connection.joined) >= self._limits.subscriptions:
            raise RefusedError(f"One connection can follow at most {self._limits.subscriptions} channels.")
        if session_id is not None and not await self._store.session_exists(session_id):
            raise RefusedError(f"There is no session {session_id}.")
        channel = self._channels.get(name)
        if channel is None:
            channel = self._channels[name] = _Channel(Feed(name))
            self._start(self._refresh, channel)
            self.on_followed(name)
        channel.followers[connection] = None
        connection.joined.add(name)
        await self._wait_for(channel, last_event_id or 0)
        cursor = channel.feed.last if last_event_id is None else last_event_id
        connection.reply(SubscriptionConfirmed(channel=name, last_event_id=channel.feed.last))
        connection.follow(channel.feed, cursor)

    async def catch_up(self, connection: Connection, name: str, last_event_id: int) -> None:
        """Send a follower all events after `last_event_id` again.

        Raises:
            RefusedError: the connection does not follow the channel.
        """
        if name not in connection.subscriptions:
            raise RefusedError(f"Subscribe to {name[:80]!r} before catching up with it.")
        channel = self._channels[name]
        await self._wait_for(channel, last_event_id)
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
            self._live_state.drop_relayed(name)

    def topic_changed(self, topic: Topic, unchanged: int) -> None:
        """Mark a topic as changed for all connections that follow it; the part before position `unchanged` stayed as it was."""
        channel = self._channels.get(topic.channel)
        if channel is None:
            return
        if topic.anchor is None and not channel.feed.stale:
            # The topic's timeline event was announced before its first text, so it is among the events known by now.
            topic.anchor = channel.feed.target
        for connection in channel.followers:
            connection.topic_changed(topic, unchanged)

    def _receive(self, name: str, event_id: int, payload: Mapping[str, Any] | None) -> None:
        if payload is not None:
            self._end_topics(payload)
        channel = self._channels.get(name)
        if channel is None:
            return
        if channel.feed.add(event_id, payload):
            channel.wake()
        if not channel.feed.stale and not channel.feed.is_complete and not channel.filling:
            channel.filling = True
            self._start(self._fill, channel, OUT_OF_ORDER_SECONDS if payload is not None else 0.0)

    def _end_topics(self, payload: Mapping[str, Any]) -> None:
        kind = payload.get("type")
        if kind == LiveEventType.TIMELINE_COMPLETED:
            self._live_state.end(payload["event_id"])
        elif kind == LiveEventType.SESSION_COMPLETED:
            self._live_state.end_session(payload["session_id"])

    async def _wait_for(self, channel: _Channel, event_id: int) -> None:
        """Wait until the feed knows the newest id; if the client got a newer one from another process, query the store again."""
        await channel.refreshed.wait()
        if event_id > channel.feed.target:
            self._mark_stale(channel)
            await channel.refreshed.wait()

    def _mark_stale(self, channel: _Channel) -> None:
        channel.stale_count += 1
        if not channel.feed.stale:
            channel.feed.mark_stale()
            channel.refreshed = anyio.Event()
            self._start(self._refresh, channel)

    async def _refresh(self, channel: _Channel) -> None:
        """Query the channel's newest id, then fetch the events up to it."""
        feed = channel.feed
        last_id, queried_at = 0, -1
        while queried_at != channel.stale_count:
            queried_at = channel.stale_count
            last_id = await self._store.last_id(feed.channel)
        feed.refresh(last_id)
        for topic in self._live_state.on_channel(feed.channel):
            if topic.anchor is None or topic.anchor > feed.target:
                topic.anchor = feed.target
        channel.refreshed.set()
        if not feed.is_complete and not channel.filling:
            channel.filling = True
            await self._fill(channel, 0.0)
        channel.wake()

    async def _fill(self, channel: _Channel, delay: float) -> None:
        """Fetch missing events until the feed is complete."""
        feed = channel.feed
        await anyio.sleep(delay)
        while not feed.stale and not feed.is_complete:
            if feed.target - feed.last > CATCHUP_LIMIT:
                feed.skip()
                continue
            events = await self._store.read_after(feed.channel, feed.last, CATCHUP_LIMIT)
            for event in events:
                self._end_topics(event.payload)
            feed.extend(events)
        channel.filling = False
        channel.wake()

    def _start(self, work: Callable[..., Any], *arguments: Any) -> None:
        if self._tasks is None:
            raise RuntimeError("the hub is not running")
        self._tasks.start_soon(work, *arguments)
