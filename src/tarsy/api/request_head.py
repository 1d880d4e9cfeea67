"""How long the head of a request may be. It is read before anybody is asked who they are, so it must not fill the memory."""

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

# Some servers take 8 KiB; a proxy's cookies and tokens seldom need more than 16.
MAX_HEAD_BYTES = 64 * 1024
_TOO_LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class LimitedHead(HttpToolsProtocol):
    """Speaks HTTP, and hangs up on a request whose head has no end."""

    _in_head = True
    _head_bytes = 0

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
                self.transport.write(_TOO_LONG)
                self.transport.close()

    def on_message_begin(self) -> None:
        self._in_head, self._head_bytes = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        super().on_headers_complete()
