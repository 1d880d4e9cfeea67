"""When to ask a silent peer whether it is still there, and when to give it up. Pure."""

from dataclasses import dataclass

# A peer that vanished without a word is noticed within forty seconds.
SILENCE = 30.0
PATIENCE = 10.0
# gRPC servers hang up on clients that ping more often than every five minutes, but for two pings between frames that say something.
PINGS_IN_A_ROW = 2
LONG_SILENCE = 300.0


@dataclass(frozen=True, slots=True)
class Look:
    """What to do now, and in how many seconds to look again."""

    ping: bool = False
    is_gone: bool = False
    again: float = 0.0


class Keepalive:
    """Knows when the peer was last heard; looked at while there are streams."""

    def __init__(self, now: float) -> None:
        self._heard = now
        self._pinged: float | None = None
        self._in_a_row = 0

    def heard(self, now: float, *, says_something: bool) -> None:
        """`says_something`: more than an answer to a ping."""
        self._heard = now
        self._pinged = None
        if says_something:
            self._in_a_row = 0

    def look(self, now: float) -> Look:
        if self._pinged is not None:
            left = self._pinged + PATIENCE - now
            return Look(again=left) if left > 0 else Look(is_gone=True)
        left = self._heard + (SILENCE if self._in_a_row < PINGS_IN_A_ROW else LONG_SILENCE) - now
        if left > 0:
            return Look(again=left)
        self._pinged = now
        self._in_a_row += 1
        return Look(ping=True, again=PATIENCE)
