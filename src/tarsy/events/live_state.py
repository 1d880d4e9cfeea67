"""Pure module: a text that grows by small pieces and is read from any position, without copying what was read before."""

from bisect import bisect_right
from collections.abc import Iterable
from typing import Any, Protocol

import orjson

from tarsy.domain.live_events import SESSIONS_CHANNEL, StreamDelta, session_channel

# Above this many pieces they are joined: a reader that joins late should not walk thousands.
_MAX_PIECES = 512


class GrowingText:
    """Positions are in characters."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._starts: list[int] = []
        self.length = 0

    def put(self, offset: int, piece: str) -> int | None:
        """Write `piece` at `offset`; what is there already is kept if it agrees and cut off if it does not.

        Returns the position up to which the text was left alone, or None if `offset` is beyond the end.
        """
        if offset > self.length:
            return None
        if offset == self.length:
            # Nearly always: the writer goes on where it stopped.
            self._append(piece)
            return offset
        known = self.since(offset)
        if known.startswith(piece):
            return self.length
        if not piece.startswith(known):
            self._cut(offset)
        agreed = self.length
        self._append(piece[agreed - offset :])
        return agreed

    def since(self, offset: int) -> str:
        """The text from `offset` on."""
        if offset >= self.length:
            return ""
        first = bisect_right(self._starts, offset) - 1
        return "".join(self._pieces[first:])[offset - self._starts[first] :]

    def _append(self, piece: str) -> None:
        self._starts.append(self.length)
        self._pieces.append(piece)
        self.length += len(piece)
        if len(self._pieces) > _MAX_PIECES:
            self._pieces, self._starts = ["".join(self._pieces)], [0]

    def _cut(self, length: int) -> None:
        kept = self.since(0)[:length]
        self._pieces, self._starts, self.length = [kept], [0], length


# Text of a stream that has ended may still be on its way from another process; it must not open the stream again.
_REMEMBERED_ENDS = 2_000


class Topic(Protocol):
    """One transient thing. `anchor` is the persistent event a reader must have before; None while it is not known."""

    key: str
    channel: str
    anchor: int | None
    # Whether this process writes it, or relays what another one writes.
    own: bool

    def since(self, seen: int) -> tuple[str, int] | None:
        """The message for a reader that has `seen`, and what it has seen then; None if there is nothing new."""
        ...


class OpenStream:
    """The text so far of a timeline event that is still being written."""

    def __init__(self, delta: StreamDelta, *, own: bool) -> None:
        self.key = delta.event_id
        self.session_id = delta.session_id
        self.channel = session_channel(delta.session_id)
        self.anchor: int | None = None
        self.own = own
        self.text = GrowingText()
        # How much the other processes were sent; see `relay`.
        self.relayed = 0
        self._encoded: tuple[int, int, str] = (-1, -1, "")

    def since(self, seen: int) -> tuple[str, int] | None:
        if seen >= self.text.length:
            return None
        start, end, message = self._encoded
        if (start, end) != (seen, self.text.length):
            message = stream_chunk(StreamDelta(self.session_id, self.key, seen, self.text.since(seen)))
            self._encoded = (seen, self.text.length, message)
        return message, self.text.length


class Progress:
    """Where a running session is; only the newest word counts."""

    def __init__(self, session_id: str, *, own: bool) -> None:
        self.key = progress_key(session_id)
        self.channel = SESSIONS_CHANNEL
        self.anchor: int | None = 0
        self.own = own
        self.fields: dict[str, Any] = {}
        self.version = 0
        self._encoded = ""

    def update(self, fields: dict[str, Any]) -> None:
        self.fields = fields
        self.version += 1
        self._encoded = orjson.dumps({"type": "session.progress", "channel": self.channel, **fields}).decode()

    def since(self, seen: int) -> tuple[str, int] | None:
        return (self._encoded, self.version) if seen < self.version else None


def progress_key(session_id: str) -> str:
    return f"progress:{session_id}"


def stream_chunk(delta: StreamDelta) -> str:
    return orjson.dumps(
        {
            "type": "stream.chunk",
            "channel": session_channel(delta.session_id),
            "session_id": delta.session_id,
            "event_id": delta.event_id,
            "offset": delta.offset,
            "delta": delta.delta,
        }
    ).decode()


class LiveState:
    """All topics of this process: its own streams, and other processes' as far as a client here watches."""

    def __init__(self) -> None:
        self._topics: dict[str, Topic] = {}
        self._by_channel: dict[str, dict[str, Topic]] = {}
        self._ended: dict[str, None] = {}

    def get(self, key: str) -> Topic | None:
        return self._topics.get(key)

    def on_channel(self, channel: str) -> Iterable[Topic]:
        return tuple(self._by_channel.get(channel, {}).values())

    def stream(self, delta: StreamDelta, *, own: bool) -> OpenStream | None:
        """The stream a delta belongs to, opened if it is new; None if it has ended."""
        known = self._topics.get(delta.event_id)
        if isinstance(known, OpenStream):
            return known
        if delta.event_id in self._ended:
            return None
        opened = OpenStream(delta, own=own)
        self._add(opened)
        return opened

    def progress(self, session_id: str, *, own: bool) -> Progress | None:
        """The progress of a session; None if it has ended."""
        key = progress_key(session_id)
        known = self._topics.get(key)
        if isinstance(known, Progress):
            known.own = own
            return known
        if key in self._ended:
            return None
        opened = Progress(session_id, own=own)
        self._add(opened)
        return opened

    def end(self, key: str) -> None:
        """A timeline event was completed, or a session's progress is over."""
        self._ended[key] = None
        if len(self._ended) > _REMEMBERED_ENDS:
            del self._ended[next(iter(self._ended))]
        self._remove(key)

    def end_session(self, session_id: str) -> None:
        for topic in self.on_channel(session_channel(session_id)):
            self.end(topic.key)
        self.end(progress_key(session_id))

    def forget_foreign(self, channel: str) -> None:
        """No client here watches the channel any more: what others write to it is theirs to remember."""
        for topic in self.on_channel(channel):
            if not topic.own:
                self._remove(topic.key)

    def _add(self, topic: Topic) -> None:
        self._topics[topic.key] = topic
        self._by_channel.setdefault(topic.channel, {})[topic.key] = topic

    def _remove(self, key: str) -> None:
        topic = self._topics.pop(key, None)
        if topic is None:
            return
        of_channel = self._by_channel[topic.channel]
        del of_channel[key]
        if not of_channel:
            del self._by_channel[topic.channel]
