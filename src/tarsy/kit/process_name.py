"""The name of this process, as `ps` and `top` show it."""

import ctypes
import sys

# From <linux/prctl.h>.
_PR_SET_NAME = 15


def name_process(name: str) -> None:
    """Take a name, of which the system keeps 15 bytes."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)
