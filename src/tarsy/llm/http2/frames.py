"""How HTTP/2 (RFC 9113) is spelt: frames, settings, and header fields without a table (RFC 7541). Pure."""

import struct
from collections.abc import Iterable, Iterator

DATA = 0x0
HEADERS = 0x1
RST_STREAM = 0x3
SETTINGS = 0x4
PUSH_PROMISE = 0x5
PING = 0x6
GOAWAY = 0x7
WINDOW_UPDATE = 0x8
CONTINUATION = 0x9

END_STREAM = 0x1
ACK = 0x1
END_HEADERS = 0x4
PADDED = 0x8
PRIORITISED = 0x20

ENABLE_PUSH = 0x2
MAX_CONCURRENT_STREAMS = 0x3
INITIAL_WINDOW_SIZE = 0x4
MAX_HEADER_LIST_SIZE = 0x6

NO_ERROR = 0x0
PROTOCOL_ERROR = 0x1
FLOW_CONTROL_ERROR = 0x3
FRAME_SIZE_ERROR = 0x6
REFUSED_STREAM = 0x7
CANCEL = 0x8
COMPRESSION_ERROR = 0x9
ENHANCE_YOUR_CALM = 0xB
INADEQUATE_SECURITY = 0xC

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEAD_SIZE = 9
# What every peer takes; we ask for no more, and send no more.
FRAME_SIZE = 16_384
# What every peer may send until it hears otherwise.
USUAL_WINDOW = 65_535
LARGEST_WINDOW = 2**31 - 1
# An encoder whose table has no room needs none, and no peer can ask it to shrink.
NO_TABLE = b"\x20"

Field = tuple[bytes, bytes]

_HEAD = struct.Struct(">IBI")
_SETTING = struct.Struct(">HI")


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return _HEAD.pack(len(payload) << 8 | kind, flags, stream) + payload


def frame_head(data: bytes, at: int) -> tuple[int, int, int, int]:
    """Size, kind, flags and stream of the frame that begins at `at`. The reserved bit means nothing."""
    size_and_kind, flags, stream = _HEAD.unpack_from(data, at)
    return size_and_kind >> 8, size_and_kind & 0xFF, flags, stream & LARGEST_WINDOW


def settings_frame(settings: Iterable[tuple[int, int]]) -> bytes:
    return frame(SETTINGS, 0, 0, b"".join(_SETTING.pack(key, value) for key, value in settings))


def settings_in(payload: bytes) -> Iterator[tuple[int, int]]:
    return _SETTING.iter_unpack(payload)


def window_update(stream: int, size: int) -> bytes:
    return frame(WINDOW_UPDATE, 0, stream, size.to_bytes(4, "big"))


def reset(stream: int, code: int) -> bytes:
    return frame(RST_STREAM, 0, stream, code.to_bytes(4, "big"))


def goaway(code: int) -> bytes:
    """Said by a client: it has taken no streams of the server's."""
    return frame(GOAWAY, 0, 0, bytes(4) + code.to_bytes(4, "big"))


def header_frames(stream: int, block: bytes) -> Iterator[bytes]:
    """A block of fields, in as many frames as it takes."""
    for at in range(0, len(block), FRAME_SIZE):
        flags = END_HEADERS if at + FRAME_SIZE >= len(block) else 0
        yield frame(CONTINUATION if at else HEADERS, flags, stream, block[at : at + FRAME_SIZE])


def header_fields(fields: Iterable[Field]) -> bytes:
    """Fields as literals that no table remembers: longer than they could be, but the same each time, and made by joining."""
    return b"".join(b"\x00" + _string(name) + _string(value) for name, value in fields)


def _string(text: bytes) -> bytes:
    """Its length in a prefix of seven bits, continued in sevens where it does not fit, and the text as it is."""
    size = len(text)
    if size < 0x7F:
        return bytes((size,)) + text
    size -= 0x7F
    prefix = bytearray((0x7F,))
    while size > 0x7F:
        prefix.append(size & 0x7F | 0x80)
        size >>= 7
    prefix.append(size)
    return bytes(prefix) + text
