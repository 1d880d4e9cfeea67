"""Carries text and progress between processes by notifications: coalesced, only where another process follows, and from the beginning for a client that joins mid-stream."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from sys import maxsize
from typing import Any

import anyio
import orjson

from tarsy.domain.live_events import SESSIONS_CHANNEL, StreamDelta, session_channel
from tarsy.events.hub import Hub
from tarsy.events.live_state import LiveState, OpenStream, Progress, Topic
from tarsy.events.store import Broadcast
from tarsy.kit.auto_reset_event import AutoResetEvent

TEXT_NOTIFICATION = "tarsy_stream"
WATCH_NOTIFICATION = "tarsy_watch"
# PostgreSQL refuses 8,000 bytes and more.
PAYLOAD_LIMIT = 7_900
# An upper bound for the size of the envelope around the items.
_ENVELOPE = 100
_TEXT = "t"
_PROGRESS = "p"

# While text keeps coming, sending takes at most a fifth of the time: the pause after a send is this many times as long as the send.
PAUSE_PER_SEND = 4.0
# A quiet database takes a send in a millisecond: text arrives before the eye notices, and a fast model's tokens still share a transaction.
SHORTEST_PAUSE_SECONDS = 0.005
# Under load still faster than the eye follows text.
LONGEST_PAUSE_SECONDS = 0.05
# Each process announces the channels it follows every REPEAT seconds; two announcements may be lost before they expire.
REPEAT_SECONDS = 5.0
EXPIRY_SECONDS = 16.0
# While the database does not take notifications.
RETRY_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class TopicUpdates:
    """What is new in the topics of one process."""

    sender: str
    texts: Sequence[StreamDelta] = ()
    progress: Sequence[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


@dataclass(frozen=True, slots=True)
class Watch:
    """The channels a process follows, and those whose text it needs from the beginning."""

    sender: str
    channels: Sequence[str]
    from_start: Sequence[str] = ()


def pack_updates(updates: TopicUpdates) -> list[str]:
    """Return as few payloads as hold all updates; texts too large for one are split."""
    items = [item for delta in updates.texts for item in _text_items(delta)]
    items += [orjson.dumps([_PROGRESS, fields]) for fields in updates.progress]
    return _pack(updates.sender, items)


def parse_updates(payload: str) -> TopicUpdates:
    message = orjson.loads(payload)
    texts = [StreamDelta(*fields) for kind, *fields in message["items"] if kind == _TEXT]
    return TopicUpdates(message["from"], texts, [fields for kind, fields, *_ in message["items"] if kind == _PROGRESS])


def pack_watch(watch: Watch) -> list[str]:
    from_start = set(watch.from_start)
    return _pack(watch.sender, [orjson.dumps([channel, channel in from_start]) for channel in watch.channels])


def parse_watch(payload: str) -> Watch:
    message = orjson.loads(payload)
    items = message["items"]
    return Watch(message["from"], [channel for channel, _ in items], [channel for channel, from_start in items if from_start])


def _text_items(delta: StreamDelta) -> Iterator[bytes]:
    item = orjson.dumps([_TEXT, delta.session_id, delta.event_id, delta.offset, delta.delta])
    if len(item) <= PAYLOAD_LIMIT - _ENVELOPE:
        yield item
        return
    half = len(delta.delta) // 2
    yield from _text_items(StreamDelta(delta.session_id, delta.event_id, delta.offset, delta.delta[:half]))
    yield from _text_items(StreamDelta(delta.session_id, delta.event_id, delta.offset + half, delta.delta[half:]))


def _pack(sender: str, items: Iterable[bytes]) -> list[str]:
    groups: list[list[bytes]] = []
    size = PAYLOAD_LIMIT
    for item in items:
        size += len(item) + 1
        if size > PAYLOAD_LIMIT:
            groups.append([])
            size = _ENVELOPE + len(item) + 1
        groups[-1].append(item)
    return [orjson.dumps({"from": sender, "items": [orjson.Fragment(item) for item in group]}).decode() for group in groups]


class Interest:
    """The channels that other processes follow, until their announcements expire."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}

    def announced(self, channels: Sequence[str], now: float) -> list[str]:
        """Remember an announcement; return the channels that no other process followed before."""
        self._until = {channel: until for channel, until in self._until.items() if until >= now}
        fresh = [channel for channel in channels if channel not in self._until]
        self._until |= dict.fromkeys(channels, now + EXPIRY_SECONDS)
        return fresh

    def includes(self, channel: str, now: float) -> bool:
        return self._until.get(channel, float("-inf")) >= now


def pause_after(took: float) -> float:
    """Return how many seconds to collect text after a send that took `took` seconds."""
    return min(max(took * PAUSE_PER_SEND, SHORTEST_PAUSE_SECONDS), LONGEST_PAUSE_SECONDS)


