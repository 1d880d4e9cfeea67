"""How much, and for how long, the system keeps for a client that does not read."""

import socket
import sys

# By default some megabytes wait in the kernel for a client that has stopped reading: seconds of live text, made and copied for nobody,
# and out of date when they are read at last. What is on its way to a client that does read is not limited by this.
UNSENT_BYTES = 64 * 1024
# A client that takes nothing for this long is gone, even if its machine still answers.
UNREAD_SECONDS = 60.0


def expect_reading(listening: socket.socket, *, seconds: float = UNREAD_SECONDS) -> None:
    """Let every connection accepted on `listening` push back early, and end when its client takes nothing for `seconds`."""
    if sys.platform in {"linux", "darwin"}:
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)
    if sys.platform == "linux":
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(seconds * 1000))
