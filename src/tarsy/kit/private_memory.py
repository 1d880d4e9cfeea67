"""What this process knows stays with it: keys of vendors and tokens stand in its environment and its memory."""

import ctypes
import sys

# From <linux/prctl.h>.
_PR_SET_DUMPABLE = 4


def keep_memory_private() -> None:
    """Close our environment and memory to other processes of the same user, such as tool servers. A debugger needs root from then on.

    Programs that this process starts are readable again: they are given an environment without secrets.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
