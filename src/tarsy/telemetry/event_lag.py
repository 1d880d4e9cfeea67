"""How long it takes until this process hears what any process has written."""

from datetime import datetime
from typing import Any

import orjson

from tarsy.domain.live import SESSIONS_CHANNEL
from tarsy.kit.clock import Clock
from tarsy.telemetry.metrics import ProcessMetrics


class EventLag:
    """Listens beside the hub. The moves of sessions say when they were made."""

    def __init__(self, metrics: ProcessMetrics, clock: Clock) -> None:
        self._seconds = metrics.event_lag
        self._clock = clock

    def on_notification(self, text: str) -> None:
        if SESSIONS_CHANNEL not in text[:200]:
            return
        message: dict[str, Any] = orjson.loads(text)
        payload: dict[str, Any] = message.get("payload") or {}
        at: str | None = payload.get("at")
        if message["channel"] == SESSIONS_CHANNEL and at:
            # Clocks of two machines may disagree by more than the way takes.
            self._seconds.observe(max((self._clock.now() - datetime.fromisoformat(at)).total_seconds(), 0.0))
