"""The `tarsy` of the tests that run many commands: hands its arguments, surroundings and streams to the warm process and ends as that one ends.

Started with `python -I -S`, in a hundredth of the time that importing the program takes.
"""

import json
import os
import signal
import socket
import sys


def main() -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(sys.argv[1])
        surroundings = {"arguments": sys.argv[2:], "cwd": os.getcwd(), "environment": dict(os.environ)}  # noqa: PTH109 - pathlib takes longer to import than all the rest
        request = json.dumps(surroundings).encode()
        socket.send_fds(connection, [len(request).to_bytes(4, "big")], [0, 1, 2])
        connection.sendall(request)
        child = int.from_bytes(connection.recv(4), "big")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda received, _: os.kill(child, received))
        status = connection.recv(1)
    # One that was killed prints nothing.
    sys.exit(status[0] if status else 137)


main()
