"""Why a run is being stopped: set before its scope is cancelled, read by whoever writes its last words."""

from dataclasses import dataclass
from enum import StrEnum


class StopReason(StrEnum):
    # Somebody will go on with it: a shutdown, or the end of this process.
    HANDED_OVER = "handed_over"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    # Somebody already does: every write would be refused.
    LOST = "lost"


@dataclass(slots=True)
class Stopping:
    """The reason, shared by everything that stops together."""

    reason: StopReason = StopReason.HANDED_OVER
