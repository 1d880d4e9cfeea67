"""Pure module: whether the silence of other workers means anything. While the database was away, no worker could be heard."""

from datetime import datetime, timedelta


class OrphanGrace:
    """Notes when the database answered. By the wall: a machine that slept heard nothing, though its other clock stood still."""

    def __init__(self, now: datetime, *, heartbeat_interval: float, orphan_threshold: float) -> None:
        # Far longer than a healthy process goes without an answer, and shorter than what makes an orphan.
        self._lapse = timedelta(seconds=orphan_threshold / 2)
        # Every worker that lives has sent a heartbeat by then.
        self._round = timedelta(seconds=2 * heartbeat_interval)
        self._answered_at = self._fair_from = now

    def answered(self, now: datetime) -> None:
        if now - self._answered_at > self._lapse:
            self._fair_from = now + self._round
        self._answered_at = now

    def is_good(self, now: datetime) -> bool:
        """Whether a worker that is silent now has had the chance to send a heartbeat."""
        return now >= self._fair_from and now - self._answered_at <= self._lapse
