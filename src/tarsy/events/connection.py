"""One client's view of the channels that it follows. The task that owns the client's transport pulls messages from here and sends them.

Nothing is queued for a client except the replies to its own requests: events are read from the channel's feed at the client's own
position, text from the live state. A client that stops reading therefore delays no other client and holds no memory; it falls behind
until it reads again.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import uuid4

import anyio

from tarsy.events.feed import CATCHUP_LIMIT, Behind, Feed, continues, encoded
from tarsy.events.live_state import LiveState, Topic
from tarsy.events.messages import CatchupOverflow, ControlMessage
from tarsy.events.store import EventStore
from tarsy.kit.auto_reset_event import AutoResetEvent

# Replies waiting for a client that sends requests faster than it reads; above it, its requests are not read.
MAX_UNREAD_REPLIES = 64
# Requests of a client that are read in one second: a dashboard sends some dozens when it opens.
REQUESTS_PER_SECOND = 100
# Topics sent in one turn, so that stored events never wait behind many texts.
TOPICS_PER_TURN = 32
# Positions in texts that have ended are dropped now and then, since a connection may last for days.
MAX_REMEMBERED_TOPICS = 1_000


@dataclass(slots=True)
class Subscription:
    feed: Feed
    cursor: int


class Connection:
    """A client's subscriptions, its position in each, and the messages to send to it next."""

    def __init__(self, store: EventStore, live_state: LiveState) -> None:
        self.id = str(uuid4())
        # All channels that the client subscribed to; `subscriptions` has those whose position is known.
        self.joined: set[str] = set()
        self.subscriptions: dict[str, Subscription] = {}
        self._store = store
        self._live_state = live_state
        self._replies: deque[str] = deque()
        self._replies_read = AutoResetEvent()
        # Topics that changed after they were sent, and the client's position in each topic.
        self._changed: dict[str, None] = {}
        self._positions: dict[str, int] = {}
        self._wakeup = anyio.Event()
        # Requests that may still be read before this second ends.
        self._requests_left = 0
        self._second_ends = 0.0

    def reply(self, message: ControlMessage) -> None:
        self._replies.append(message.model_dump_json())
        self.wake()

    async def wait_for_room(self) -> None:
        """Wait until the client's next request may be read: until it has read enough replies, and a second after too many requests."""
        if not self._requests_left:
            await anyio.sleep_until(self._second_ends)
        if anyio.current_time() >= self._second_ends:
            self._requests_left, self._second_ends = REQUESTS_PER_SECOND, anyio.current_time() + 1.0
        self._requests_left -= 1
        while len(self._replies) >= MAX_UNREAD_REPLIES:
            await self._replies_read.wait()

    def follow(self, feed: Feed, cursor: int) -> None:
        """Send all events after `cursor`, and the text that is being written."""
        self.subscriptions[feed.channel] = Subscription(feed, cursor)
        for topic in self._live_state.on_channel(feed.channel):
            self._positions.pop(topic.key, None)
            self._changed[topic.key] = None
        self.wake()

    def unfollow(self, channel: str) -> None:
        self.subscriptions.pop(channel, None)

    def topic_changed(self, topic: Topic, unchanged: int) -> None:
        """Mark a topic as changed: `next_messages` returns what is new. The part before position `unchanged` stayed as it was."""
        if self._positions.get(topic.key, 0) > unchanged:
            self._positions[topic.key] = unchanged
        self._changed[topic.key] = None
        self.wake()

    def wake(self) -> None:
        self._wakeup.set()

    async def next_messages(self) -> Sequence[str]:
        """Wait for the next messages to send: replies first, then events of one channel in order and some text."""
        while True:
            # Before anything is read: a change made during a read must cause another one.
            self._wakeup = anyio.Event()
            if self._replies:
                replies = list(self._replies)
                self._replies.clear()
                self._replies_read.set()
                return replies
            if messages := [*await self._read_feeds(), *self._read_topics()]:
                return messages
            await self._wakeup.wait()

    async def _read_feeds(self) -> list[str]:
        """Return the next events of one channel, which comes last in the next turn: a busy one keeps no other waiting."""
        for channel in tuple(self.subscriptions):
            subscription = self.subscriptions.get(channel)
            if subscription is None or subscription.feed.stale:
                continue
            feed, cursor = subscription.feed, subscription.cursor
            entries = feed.after(cursor)
            if entries is Behind.READ_STORE:
                events = await self._store.read_after(channel, cursor, CATCHUP_LIMIT)
                if self.subscriptions.get(channel) is not subscription or subscription.cursor != cursor:
                    # The client left the channel or requested another position meanwhile: the next turn reads from there.
                    self.wake()
                    continue
                # The store may be ahead of the feed; newer events arrive through the feed, so that no client is ahead of it.
                entries = [encoded(event) for event in events if event.id <= feed.last] if continues(cursor, events) else Behind.RELOAD
            if isinstance(entries, Behind):
                subscription.cursor = feed.last
                messages = [CatchupOverflow(channel=channel, last_event_id=feed.last).model_dump_json()]
            elif entries:
                subscription.cursor = entries[-1].id
                messages = [entry.text for entry in entries]
            else:
                continue
            self.subscriptions[channel] = self.subscriptions.pop(channel)
            return messages
        return []

    def _read_topics(self) -> list[str]:
        if len(self._positions) > MAX_REMEMBERED_TOPICS:
            self._positions = {key: position for key, position in self._positions.items() if self._live_state.get(key)}
        messages: list[str] = []
        for key in tuple(self._changed):
            topic = self._live_state.get(key)
            subscription = self.subscriptions.get(topic.channel) if topic else None
            if topic is None or subscription is None:
                del self._changed[key]
                self._positions.pop(key, None)
                continue
            if topic.anchor is None or not topic.anchor <= subscription.cursor <= subscription.feed.last:
                # Text must arrive neither before the event it belongs to nor after its end, which a client that is ahead may have.
                continue
            del self._changed[key]
            if update := topic.since(self._positions.get(key, 0)):
                message, self._positions[key] = update
                messages.append(message)
                if len(messages) == TOPICS_PER_TURN:
                    break
        return messages
