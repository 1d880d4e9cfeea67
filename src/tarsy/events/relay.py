"""Pure module: what processes tell each other of transient things, packed into as few notifications as fit."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from sys import maxsize
from typing import Any

import anyio
import orjson
from anyio.abc import TaskStatus

from tarsy.domain.live_events import SESSIONS_CHANNEL, StreamDelta, session_channel
from tarsy.events.hub import ConnectionManager
from tarsy.events.live_state import LiveState, OpenStream, Progress, Topic
from tarsy.events.store import Broadcast
from tarsy.kit.clock import Clock

TEXT_NOTIFICATION = "tarsy_stream"
WATCH_NOTIFICATION = "tarsy_watch"
# PostgreSQL refuses 8,000 bytes and more.
PAYLOAD_LIMIT = 7_900
# What the envelope around the items takes, generously.
_ENVELOPE = 100
_TEXT = "t"
_PROGRESS = "p"


@dataclass(frozen=True, slots=True)
class Bulletin:
    """Text and progress from one process."""

    sender: str
    texts: Sequence[StreamDelta] = ()
    progress: Sequence[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


@dataclass(frozen=True, slots=True)
class Watch:
    """The channels a process follows, and those of which it needs the text from the beginning."""

    sender: str
    channels: Sequence[str]
    from_start: Sequence[str] = ()


def pack_bulletin(bulletin: Bulletin) -> list[str]:
    """As few payloads as hold it all; texts too large for one are split."""
    items = [item for delta in bulletin.texts for item in _text_items(delta)]
    items += [orjson.dumps([_PROGRESS, fields]) for fields in bulletin.progress]
    return _pack(bulletin.sender, items)


def read_bulletin(payload: str) -> Bulletin:
    sender, items = _unpack(payload)
    texts = [StreamDelta(*fields) for kind, *fields in items if kind == _TEXT]
    return Bulletin(sender, texts, [fields for kind, fields, *_ in items if kind == _PROGRESS])


def is_from(payload: str, sender: str) -> bool:
    """Whether `sender` wrote a payload, told without reading the rest of it: a process also hears itself."""
    return payload.startswith(_head(sender).decode())


def pack_watch(watch: Watch) -> list[str]:
    from_start = set(watch.from_start)
    return _pack(watch.sender, [orjson.dumps([channel, channel in from_start]) for channel in watch.channels])


def read_watch(payload: str) -> Watch:
    sender, items = _unpack(payload)
    return Watch(sender, [channel for channel, _ in items], [channel for channel, from_start in items if from_start])


def _text_items(delta: StreamDelta) -> Iterator[bytes]:
    item = orjson.dumps([_TEXT, delta.session_id, delta.event_id, delta.offset, delta.delta])
    if len(item) <= PAYLOAD_LIMIT - _ENVELOPE:
        yield item
        return
    half = len(delta.delta) // 2
    yield from _text_items(StreamDelta(delta.session_id, delta.event_id, delta.offset, delta.delta[:half]))
    yield from _text_items(StreamDelta(delta.session_id, delta.event_id, delta.offset + half, delta.delta[half:]))


def _pack(sender: str, items: Iterable[bytes]) -> list[str]:
    payloads: list[str] = []
    group: list[bytes] = []
    size = _ENVELOPE
    for item in items:
        if group and size + len(item) + 1 > PAYLOAD_LIMIT:
            payloads.append(_envelope(sender, group))
            group, size = [], _ENVELOPE
        group.append(item)
        size += len(item) + 1
    if group:
        payloads.append(_envelope(sender, group))
    return payloads


def _envelope(sender: str, group: Sequence[bytes]) -> str:
    return (b'%b,"items":[%b]}' % (_head(sender), b",".join(group))).decode()


def _head(sender: str) -> bytes:
    return b'{"from":%b' % orjson.dumps(sender)


def _unpack(payload: str) -> tuple[str, list[Any]]:
    message = orjson.loads(payload)
    return message["from"], message["items"]


# While text keeps coming, sending it takes at most a fifth of the time: the pause after a send is as many times as long as the send took.
PAUSE_PER_SEND = 4.0
# A quiet database takes a send in a millisecond: text is there before the eye notices, and a fast model's tokens still share a transaction.
SHORTEST_PAUSE_SECONDS = 0.005
# Under load still faster than the eye follows text.
LONGEST_PAUSE_SECONDS = 0.05
# Interest is announced again every REPEAT seconds; two announcements may be lost before it is forgotten.
REPEAT_SECONDS = 5.0
EXPIRY_SECONDS = 16.0
# While the database does not take notifications.
RETRY_SECONDS = 1.0


class Interest:
    """Which channels other processes have asked to hear of, until their announcements expire."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}

    def note(self, channels: Sequence[str], now: float) -> list[str]:
        """Remember an announcement; returns the channels that were not wanted before."""
        self._until = {channel: until for channel, until in self._until.items() if until >= now}
        fresh = [channel for channel in channels if channel not in self._until]
        self._until |= dict.fromkeys(channels, now + EXPIRY_SECONDS)
        return fresh

    def wanted(self, channel: str, now: float) -> bool:
        return self._until.get(channel, float("-inf")) >= now


