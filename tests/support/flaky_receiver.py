"""A receiver of webhooks that misbehaves: it fails, hangs, asks for time, and loses its answers."""

import threading
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson

# Longer than any test waits.
HANG_SECONDS = 120.0


@dataclass
class FlakyReceiver:
    """Treats most notifications badly at first, each in one of four ways, and accepts them later."""

    # It answers nothing at all.
    only_hangs: bool = False
    url: str = ""
    # Called for each request after it was received, before it is answered.
    on_request: Callable[[int], None] = lambda _number: None
    # By idempotency key: the bodies, and when they were received.
    received: dict[str, list[tuple[bytes, datetime]]] = field(default_factory=dict[str, list[tuple[bytes, datetime]]])
    accepted: Counter[str] = field(default_factory=Counter[str])
    ends: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def receive(self, key: str, body: bytes) -> int | None:
        """Return the status to answer with, None for no answer at all."""
        with self.lock:
            before = self.received.setdefault(key, [])
            before.append((body, datetime.now(UTC)))
            number, attempt = sum(map(len, self.received.values())), len(before)
        self.on_request(number)
        if self.only_hangs:
            self.ends.wait(HANG_SECONDS)
            return None
        match (int(key[:8], 16) % 5, attempt):
            case (1, 1 | 2):
                return 500
            case (2, 1):
                self.ends.wait(HANG_SECONDS)
                return None
            case (3, 1):
                return 503
            case (4, 1):
                # Accepted, and the sender does not get to know.
                self.accepted[key] += 1
                return None
            case _:
                self.accepted[key] += 1
                return 200

    def events(self) -> list[dict[str, Any]]:
        """The accepted events, one of each key."""
        return [orjson.loads(self.received[key][0][0])["event"] for key in self.accepted]


@contextmanager
def flaky_receiver(*, only_hangs: bool = False) -> Generator[FlakyReceiver]:
    receiver = FlakyReceiver(only_hangs)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            body = self.rfile.read(length)
            # A sender that was killed in the middle has sent nothing.
            status = receiver.receive(self.headers["Idempotency-Key"], body) if len(body) == length else None
            if status is None:
                self.close_connection = True
                return
            self.send_response(status)
            if status == 503:
                self.send_header("Retry-After", "1")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the library
            del format, args

        def handle_one_request(self) -> None:
            try:
                super().handle_one_request()
            except ConnectionError:
                # Its sender was killed.
                self.close_connection = True

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    receiver.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.ends.set()
        server.shutdown()
        server.server_close()
        thread.join()
