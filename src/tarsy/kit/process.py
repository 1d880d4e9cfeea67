"""The current process as the operating system sees it: its name, its memory, its terminal."""

import ctypes
import os
import sys

# From <linux/prctl.h>.
_PR_SET_NAME = 15


def name_process(name: str) -> None:
    """Take a name, of which the system keeps 15 bytes."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)


# From <linux/prctl.h>.
_PR_SET_DUMPABLE = 4


def keep_memory_private() -> None:
    """Close our environment and memory to other processes of the same user, such as tool servers. A debugger needs root from then on.

    Programs that this process starts are readable again: they are given an environment without secrets.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def has_terminal() -> bool:
    """Whether a person's terminal holds this process."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True
