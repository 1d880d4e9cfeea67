"""A pause: what a person holds back, and why."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Pause:
    # None: everything.
    chain_id: str | None
    since: datetime
    actor: str
    reason: str
    # What ran was parked too.
    parks_running: bool

    @property
    def told(self) -> str:
        """Why something waits, in words for people."""
        return f"paused by {self.actor}{f': {self.reason}' if self.reason else ''}"
