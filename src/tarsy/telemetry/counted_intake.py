"""What senders say, and what is refused of it, counted."""

from tarsy.telemetry.labels import BoundedLabel
from tarsy.telemetry.metrics import Metrics


class CountedIntake:
    def __init__(self, metrics: Metrics) -> None:
        self._intake = metrics.intake
        self._submitted = metrics.sessions.submitted
        # A sender's name comes out of an address, which strangers can make up.
        self._source = BoundedLabel()
        self._alert_type = BoundedLabel()

    def taken(self, source: str, action: str, alerts: int) -> None:
        self._intake.alerts.labels(self._source(source), action).inc(alerts)

    def changed(self, source: str, changes: int) -> None:
        self._intake.changes.labels(self._source(source)).inc(changes)

    def investigated(self, alert_type: str) -> None:
        self._submitted.labels(self._alert_type(alert_type)).inc()

    def refused(self, source: str, reason: str) -> None:
        self._intake.refused.labels(self._source(source), reason).inc()
