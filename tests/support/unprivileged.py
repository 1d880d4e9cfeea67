"""Runs a command without the right to read the memory of other processes, which root has. Standard library only."""

import ctypes
import os
import sys

# From <linux/prctl.h>.
PR_CAPBSET_DROP = 24
# From <linux/capability.h>: SYS_PTRACE, and the two that let their owner look all the same, SYS_ADMIN and PERFMON.
RIGHTS_TO_LOOK = (19, 21, 38)

libc = ctypes.CDLL(None, use_errno=True)
for right in RIGHTS_TO_LOOK if os.geteuid() == 0 else ():
    if libc.prctl(PR_CAPBSET_DROP, right, 0, 0, 0) != 0:
        sys.exit(f"cannot give up the right {right}: {os.strerror(ctypes.get_errno())}")
os.execv(sys.argv[1], sys.argv[1:])  # noqa: S606 - the test names the command
