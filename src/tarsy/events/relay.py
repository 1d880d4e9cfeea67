"""Carries text and progress between processes: coalesced, only where another process watches, and whole for a reader that joins late."""

from collections.abc import Sequence
from sys import maxsize
from typing import Any

import anyio
from anyio.abc import TaskStatus

from tarsy.domain.live_events import SESSIONS_CHANNEL, StreamDelta, session_channel
from tarsy.events.hub import ConnectionManager
from tarsy.events.live_state import LiveState, OpenStream, Progress, Topic
from tarsy.events.ports import Broadcast
from tarsy.events.relay_wire import (
    TEXT_NOTIFICATION,
    WATCH_NOTIFICATION,
    Bulletin,
    Watch,
    is_from,
    pack_bulletin,
    pack_watch,
    read_bulletin,
    read_watch,
)
from tarsy.kit.clock import Clock

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
