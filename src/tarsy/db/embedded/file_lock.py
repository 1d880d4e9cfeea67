"""Advisory file locks between processes. The kernel lets go of them when their holder dies, however it dies."""

import fcntl
import os
import time
from pathlib import Path

# Short enough not to be noticed at a start, long enough not to be felt by the processor.
POLL_SECONDS = 0.02


class FileLock:
    """One open handle on a lock file; two handles in the same process compete like two processes do."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def try_exclusive(self) -> bool:
        """Take the lock alone, giving up a shared hold if need be; False if another handle holds it."""
        return self._try(fcntl.LOCK_EX)

    def exclusive_within(self, seconds: float) -> bool:
        return self._within(fcntl.LOCK_EX, seconds)

    def shared_within(self, seconds: float) -> bool:
        return self._within(fcntl.LOCK_SH, seconds)

    def release(self) -> None:
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        os.close(self._descriptor)

    def _try(self, kind: int) -> bool:
        try:
            fcntl.flock(self._descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _within(self, kind: int, seconds: float) -> bool:
        give_up = time.monotonic() + seconds
        while not self._try(kind):
            if time.monotonic() > give_up:
                return False
            time.sleep(POLL_SECONDS)
        return True
