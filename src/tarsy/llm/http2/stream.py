"""One request over HTTP/2 and what has come of it. Pure."""

from dataclasses import dataclass

from tarsy.llm.http2.frames import PROTOCOL_ERROR, Field

# What a stream may send ahead of its reader: many answers of models, and little beside the process.
STREAM_WINDOW = 4 * 1024 * 1024


class ProtocolError(Exception):
    """The peer does what HTTP/2 forbids, or does not speak it; `code` is what to tell it."""

    def __init__(self, words: str, code: int = PROTOCOL_ERROR) -> None:
        super().__init__(words)
        self.code = code


@dataclass(frozen=True, slots=True)
class Broken:
    """Why a stream ended before its time: the HTTP/2 code, or None where the whole connection went."""

    words: str
    code: int | None = None
    # The peer says that it has not begun with it: asking again does nothing twice.
    is_untouched: bool = False


class Stream:
    """What arrived for its reader is in `pieces`; `is_over`: nothing more will."""

    __slots__ = ("broken", "headers", "id", "is_over", "pieces", "taken", "trailers", "unsent", "window_in", "window_out")

    def __init__(self, number: int, body: bytes, window_out: int) -> None:
        self.id = number
        self.headers: list[Field] | None = None
        self.trailers: list[Field] | None = None
        self.pieces: list[bytes] = []
        self.is_over = False
        self.broken: Broken | None = None
        self.unsent = memoryview(body)
        self.window_out = window_out
        # What the peer may still send, and what the reader has taken since the peer was told.
        self.window_in = STREAM_WINDOW
        self.taken = 0
