"""How much the system keeps for a client that does not read."""

import socket
import sys

# By default some megabytes wait in the kernel for a client that has stopped reading: seconds of live text, made and copied for nobody,
# and out of date when they are read at last. What is on its way to a client that does read is not limited by this.
UNSENT_BYTES = 64 * 1024


def keep_little_unsent(listening: socket.socket) -> None:
    """Let every connection accepted on `listening` push back early."""
    if sys.platform in {"linux", "darwin"}:
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)
