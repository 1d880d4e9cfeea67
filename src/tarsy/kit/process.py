"""The current process as the operating system sees it: its name, its memory, its terminal."""

import ctypes
import os
import sys

# From <linux/prctl.h>.
_PR_SET_DUMPABLE = 4
_PR_SET_NAME = 15


def name_process(name: str) -> None:
    """Set the name of this process; the system keeps 15 bytes of it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)


def keep_memory_private() -> None:
    """Make the environment and memory of this process unreadable for other processes of the same user, such as tool servers.

    They contain keys and tokens. A debugger needs root from then on. Child processes are readable again: their environment has no secrets.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def has_lost_terminal(*, had_terminal: bool) -> bool:
    """Return whether the terminal of this process was closed: that sends SIGHUP too, and means that the person has left."""
    return had_terminal and not has_terminal()


def has_terminal() -> bool:
    """Return whether this process has a controlling terminal."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True
