"""One HTTP/2 connection as a client sees it, without I/O: it is fed what arrived, and says what to send. Pure.

What a peer does against the protocol ends the connection, also where the protocol would let one stream pay for it: no service that
works does such a thing, and so there is one way out.
"""

from collections.abc import Collection

from tarsy.llm.http2 import frames
from tarsy.llm.http2.frames import Field
from tarsy.llm.http2.header_blocks import LONGEST_HEADERS, HeaderBlocks, is_interim, unpadded
from tarsy.llm.http2.stream import STREAM_WINDOW, Broken, ProtocolError, Stream

# Streams whose readers are slow must leave room for the others.
CONNECTION_WINDOW = 64 * 1024 * 1024
# Answers to pings and settings that may wait to be sent: a peer that wants more does not read them.
MOST_ANSWERS = 1000
_GREETING = (
    frames.PREFACE,
    frames.settings_frame(
        ((frames.ENABLE_PUSH, 0), (frames.INITIAL_WINDOW_SIZE, STREAM_WINDOW), (frames.MAX_HEADER_LIST_SIZE, LONGEST_HEADERS))
    ),
    frames.window_update(0, CONNECTION_WINDOW - frames.USUAL_WINDOW),
)
_LAST_NUMBER = 2**31 - 1


class Connection:
    """The streams of one connection. `outgoing` is to be sent, in order, after each call that may have added to it."""

    def __init__(self) -> None:
        self.outgoing: list[bytes] = list(_GREETING)
        self.streams: dict[int, Stream] = {}
        # The peer has introduced itself; it, or the supply of numbers, is at its end.
        self.is_ready = False
        self.is_leaving = False
        # Those made since the sender last got rid of what was outgoing; it sets this back.
        self.answers = 0
        # What a peer that leaves says of it.
        self.farewell = ""
        self._rest = b""
        self._next = 1
        self._blocks = HeaderBlocks()
        self._most_streams: int | None = None
        self._first_window_out = frames.USUAL_WINDOW
        self._window_out = frames.USUAL_WINDOW
        self._window_in = CONNECTION_WINDOW
        self._news: dict[Stream, None] = {}

    @property
    def has_room(self) -> bool:
        return self._most_streams is None or len(self.streams) < self._most_streams

    def request(self, fields: bytes, body: bytes) -> Stream:
        """Send a request: header `fields`, spelt already, and the `body` as far as the peer's windows are open."""
        stream = Stream(self._next, body, self._first_window_out)
        block = frames.NO_TABLE + fields if self._next == 1 else fields
        self._next += 2
        self.is_leaving = self.is_leaving or self._next > _LAST_NUMBER
        self.streams[stream.id] = stream
        self.outgoing.extend(frames.header_frames(stream.id, block))
        self._send(stream)
        return stream

    def take(self, stream: Stream) -> list[bytes]:
        """What has arrived for the reader of a stream; taking it makes room for as much again."""
        pieces, stream.pieces = stream.pieces, []
        stream.taken += sum(map(len, pieces))
        if stream.taken > STREAM_WINDOW // 2 and not stream.is_over:
            self.outgoing.append(frames.window_update(stream.id, stream.taken))
            stream.window_in += stream.taken
            stream.taken = 0
        return pieces

    def cancel(self, stream: Stream) -> None:
        """Its reader is gone: what still comes is dropped."""
        if not stream.is_over:
            self.outgoing.append(frames.reset(stream.id, frames.CANCEL))
            self._end(stream)

    def ping(self) -> None:
        self.outgoing.append(frames.frame(frames.PING, 0, 0, bytes(8)))

    def lose(self, broken: Broken) -> Collection[Stream]:
        """The connection is gone, and with it these streams."""
        self.is_leaving = True
        if self.farewell:
            broken = Broken(f"{broken.words} ({self.farewell})", broken.code)
        lost = list(self.streams.values())
        for stream in lost:
            self._break(stream, broken)
        return lost

    def receive(self, data: bytes) -> Collection[Stream]:
        """Take in what arrived; returns the streams that have something new for their readers.

        Raises:
            ProtocolError: the connection cannot go on.
        """
        data = self._rest + data if self._rest else data
        if not self.is_ready:
            _expect_settings(data)
        self._news = {}
        at, end = 0, len(data)
        while end - at >= frames.HEAD_SIZE:
            size, kind, flags, number = frames.frame_head(data, at)
            if size > frames.FRAME_SIZE:
                raise ProtocolError(f"it sent a frame of {size} bytes", frames.FRAME_SIZE_ERROR)
            begin = at + frames.HEAD_SIZE
            if end - begin < size:
                break
            at = begin + size
            if kind == frames.DATA and number in self.streams and self._blocks.pending is None:
                # Most of all frames, by far.
                self._data(self.streams[number], flags, data[begin:at])
            else:
                self._frame(kind, flags, number, data[begin:at])
        self._rest = data[at:]
        return self._news.keys()

    def _frame(self, kind: int, flags: int, number: int, payload: bytes) -> None:
        if self._blocks.pending is not None and kind != frames.CONTINUATION:
            raise ProtocolError("it interrupted its headers")
        if number == 0:
            self._on_connection(kind, flags, payload)
            return
        stream = self._stream(number)
        match kind:
            case frames.DATA:
                self._data(stream, flags, payload)
            case frames.HEADERS:
                self._headers(stream, self._blocks.begin(flags, number, payload))
            case frames.CONTINUATION:
                self._headers(stream, self._blocks.go_on(flags, number, payload))
            case frames.RST_STREAM:
                self._reset(stream, _number(payload))
            case frames.WINDOW_UPDATE:
                self._open_one(stream, _number(payload))
            case frames.SETTINGS | frames.PING | frames.GOAWAY | frames.PUSH_PROMISE:
                raise ProtocolError(f"it sent a frame of kind {kind} on a stream")
            case _:
                pass  # priorities mean nothing to a client, and kinds that are unknown must be passed over

    def _on_connection(self, kind: int, flags: int, payload: bytes) -> None:
        match kind:
            case frames.SETTINGS:
                self._settings(flags, payload)
            case frames.PING:
                self._ping(flags, payload)
            case frames.WINDOW_UPDATE:
                self._window_out = _window(self._window_out + _opening(_number(payload)))
                self._send_all()
            case frames.GOAWAY:
                self._goaway(payload)
            case frames.DATA | frames.HEADERS | frames.RST_STREAM | frames.CONTINUATION | frames.PUSH_PROMISE:
                raise ProtocolError(f"it sent a frame of kind {kind} on no stream")
            case _:
                pass

    def _stream(self, number: int) -> Stream | None:
        """The stream of a frame; None where it has ended, and the frame was on its way."""
        if number >= self._next or not number % 2:
            raise ProtocolError(f"it spoke on the stream {number}, which was never opened")
        return self.streams.get(number)

    def _data(self, stream: Stream | None, flags: int, payload: bytes) -> None:
        size = len(payload)
        self._window_in -= size
        if self._window_in < CONNECTION_WINDOW // 2:
            self.outgoing.append(frames.window_update(0, CONNECTION_WINDOW - self._window_in))
            self._window_in = CONNECTION_WINDOW
        if stream is None:
            return
        if stream.headers is None:
            raise ProtocolError("it sent a body without headers")
        stream.window_in -= size
        if stream.window_in < 0:
            raise ProtocolError("it sent more than the window of a stream allows", frames.FLOW_CONTROL_ERROR)
        piece = unpadded(payload) if flags & frames.PADDED else payload
        # Padding takes its part of the window too.
        stream.taken += size - len(piece)
        if piece:
            stream.pieces.append(piece)
        self._arrived(stream, flags)

    def _headers(self, stream: Stream | None, whole: tuple[int, list[Field]] | None) -> None:
        if stream is None or whole is None or is_interim(whole[1]):
            return
        flags, fields = whole
        if stream.headers is None:
            stream.headers = fields
        elif flags & frames.END_STREAM:
            stream.trailers = fields
        else:
            raise ProtocolError("it sent headers in the middle of a body")
        self._arrived(stream, flags)

    def _arrived(self, stream: Stream, flags: int) -> None:
        self._news[stream] = None
        if flags & frames.END_STREAM:
            if stream.unsent:
                # The answer did not wait for the whole question.
                self.outgoing.append(frames.reset(stream.id, frames.CANCEL))
            self._end(stream)

    def _reset(self, stream: Stream | None, code: int) -> None:
        if stream is not None:
            self._break(stream, Broken(f"it broke the stream off with HTTP/2 error {code}", code, code == frames.REFUSED_STREAM))

    def _settings(self, flags: int, payload: bytes) -> None:
        self.is_ready = True
        if flags & frames.ACK:
            return
        if len(payload) % 6:
            raise ProtocolError("it sent settings of an odd length", frames.FRAME_SIZE_ERROR)
        for key, value in frames.settings_in(payload):
            self._set(key, value)
        # Before what only the new settings allow.
        self._answer(frames.frame(frames.SETTINGS, frames.ACK, 0))
        self._send_all()

    def _set(self, key: int, value: int) -> None:
        match key:
            case frames.MAX_CONCURRENT_STREAMS:
                self._most_streams = value
            case frames.INITIAL_WINDOW_SIZE:
                grown, self._first_window_out = _window(value) - self._first_window_out, value
                for stream in self.streams.values():
                    stream.window_out = _window(stream.window_out + grown)
            case _:
                pass  # our frames are of the size that every peer takes, and our headers use no table

    def _ping(self, flags: int, payload: bytes) -> None:
        if len(payload) != 8:
            raise ProtocolError("it sent a ping of an odd length", frames.FRAME_SIZE_ERROR)
        if not flags & frames.ACK:
            self._answer(frames.frame(frames.PING, frames.ACK, 0, payload))

    def _answer(self, answer: bytes) -> None:
        self.answers += 1
        if self.answers > MOST_ANSWERS:
            raise ProtocolError("it asks faster than it reads the answers", frames.ENHANCE_YOUR_CALM)
        self.outgoing.append(answer)

    def _goaway(self, payload: bytes) -> None:
        last, code = _number(payload[:4]), _number(payload[4:8])
        words = payload[8:].decode(errors="replace")
        self.farewell = f"HTTP/2 error {code}{': ' if words else ''}{words}"
        self.is_leaving = True
        for stream in [stream for stream in self.streams.values() if stream.id > last]:
            self._break(stream, Broken(f"it is closing the connection ({self.farewell})", is_untouched=True))

    def _open_one(self, stream: Stream | None, size: int) -> None:
        size = _opening(size)
        if stream is not None:
            stream.window_out = _window(stream.window_out + size)
            self._send(stream)

    def _send_all(self) -> None:
        for stream in self.streams.values():
            self._send(stream)

    def _send(self, stream: Stream) -> None:
        """As much of the body as the windows allow."""
        while stream.unsent:
            size = min(len(stream.unsent), frames.FRAME_SIZE, stream.window_out, self._window_out)
            if size <= 0:
                return
            piece, stream.unsent = bytes(stream.unsent[:size]), stream.unsent[size:]
            stream.window_out -= size
            self._window_out -= size
            self.outgoing.append(frames.frame(frames.DATA, 0 if stream.unsent else frames.END_STREAM, stream.id, piece))

    def _break(self, stream: Stream, broken: Broken) -> None:
        stream.broken = broken
        self._news[stream] = None
        self._end(stream)

    def _end(self, stream: Stream) -> None:
        stream.is_over = True
        stream.unsent = memoryview(b"")
        del self.streams[stream.id]


def _expect_settings(data: bytes) -> None:
    """The first frame of a server is its settings, and those are short: another beginning is another protocol."""
    if data.startswith(b"HTTP/"):
        raise ProtocolError(f"it speaks HTTP/1, not gRPC: {data.splitlines()[0].decode(errors='replace')[:80]}")
    if data.startswith(b"\x15\x03"):
        raise ProtocolError("it expects TLS: begin the address with grpcs://")
    if data[:1] != b"\0" or (len(data) > 3 and data[3] != frames.SETTINGS):
        raise ProtocolError("it does not speak HTTP/2")


def _number(payload: bytes) -> int:
    if len(payload) != 4:
        raise ProtocolError("it sent a frame of the wrong length", frames.FRAME_SIZE_ERROR)
    return int.from_bytes(payload, "big")


def _opening(size: int) -> int:
    size &= frames.LARGEST_WINDOW
    if size == 0:
        raise ProtocolError("it opened a window by nothing")
    return size


def _window(size: int) -> int:
    if size > frames.LARGEST_WINDOW:
        raise ProtocolError("it opened a window too far", frames.FLOW_CONTROL_ERROR)
    return size
