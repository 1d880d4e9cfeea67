"""What the system shall do for every connection accepted on a listening socket: send at once, and not wait for ever."""

import socket
import sys

# By default some megabytes wait in the kernel for a client that has stopped reading: seconds of live text, made and copied for nobody,
# and out of date when they are read at last. What is on its way to a client that does read is not limited by this.
UNSENT_BYTES = 64 * 1024
# A client that takes nothing for this long is gone, even if its machine still answers.
UNREAD_SECONDS = 60.0


def prepare_listener(listening: socket.socket, *, unread_seconds: float = UNREAD_SECONDS) -> None:
    """Set what accepted connections inherit."""
    # asyncio does this only for sockets that were made with their protocol named. Without it every answer waits 40 ms for the client's word.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if sys.platform in {"linux", "darwin"}:
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)
    if sys.platform == "linux":
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(unread_seconds * 1000))
