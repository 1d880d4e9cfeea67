"""How a gRPC call ended: its status, by what the service said, or by what HTTP said in its place. Pure."""

from collections.abc import Sequence
from enum import IntEnum
from urllib.parse import unquote

from tarsy.llm.http2 import frames
from tarsy.llm.http2.frames import Field
from tarsy.llm.http2.stream import Stream


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
    "400": Status.INTERNAL,
    "401": Status.UNAUTHENTICATED,
    "403": Status.PERMISSION_DENIED,
    "404": Status.UNIMPLEMENTED,
    "429": Status.UNAVAILABLE,
    "502": Status.UNAVAILABLE,
    "503": Status.UNAVAILABLE,
    "504": Status.UNAVAILABLE,
}
_HTTP2 = {
    None: Status.UNAVAILABLE,
    frames.REFUSED_STREAM: Status.UNAVAILABLE,
    frames.CANCEL: Status.CANCELLED,
    frames.ENHANCE_YOUR_CALM: Status.RESOURCE_EXHAUSTED,
    frames.INADEQUATE_SECURITY: Status.PERMISSION_DENIED,
}


class RpcError(Exception):
    """A call that did not end well."""

    def __init__(self, status: Status, details: str) -> None:
        super().__init__(f"{status.name}: {details}")
        self.status = status
        self.details = details


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
        return _HTTP.get(status, Status.UNKNOWN), f"it answered with HTTP status {status} and no gRPC status"
    if not kind.startswith("application/grpc"):
        return Status.UNKNOWN, f"it answered with {kind or 'nothing that has a type'}, not with gRPC"
    return None


def raise_unless_well(stream: Stream) -> None:
    """Say what went wrong with a stream that is over.

    Raises:
        RpcError: something did.
    """
    if stream.broken is not None:
        raise RpcError(_HTTP2.get(stream.broken.code, Status.INTERNAL), stream.broken.words)
    status, details = outcome(stream.headers or (), stream.trailers)
    if status is not Status.OK:
        raise RpcError(status, details)
