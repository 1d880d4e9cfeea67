"""Why a run is being stopped: said before its scope is cancelled, read by the agent that writes its last words."""

from dataclasses import dataclass
from enum import StrEnum


class StopReason(StrEnum):
    # Another worker will go on with it: a shutdown, or the end of this process.
    HANDED_OVER = "handed_over"
    # It goes on when what it waits for has happened.
    PARKED = "parked"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    # Another worker already does: every write would be refused.
    LOST = "lost"


@dataclass(slots=True)
class Stopping:
    """The reason for one thing; without one of its own, that of the whole it is part of."""

    whole: "Stopping | None" = None
    own: StopReason | None = None

    @property
    def reason(self) -> StopReason:
        if self.own is not None:
            return self.own
        return self.whole.reason if self.whole else StopReason.HANDED_OVER
