"""How gRPC puts messages and metadata into bytes. Pure."""

import base64
import struct
import zlib
from collections.abc import Sequence

from tarsy.llm.grpc_status import RpcError, Status
from tarsy.llm.http2.frames import Field

_HEAD = struct.Struct(">BI")
_PREFIX = _HEAD.size


def framed(message: bytes) -> bytes:
    """A flag, which says that it is not compressed, a length in four bytes, and the message."""
    return b"\0" + len(message).to_bytes(4, "big") + message


class Messages:
    """Cuts what arrives into messages: a flag, a length in four bytes, and as many bytes. Pure."""

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self._pieces: list[bytes] = []
        self._size = 0
        self._needed = _PREFIX

    def feed(self, pieces: Sequence[bytes]) -> list[bytes]:
        """The messages that are whole now.

        Raises:
            RpcError: one is too large, or compressed in a way that is none of gRPC's.
        """
        self._pieces += pieces
        self._size += sum(map(len, pieces))
        # Joined only when it completes a message: one of many megabytes comes in thousands of pieces.
        return self._cut(b"".join(self._pieces)) if self._size >= self._needed else []

    def end(self) -> None:
        if self._size:
            raise RpcError(Status.INTERNAL, "the answer ended in the middle of a message")

    def _cut(self, data: bytes) -> list[bytes]:
        messages: list[bytes] = []
        at, end = 0, len(data)
        self._needed = _PREFIX
        while end - at >= _PREFIX:
            is_compressed, size = _HEAD.unpack_from(data, at)
            if size > self._largest:
                raise _too_large(size, self._largest)
            if end - at - _PREFIX < size:
                self._needed = _PREFIX + size
                break
            message = data[at + _PREFIX : at + _PREFIX + size]
            messages.append(_inflated(message, self._largest) if is_compressed else message)
            at += _PREFIX + size
        self._pieces, self._size = [data[at:]], end - at
        return messages


def _too_large(size: int, largest: int) -> RpcError:
    return RpcError(Status.RESOURCE_EXHAUSTED, f"a message is larger than one may be ({size} vs. {largest} bytes)")


def _inflated(message: bytes, largest: int) -> bytes:
    """GRPC's servers compress if they are set up to, also for clients that ask for nothing of the kind."""
    # Gzip and zlib, which gRPC calls deflate, are told apart by how they begin.
    unpacking = zlib.decompressobj(wbits=32 + zlib.MAX_WBITS)
    try:
        whole = unpacking.decompress(message, largest + 1)
    except zlib.error as error:
        raise RpcError(Status.INTERNAL, f"a compressed message cannot be unpacked: {error}") from error
    if len(whole) > largest:
        raise _too_large(len(whole), largest)
    if not unpacking.eof:
        raise RpcError(Status.INTERNAL, "a compressed message cannot be unpacked: it is not whole")
    return whole


def metadata_field(entry: tuple[str, str | bytes]) -> Field:
    """Bytes travel as base64, under names that end in -bin."""
    name, value = entry
    return name.encode(), base64.b64encode(value).rstrip(b"=") if isinstance(value, bytes) else value.encode()
