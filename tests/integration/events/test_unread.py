"""Clients that stop reading: over real sockets, since it is the system that gives up on them."""

import socket
import sys
from collections.abc import Iterator

import anyio
import pytest

from tarsy.api.unread import UNSENT_BYTES, expect_reading

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives up on a client by itself")


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


async def test_a_client_that_never_reads_is_given_up_and_little_was_kept_for_it(listening: socket.socket) -> None:
    expect_reading(listening, seconds=1.0)
    with deaf(listening.getsockname()[1]):
        accepted, _ = listening.accept()
        accepted.setblocking(False)
        with accepted:
            taken = 0
            with anyio.fail_after(60), pytest.raises((TimeoutError, ConnectionError)):
                while True:
                    try:
                        taken += accepted.send(b"x" * 1_024)
                    except BlockingIOError:
                        await anyio.wait_writable(accepted)
            assert taken < 4 * UNSENT_BYTES