def pause_after(took: float) -> float:
    """How long to gather text after a send that took so many seconds."""
    return min(max(took * PAUSE_PER_SEND, SHORTEST_PAUSE_SECONDS), LONGEST_PAUSE_SECONDS)


class Relay:
    """What goes out is decided from the live state when it goes out, so nothing is queued and nothing is lost while it cannot."""

    def __init__(self, live_state: LiveState, hub: ConnectionManager, broadcast: Broadcast, *, process_id: str, clock: Clock) -> None:
        self._live_state = live_state
        self._hub = hub
        self._broadcast = broadcast
        self._process_id = process_id
        self._clock = clock
        self._interest = Interest()
        self._changed: dict[str, None] = {}
        self._from_start: dict[str, None] = {}
        self._news = anyio.Event()

    def offer(self, topic: Topic) -> None:
        """A topic of our own has changed."""
        if self._interest.wanted(topic.channel, self._clock.monotonic()):
            self._changed[topic.key] = None
            self._news.set()

    def watch(self, channel: str) -> None:
        """A client here follows a channel, or has missed some of it: the other processes shall send its text from the start."""
        self._from_start[channel] = None
        self._news.set()

    def on_gap(self) -> None:
        for channel in self._hub.followed:
            self.watch(channel)

    def on_watch(self, payload: str) -> None:
        """Another process says what it follows."""
        if is_from(payload, self._process_id):
            return
        watch = read_watch(payload)
        for channel in self._interest.note(watch.channels, self._clock.monotonic()):
            self._resend(channel, from_start=False)
        for channel in watch.from_start:
            self._resend(channel, from_start=True)

    def on_bulletin(self, payload: str) -> None:
        """Another process tells of its text."""
        if is_from(payload, self._process_id):
            return
        bulletin = read_bulletin(payload)
        for delta in bulletin.texts:
            if self._hub.is_followed(session_channel(delta.session_id)):
                self._take_text(delta)
        for fields in bulletin.progress:
            if self._hub.is_followed(SESSIONS_CHANNEL):
                self._take_progress(fields)

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Send until cancelled: at once after a quiet time, in larger portions the longer sending takes."""
        task_status.started()
        repeat_at = self._clock.monotonic() + REPEAT_SECONDS
        while True:
            with anyio.move_on_after(repeat_at - self._clock.monotonic()):
                await self._news.wait()
            self._news = anyio.Event()
            began = self._clock.monotonic()
            sent = await self._send_watch(repeat=began >= repeat_at) and await self._send_bulletin()
            if not sent:
                self._news.set()
            repeat_at = began + REPEAT_SECONDS if began >= repeat_at else repeat_at
            await anyio.sleep(pause_after(self._clock.monotonic() - began) if sent else RETRY_SECONDS)

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

    async def _send_bulletin(self) -> bool:
        topics = self._take_changed()
        streams = [topic for topic in topics if isinstance(topic, OpenStream)]
        texts = [StreamDelta(stream.session_id, stream.key, stream.relayed, stream.text.since(stream.relayed)) for stream in streams]
        progress = [topic.fields for topic in topics if isinstance(topic, Progress)]
        payloads = pack_bulletin(Bulletin(self._process_id, [delta for delta in texts if delta.delta], progress))
        # Noted before the wait: text that comes meanwhile, or is asked for from the start again, belongs to the next bulletin.
        for stream in streams:
            stream.relayed = stream.text.length
        if not payloads or await self._broadcast.send(TEXT_NOTIFICATION, payloads):
            return True
        for stream, delta in zip(streams, texts, strict=True):
            stream.relayed = min(stream.relayed, delta.offset)
        self._changed |= dict.fromkeys(topic.key for topic in topics)
        return False

    def _take_changed(self) -> list[Topic]:
        topics = [topic for key in self._changed if (topic := self._live_state.get(key)) is not None]
        self._changed.clear()
        return topics

    def _resend(self, channel: str, *, from_start: bool) -> None:
        for topic in self._live_state.on_channel(channel):
            if not topic.own:
                continue
            if from_start and isinstance(topic, OpenStream):
                topic.relayed = 0
            self._changed[topic.key] = None
            self._news.set()

    def _take_text(self, delta: StreamDelta) -> None:
        stream = self._live_state.stream(delta, own=False)
        if stream is None or stream.own:
            return
        agreed = stream.text.put(delta.offset, delta.delta)
        if agreed is None:
            self.watch(stream.channel)
        else:
            self._hub.tell(stream, agreed)

    def _take_progress(self, fields: dict[str, Any]) -> None:
        progress = self._live_state.progress(fields["session_id"], own=False)
        if progress is not None:
            progress.update(fields)
            self._hub.tell(progress, agreed=maxsize)
