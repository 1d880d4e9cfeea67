"""Header fields as they arrive: in one frame or in several, compressed against those before them. Pure."""

from typing import cast

from hpack import Decoder, HPACKError

from tarsy.llm.http2 import frames
from tarsy.llm.http2.frames import Field
from tarsy.llm.http2.stream import ProtocolError

# Several times what gRPC services send, and what gRPC's own clients take.
LONGEST_HEADERS = 64 * 1024


class HeaderBlocks:
    """Puts blocks together and reads them. `pending`: one has begun, and only its continuation may follow."""

    def __init__(self) -> None:
        self.pending: int | None = None
        self._decoder = Decoder(max_header_list_size=LONGEST_HEADERS)
        self._block = bytearray()
        self._flags = 0

    def begin(self, flags: int, number: int, payload: bytes) -> tuple[int, list[Field]] | None:
        """The flags and fields of a block that is whole, or None."""
        block = unpadded(payload) if flags & frames.PADDED else payload
        if flags & frames.PRIORITISED:
            block = block[5:]
        if flags & frames.END_HEADERS:
            return flags, self._read(block)
        self.pending, self._flags, self._block = number, flags, bytearray(block)
        return None

    def go_on(self, flags: int, number: int, payload: bytes) -> tuple[int, list[Field]] | None:
        if self.pending != number:
            raise ProtocolError("it continued headers that it had not begun")
        self._block += payload
        # A part of nothing brings the end no nearer.
        if len(self._block) > LONGEST_HEADERS or not payload:
            raise ProtocolError("its headers do not end", frames.ENHANCE_YOUR_CALM)
        if not flags & frames.END_HEADERS:
            return None
        self.pending = None
        return self._flags, self._read(bytes(self._block))

    def _read(self, block: bytes) -> list[Field]:
        try:
            return cast("list[Field]", self._decoder.decode(block, raw=True))
        except HPACKError as error:
            raise ProtocolError(f"its headers cannot be read: {error}", frames.COMPRESSION_ERROR) from error


def unpadded(payload: bytes) -> bytes:
    if not payload or payload[0] >= len(payload):
        raise ProtocolError("it padded a frame by more than the frame holds")
    return payload[1 : len(payload) - payload[0]]


def is_interim(fields: list[Field]) -> bool:
    """Headers that only promise others (1xx)."""
    return bool(fields) and fields[0][0] == b":status" and fields[0][1].startswith(b"1")
