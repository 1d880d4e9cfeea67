"""Pure module: which channels other processes have asked to hear of."""

from collections.abc import Sequence

# Interest is announced again every REPEAT seconds; two announcements may be lost before it is forgotten.
REPEAT_SECONDS = 5.0
EXPIRY_SECONDS = 16.0


class Interest:
    """Remembers announcements until they expire."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}

    def note(self, channels: Sequence[str], now: float) -> list[str]:
        """Remember an announcement; returns the channels nobody was known to want."""
        self._until = {channel: until for channel, until in self._until.items() if until >= now}
        fresh = [channel for channel in channels if channel not in self._until]
        self._until |= dict.fromkeys(channels, now + EXPIRY_SECONDS)
        return fresh

    def wanted(self, channel: str, now: float) -> bool:
        return self._until.get(channel, float("-inf")) >= now
