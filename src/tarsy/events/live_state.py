"""The transient state of running sessions: text that is being written, and progress. A client that joins mid-stream or reads slowly gets it from here.

Readers remember one number per topic (how much they have) and request the rest; nothing is queued for a reader.
"""

from collections.abc import Iterable
from typing import Any, Protocol, TypeVar

import orjson

from tarsy.domain.live_events import SESSIONS_CHANNEL, StreamDelta, session_channel

# Text of a stream that has ended may still be on its way from another process; it must not open the stream again.
_REMEMBERED_ENDS = 2_000


class Topic(Protocol):
    """One transient thing. `anchor` is the stored event that a reader must have first; None while it is not known."""

    key: str
    channel: str
    anchor: int | None
    # Whether this process writes it, or relays what another one writes.
    own: bool

    def since(self, position: int) -> tuple[str, int] | None:
        """Return the message for a reader at `position` and the reader's position after it; None if nothing is new."""
        ...


T = TypeVar("T", bound=Topic)


class OpenStream:
    """The text so far of a timeline event that is still being written. Positions are in characters."""

    def __init__(self, delta: StreamDelta, *, own: bool) -> None:
        self.key = delta.event_id
        self.session_id = delta.session_id
        self.channel = session_channel(delta.session_id)
        self.anchor: int | None = None
        self.own = own
        self.text = ""
        # How much of it was sent to the other processes; see `relay`.
        self.relayed = 0

    def write(self, offset: int, piece: str) -> int | None:
        """Write `piece` at `offset`; text behind `offset` is kept if it agrees with `piece`, and cut off if it does not.

        Returns the length of the text that stayed as it was, or None if `offset` is beyond the end.
        """
        if offset > len(self.text):
            return None
        known = self.text[offset:]
        if known.startswith(piece):
            return len(self.text)
        if not piece.startswith(known):
            self.text = self.text[:offset]
        unchanged = len(self.text)
        self.text += piece[unchanged - offset :]
        return unchanged

    def since(self, position: int) -> tuple[str, int] | None:
        if position >= len(self.text):
            return None
        message = {
            "type": "stream.chunk",
            "channel": self.channel,
            "session_id": self.session_id,
            "event_id": self.key,
            "offset": position,
            "delta": self.text[position:],
        }
        return orjson.dumps(message).decode(), len(self.text)


class Progress:
    """Where a running session is; positions count the updates, and only the newest is sent."""

    def __init__(self, session_id: str, *, own: bool) -> None:
        self.key = _progress_key(session_id)
        self.channel = SESSIONS_CHANNEL
        self.anchor: int | None = 0
        self.own = own
        self.fields: dict[str, Any] = {}
        self._updates = 0

    def update(self, fields: dict[str, Any]) -> None:
        self.fields = fields
        self._updates += 1

    def since(self, position: int) -> tuple[str, int] | None:
        if position >= self._updates:
            return None
        return orjson.dumps({"type": "session.progress", "channel": self.channel, **self.fields}).decode(), self._updates


def _progress_key(session_id: str) -> str:
    return f"progress:{session_id}"


class LiveState:
    """All topics of this process: its own, and those of other processes that a client here follows."""

    def __init__(self) -> None:
        self._topics: dict[str, Topic] = {}
        self._by_channel: dict[str, dict[str, Topic]] = {}
        self._ended: dict[str, None] = {}

    def get(self, key: str) -> Topic | None:
        return self._topics.get(key)

    def on_channel(self, channel: str) -> Iterable[Topic]:
        return tuple(self._by_channel.get(channel, {}).values())

    def stream(self, delta: StreamDelta, *, own: bool) -> OpenStream | None:
        """Return the stream that a delta belongs to, opened if it is new; None if it has ended."""
        if delta.event_id in self._ended:
            return None
        known = self._topics.get(delta.event_id)
        return known if isinstance(known, OpenStream) else self._add(OpenStream(delta, own=own))

    def progress(self, session_id: str, *, own: bool) -> Progress | None:
        """Return the progress of a session; None if the session has ended."""
        key = _progress_key(session_id)
        if key in self._ended:
            return None
        known = self._topics.get(key)
        if not isinstance(known, Progress):
            return self._add(Progress(session_id, own=own))
        known.own = own
        return known

    def end(self, key: str) -> None:
        """Remove a topic for good: its timeline event was completed, or its session has ended."""
        self._ended[key] = None
        if len(self._ended) > _REMEMBERED_ENDS:
            del self._ended[next(iter(self._ended))]
        self._remove(key)

    def end_session(self, session_id: str) -> None:
        for topic in self.on_channel(session_channel(session_id)):
            self.end(topic.key)
        self.end(_progress_key(session_id))

    def drop_relayed(self, channel: str) -> None:
        """Remove what other processes write to a channel that no client here follows any more."""
        for topic in self.on_channel(channel):
            if not topic.own:
                self._remove(topic.key)

    def _add(self, topic: T) -> T:
        self._topics[topic.key] = topic
        self._by_channel.setdefault(topic.channel, {})[topic.key] = topic
        return topic

    def _remove(self, key: str) -> None:
        topic = self._topics.pop(key, None)
        if topic is None:
            return
        of_channel = self._by_channel[topic.channel]
        del of_channel[key]
        if not of_channel:
            del self._by_channel[topic.channel]
