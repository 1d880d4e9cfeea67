"""One client's view of the channels it follows. The owner of the transport pulls messages from here and sends them.

Nothing is queued for a client but the answers to what it asked: events are read from the channel's feed at the client's own position,
text from the live state. A client that does not read therefore delays no other client and occupies nothing; it falls behind until it reads again.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import uuid4

import anyio

from tarsy.events.feed import CATCHUP_LIMIT, Entry, Feed, Lost, ReadStore, continues, entry
from tarsy.events.live_state import LiveState, Topic
from tarsy.events.messages import CatchupOverflow, ControlMessage
from tarsy.events.store import EventStore

# Answers waiting for a client that asks faster than it reads; above it, it is not listened to.
MAX_UNREAD_ANSWERS = 64
# Topics told in one turn, so that stored events never wait behind a long row of texts.
TOPICS_PER_TURN = 32
# Positions in texts that have ended are thrown away now and then, since a connection may last for days.
MAX_REMEMBERED_TOPICS = 1_000

# Hands a message to the client's socket at once, or says that this cannot be done now.
WriteNow = Callable[[str], bool]


@dataclass(slots=True)
class Subscription:
    feed: Feed
    cursor: int


class Connection:
    """A client's subscriptions, what it has of each, and what it is to be told next."""

    def __init__(self, store: EventStore, live_state: LiveState) -> None:
        self.id = str(uuid4())
        # Channels it has asked for, and those of them it is told of already.
        self.joined: set[str] = set()
        self.subscriptions: dict[str, Subscription] = {}
        # Text takes this short way when nothing else is to be told before it; None: there is none.
        self.write_now: WriteNow | None = None
        self._store = store
        self._live_state = live_state
        self._answers: deque[str] = deque()
        self._unsaid: dict[str, None] = {}
        self._seen: dict[str, int] = {}
        self._news = anyio.Event()
        # Its task waits for news: the client has been told of all there was.
        self._waits = False
        self._room = anyio.Event()

    def answer(self, message: ControlMessage) -> None:
        self._answers.append(message.model_dump_json())
        self.wake()

    async def room_for_answers(self) -> None:
        """Wait until the client has read enough to be listened to again."""
        while len(self._answers) >= MAX_UNREAD_ANSWERS:
            self._room = anyio.Event()
            await self._room.wait()

    def follow(self, feed: Feed, cursor: int) -> None:
        """Tell of everything after `cursor`, and of the text that is being written."""
        self.subscriptions[feed.channel] = Subscription(feed, cursor)
        for topic in self._live_state.on_channel(feed.channel):
            self._seen.pop(topic.key, None)
            self._unsaid[topic.key] = None
        self.wake()

    def unfollow(self, channel: str) -> None:
        self.subscriptions.pop(channel, None)

    def tell(self, topic: Topic, agreed: int) -> None:
        """A topic has changed after position `agreed`."""
        if self._seen.get(topic.key, 0) > agreed:
            self._seen[topic.key] = agreed
        self._unsaid[topic.key] = None
        if self.write_now is None or not self._waits or self._news.is_set():
            self.wake()
        else:
            self._tell_now(self.write_now)

    def wake(self) -> None:
        self._news.set()

    async def next_messages(self) -> Sequence[str]:
        """Wait for what the client is to be told next: answers first, then events in order, then text."""
        while True:
            if self._news.is_set():
                self._news = anyio.Event()
            messages = self._take_answers() or await self._read_feeds() or self._read_board()
            if messages:
                return messages
            self._waits = True
            try:
                await self._news.wait()
            finally:
                self._waits = False

    def _tell_now(self, write_now: WriteNow) -> None:
        for message in self._read_board():
            if not write_now(message):
                self._answers.append(message)
                self.wake()

    def _take_answers(self) -> list[str]:
        taken = list(self._answers)
        self._answers.clear()
        self._room.set()
        return taken

    async def _read_feeds(self) -> list[str]:
        for subscription in tuple(self.subscriptions.values()):
            if not subscription.feed.settled:
                continue
            match subscription.feed.after(subscription.cursor):
                case Lost():
                    return [self._skip(subscription)]
                case ReadStore():
                    messages = await self._read_store(subscription)
                case entries:
                    messages = _advance(subscription, entries)
            if messages:
                return messages
        return []

    async def _read_store(self, subscription: Subscription) -> list[str]:
        cursor, feed = subscription.cursor, subscription.feed
        events = await self._store.read_after(feed.channel, cursor, CATCHUP_LIMIT)
        if self.subscriptions.get(feed.channel) is not subscription or subscription.cursor != cursor:
            # The client changed its mind while we read: the next turn starts from what it wants now.
            self.wake()
            return []
        if not continues(cursor, events):
            return [self._skip(subscription)]
        # The store may be ahead of the feed; what it has beyond comes by the feed, so that no client is ahead of it by our doing.
        return _advance(subscription, [entry(event) for event in events if event.id <= feed.last])

    def _skip(self, subscription: Subscription) -> str:
        subscription.cursor = subscription.feed.last
        return CatchupOverflow(channel=subscription.feed.channel, last_event_id=subscription.cursor).model_dump_json()

    def _read_board(self) -> list[str]:
        if len(self._seen) > MAX_REMEMBERED_TOPICS:
            self._seen = {key: seen for key, seen in self._seen.items() if self._live_state.get(key)}
        messages: list[str] = []
        for key in tuple(self._unsaid):
            topic = self._live_state.get(key)
            subscription = self.subscriptions.get(topic.channel) if topic else None
            if topic is None or subscription is None:
                del self._unsaid[key]
                self._seen.pop(key, None)
                continue
            if topic.anchor is None or not topic.anchor <= subscription.cursor <= subscription.feed.last:
                # A text must not arrive before the event it belongs to, nor after its end, which a client that is ahead may have seen.
                continue
            del self._unsaid[key]
            told = topic.since(self._seen.get(key, 0))
            if told:
                message, self._seen[key] = told
                messages.append(message)
                if len(messages) == TOPICS_PER_TURN:
                    break
        return messages


def _advance(subscription: Subscription, entries: Sequence[Entry]) -> list[str]:
    if entries:
        subscription.cursor = entries[-1].id
    return [event.text for event in entries]
