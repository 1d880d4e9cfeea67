"""gRPC over HTTP/2, as far as a client needs it: one question, a stream of messages, a status (gRPC's PROTOCOL-HTTP2)."""

import asyncio
import base64
import zlib
from collections.abc import Iterable, Sequence
from enum import IntEnum
from urllib.parse import unquote

from tarsy.llm.http2 import frames
from tarsy.llm.http2.channel import Channel, UnreachableError
from tarsy.llm.http2.frames import Field
from tarsy.llm.http2.link import Link
from tarsy.llm.http2.stream import Stream

_PREFIX = 5


class Status(IntEnum):
    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


_SPELT = {str(status.value).encode(): status for status in Status}
# What an answer without a gRPC status means, by its HTTP status; and a stream that was broken off, by its HTTP/2 code.
_HTTP = {
    400: Status.INTERNAL,
    401: Status.UNAUTHENTICATED,
    403: Status.PERMISSION_DENIED,
    404: Status.UNIMPLEMENTED,
    429: Status.UNAVAILABLE,
    502: Status.UNAVAILABLE,
    503: Status.UNAVAILABLE,
    504: Status.UNAVAILABLE,
}
_HTTP2 = {
    None: Status.UNAVAILABLE,
    frames.REFUSED_STREAM: Status.UNAVAILABLE,
    frames.CANCEL: Status.CANCELLED,
    frames.ENHANCE_YOUR_CALM: Status.RESOURCE_EXHAUSTED,
    frames.INADEQUATE_SECURITY: Status.PERMISSION_DENIED,
}

Metadata = Iterable[tuple[str, str | bytes]]


class RpcError(Exception):
    """A call that did not end well."""

    def __init__(self, status: Status, details: str) -> None:
        super().__init__(f"{status.name}: {details}")
        self.status = status
        self.details = details


class Service:
    """Asks the service at the end of a `channel`, called `authority`."""

    def __init__(self, channel: Channel, authority: str, *, scheme: str, largest_message: int) -> None:
        self._channel = channel
        self._largest = largest_message
        self._fields = frames.header_fields(
            (
                (b":method", b"POST"),
                (b":scheme", scheme.encode()),
                (b":authority", authority.encode()),
                (b"te", b"trailers"),
                (b"content-type", b"application/grpc"),
                (b"grpc-accept-encoding", b"identity"),
                (b"user-agent", b"tarsy"),
            )
        )

    def ask(self, path: str, message: bytes, metadata: Metadata = ()) -> "Answer":
        """Nothing is sent before the answer is read."""
        if len(message) > self._largest:
            raise RpcError(
                Status.RESOURCE_EXHAUSTED, f"the request is larger than a message may be ({len(message)} vs. {self._largest} bytes)"
            )
        # The fields whose names begin with a colon come first.
        fields = frames.header_fields(((b":path", path.encode()),)) + self._fields + frames.header_fields(map(metadata_field, metadata))
        body = b"\0" + len(message).to_bytes(4, "big") + message
        return Answer(self._channel, fields, body, Messages(self._largest))

    async def ask_once(self, path: str, message: bytes, within: float) -> bytes:
        """The one message that a call without a stream answers with."""
        answer = self.ask(path, message, (("grpc-timeout", f"{within * 1000:.0f}m"),))
        try:
            async with asyncio.timeout(within):
                messages: list[bytes] = []
                while more := await answer.more():
                    messages += more
        except TimeoutError as error:
            raise RpcError(Status.DEADLINE_EXCEEDED, f"no answer within {within:g} s") from error
        finally:
            answer.close()
        if len(messages) != 1:
            raise RpcError(Status.INTERNAL, f"it answered with {len(messages)} messages where one was asked for")
        return messages[0]

    async def aclose(self) -> None:
        await self._channel.aclose()


class Answer:
    """The messages of one call, as they arrive."""

    def __init__(self, channel: Channel, fields: bytes, body: bytes, messages: "Messages") -> None:
        self._channel = channel
        self._fields = fields
        self._body = body
        self._messages = messages
        self._begun: tuple[Link, Stream] | None = None
        self._is_repeated = False
        self._is_grpc = False

    async def more(self) -> Sequence[bytes]:
        """The messages that have arrived, at least one; none once the answer has ended well.

        Raises:
            RpcError: it has not.
        """
        while True:
            link, stream = self._begun or await self._begin()
            if not stream.pieces and not stream.is_over:
                await link.arrival(stream)
            if messages := self._messages.feed(self._taken(link, stream)):
                return messages
            if stream.is_over and not self._begins_again(stream):
                self._messages.end()
                _raise_unless_well(stream)
                return ()

    def close(self, *, is_whole: bool = False) -> None:
        """A reader that goes away takes the call with it, and the service lets go of the vendor; unless the service is through with it."""
        if self._begun is not None:
            link, stream = self._begun
            (link.finish if is_whole else link.cancel)(stream)

    async def _begin(self) -> tuple[Link, Stream]:
        try:
            self._begun = await self._channel.request(self._fields, self._body)
        except UnreachableError as error:
            raise RpcError(Status.UNAVAILABLE, str(error)) from error
        return self._begun

    def _taken(self, link: Link, stream: Stream) -> list[bytes]:
        pieces = link.take(stream)
        if pieces and not self._is_grpc:
            if refused := refusal(stream.headers or ()):
                raise RpcError(*refused)
            self._is_grpc = True
        return pieces

    def _begins_again(self, stream: Stream) -> bool:
        """What the service says it has not looked at is asked once more, on another connection if that one is closing."""
        if stream.broken is None or not stream.broken.is_untouched or self._is_repeated:
            return False
        self._begun, self._is_repeated = None, True
        return True


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
            size = int.from_bytes(data[at + 1 : at + _PREFIX], "big")
            if size > self._largest:
                raise _too_large(size, self._largest)
            if end - at - _PREFIX < size:
                self._needed = _PREFIX + size
                break
            message = data[at + _PREFIX : at + _PREFIX + size]
            messages.append(_inflated(message, self._largest) if data[at] else message)
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


def outcome(headers: Sequence[Field], trailers: Sequence[Field] | None) -> tuple[Status, str]:
    """What an answer that has ended says of itself; one without messages may say it in its headers."""
    said = dict(headers if trailers is None else trailers)
    if (status := said.get(b"grpc-status")) is not None:
        return _SPELT.get(status, Status.UNKNOWN), unquote(said.get(b"grpc-message", b"").decode(errors="replace"), errors="replace")
    return refusal(headers) or (Status.UNKNOWN, "the answer ended without a status")


def refusal(headers: Sequence[Field]) -> tuple[Status, str] | None:
    """What an answer says that does not come from a gRPC service, but from what stands before it or in its place."""
    said = dict(headers)
    status, kind = said.get(b":status", b"").decode(errors="replace"), said.get(b"content-type", b"").decode(errors="replace")
    if status != "200":
        return _HTTP.get(
            int(status) if status.isdigit() else 0, Status.UNKNOWN
        ), f"it answered with HTTP status {status} and no gRPC status"
    if not kind.startswith("application/grpc"):
        return Status.UNKNOWN, f"it answered with {kind or 'nothing that has a type'}, not with gRPC"
    return None


def _raise_unless_well(stream: Stream) -> None:
    if stream.broken is not None:
        raise RpcError(_HTTP2.get(stream.broken.code, Status.INTERNAL), stream.broken.words)
    status, details = outcome(stream.headers or (), stream.trailers)
    if status is not Status.OK:
        raise RpcError(status, details)
