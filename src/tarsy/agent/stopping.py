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
    # What is said of a run whose time was up.
    out_of_time: str = "the session ran out of time"
    # Whether the agent that is stopped is there to write its last words itself.
    attended: bool = False

    @property
    def reason(self) -> StopReason:
        if self.own is not None:
            return self.own
        return self.whole.reason if self.whole else StopReason.HANDED_OVER

    @property
    def alone(self) -> bool:
        """Whether only a part of the whole is stopped."""
        return self.whole is not None and (self.own is not None or self.whole.alone)

    @property
    def told(self) -> str:
        """Whose time was up, in words for people."""
        return self.out_of_time if self.own is not None or self.whole is None else self.whole.told