class Relay:
    """Payloads are made from the live state when they are sent, so nothing is queued and nothing is lost while sending is not possible."""

    def __init__(self, live_state: LiveState, hub: Hub, broadcast: Broadcast, *, process_id: str) -> None:
        self._live_state = live_state
        self._hub = hub
        self._broadcast = broadcast
        self._process_id = process_id
        self._interest = Interest()
        # Topics with updates to send, and channels whose text to request from the beginning.
        self._changed: dict[str, None] = {}
        self._from_start: dict[str, None] = {}
        self._wakeup = AutoResetEvent()

    def topic_changed(self, topic: Topic) -> None:
        """Mark a topic of this process as changed, if another process follows its channel: `run` sends what is new."""
        if self._interest.includes(topic.channel, anyio.current_time()):
            self._changed[topic.key] = None
            self._wakeup.set()

    def watch(self, channel: str) -> None:
        """Request the text of a channel from its beginning: a client here follows it, or updates were missed."""
        self._from_start[channel] = None
        self._wakeup.set()

    def on_gap(self) -> None:
        for channel in self._hub.followed:
            self.watch(channel)

    def on_watch(self, payload: str) -> None:
        """Handle another process's announcement of the channels it follows."""
        watch = parse_watch(payload)
        if watch.sender == self._process_id:
            return
        for channel in self._interest.announced(watch.channels, anyio.current_time()):
            self._resend(channel, from_start=False)
        for channel in watch.from_start:
            self._resend(channel, from_start=True)

    def on_updates(self, payload: str) -> None:
        """Handle the updates of another process's topics."""
        updates = parse_updates(payload)
        if updates.sender == self._process_id:
            return
        for delta in updates.texts:
            channel = session_channel(delta.session_id)
            stream = self._live_state.stream(delta, own=False) if self._hub.is_followed(channel) else None
            if stream is None or stream.own:
                continue
            unchanged = stream.write(delta.offset, delta.delta)
            if unchanged is None:
                self.watch(channel)
            else:
                self._hub.topic_changed(stream, unchanged)
        for fields in updates.progress:
            progress = self._live_state.progress(fields["session_id"], own=False) if self._hub.is_followed(SESSIONS_CHANNEL) else None
            if progress is not None:
                progress.update(fields)
                self._hub.topic_changed(progress, unchanged=maxsize)

    async def run(self) -> None:
        """Send until cancelled: at once after a quiet time, in larger portions the longer sending takes."""
        repeat_at = anyio.current_time() + REPEAT_SECONDS
        while True:
            await self._wakeup.wait(repeat_at - anyio.current_time())
            began = anyio.current_time()
            sent = await self._send_watch(repeat=began >= repeat_at) and await self._send_updates()
            if not sent:
                self._wakeup.set()
            repeat_at = began + REPEAT_SECONDS if began >= repeat_at else repeat_at
            await anyio.sleep(pause_after(anyio.current_time() - began) if sent else RETRY_SECONDS)

    async def _send_watch(self, *, repeat: bool) -> bool:
        from_start = [channel for channel in self._from_start if self._hub.is_followed(channel)]
        self._from_start.clear()
        channels = self._hub.followed if repeat else from_start
        if not channels:
            return True
        sent = await self._broadcast.send(WATCH_NOTIFICATION, pack_watch(Watch(self._process_id, channels, from_start)))
        if not sent:
            self._from_start |= dict.fromkeys(from_start)
        return sent

    async def _send_updates(self) -> bool:
        topics = [topic for key in self._changed if (topic := self._live_state.get(key)) is not None]
        self._changed.clear()
        streams = [topic for topic in topics if isinstance(topic, OpenStream)]
        texts = [StreamDelta(stream.session_id, stream.key, stream.relayed, stream.text[stream.relayed :]) for stream in streams]
        progress = [topic.fields for topic in topics if isinstance(topic, Progress)]
        payloads = pack_updates(TopicUpdates(self._process_id, [delta for delta in texts if delta.delta], progress))
        # Before the wait: text that is written meanwhile, or requested from the beginning again, belongs to the next updates.
        for stream in streams:
            stream.relayed = len(stream.text)
        if not payloads or await self._broadcast.send(TEXT_NOTIFICATION, payloads):
            return True
        for stream, delta in zip(streams, texts, strict=True):
            stream.relayed = min(stream.relayed, delta.offset)
        self._changed |= dict.fromkeys(topic.key for topic in topics)
        return False

    def _resend(self, channel: str, *, from_start: bool) -> None:
        for topic in self._live_state.on_channel(channel):
            if not topic.own:
                continue
            if from_start and isinstance(topic, OpenStream):
                topic.relayed = 0
            self._changed[topic.key] = None
            self._wakeup.set()
