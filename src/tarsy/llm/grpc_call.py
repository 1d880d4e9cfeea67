"""gRPC over HTTP/2, as far as a client needs it: one question, a stream of messages, a status (gRPC's PROTOCOL-HTTP2)."""

import asyncio
from collections.abc import Iterable, Sequence

from tarsy.llm.grpc_messages import Messages, framed, metadata_field
from tarsy.llm.grpc_status import RpcError, Status, raise_unless_well, refusal
from tarsy.llm.http2 import frames
from tarsy.llm.http2.channel import Channel, UnreachableError
from tarsy.llm.http2.link import Link
from tarsy.llm.http2.stream import Stream

Metadata = Iterable[tuple[str, str | bytes]]

# Before what the service has not looked at is asked again, in seconds. A service that takes few calls at once may count one that has
# ended a moment longer than its client does.
AGAIN_AFTER = (0.0, 0.01, 0.05, 0.25, 1.0)


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
        return Answer(self._channel, fields, framed(message), Messages(self._largest))

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

    def __init__(self, channel: Channel, fields: bytes, body: bytes, messages: Messages) -> None:
        self._channel = channel
        self._fields = fields
        self._body = body
        self._messages = messages
        self._begun: tuple[Link, Stream] | None = None
        self._pauses = iter(AGAIN_AFTER)
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
            if stream.is_over and not await self._begins_again(stream):
                self._messages.end()
                raise_unless_well(stream)
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

    async def _begins_again(self, stream: Stream) -> bool:
        """What the service says it has not looked at is asked again, on another connection if that one is closing."""
        if stream.broken is None or not stream.broken.is_untouched:
            return False
        pause = next(self._pauses, None)
        if pause is None:
            return False
        self._begun = None
        await asyncio.sleep(pause)
        return True
