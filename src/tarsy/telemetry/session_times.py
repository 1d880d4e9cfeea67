"""How long sessions waited and ran, and how they ended."""

from collections.abc import Iterable

from tarsy.domain.claim import Claim
from tarsy.domain.live import SESSIONS_CHANNEL, LiveEventType, StoredLiveEvent
from tarsy.domain.session import AlertSession, NewSession, SessionClose
from tarsy.domain.status import SessionStatus
from tarsy.telemetry.labels import BoundedLabel
from tarsy.telemetry.metrics import SessionMetrics


class SessionTimes:
    """Follows the sessions that this process has claimed. The process that ends a session is one that claimed it."""

    def __init__(self, metrics: SessionMetrics) -> None:
        self._metrics = metrics
        self._alert_type = BoundedLabel()
        self._claimed: dict[str, AlertSession] = {}

    def submitted(self, session: NewSession) -> None:
        self._metrics.submitted.labels(self._alert_type(session.alert_type)).inc()

    def claimed(self, claim: Claim, noun: object) -> None:
        if isinstance(noun, AlertSession):
            self._claimed[claim.token] = noun

    def let_go(self, claim: Claim) -> None:
        self._claimed.pop(claim.token, None)

    def closed(self, claim: Claim, close: SessionClose) -> None:
        session = self._claimed.pop(claim.token, None)
        if session is None or session.started_at is None:
            return
        self._metrics.wait.observe((session.started_at - session.created_at).total_seconds())
        self._metrics.run.labels(close.status.value).observe((close.completed_at - session.started_at).total_seconds())
        if close.status is SessionStatus.COMPLETED:
            self._metrics.alert_to_verdict.observe((close.completed_at - session.created_at).total_seconds())

    def told(self, events: Iterable[StoredLiveEvent]) -> None:
        """Count ends by what was told of them: whatever way a session ends, its end is told once in the channel of the list."""
        for event in events:
            if event.channel == SESSIONS_CHANNEL and event.payload["type"] == LiveEventType.SESSION_COMPLETED.value:
                self._metrics.ended.labels(self._alert_type(event.payload["alert_type"]), event.payload["status"]).inc()
