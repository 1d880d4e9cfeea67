"""What the system does for accepted connections, seen on real sockets."""

import errno
import socket
import sys
from collections.abc import Iterator

import anyio
import pytest

from tarsy.api.http_server import UNSENT_BYTES, prepare_listener

only_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives up on a client by itself")


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def deaf(port: int) -> socket.socket:
    """A client with hardly any room that never reads."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    client.connect(("127.0.0.1", port))
    return client


async def send_until_refused(connection: socket.socket) -> tuple[int, int | None]:
    """Bytes taken, and the system's reason to take no more."""
    taken = 0
    while True:
        try:
            taken += connection.send(b"x" * 1_024)
        except BlockingIOError:
            await anyio.wait_writable(connection)
        except OSError as error:
            return taken, error.errno


def test_answers_are_sent_at_once(listening: socket.socket) -> None:
    prepare_listener(listening)
    with deaf(listening.getsockname()[1]):
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@only_linux
async def test_a_client_that_never_reads_is_given_up_and_little_was_kept_for_it(listening: socket.socket) -> None:
    prepare_listener(listening, unread_seconds=1.0)
    with deaf(listening.getsockname()[1]):
        accepted, _ = listening.accept()
        accepted.setblocking(False)
        with accepted, anyio.fail_after(60):
            taken, reason = await send_until_refused(accepted)
    assert reason == errno.ETIMEDOUT
    assert taken < 4 * UNSENT_BYTES
