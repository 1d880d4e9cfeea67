"""Alerts and changes: what other systems said, in our words. An alert says that something is wrong, or no longer; a change, that something was made different."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class Severity(StrEnum):
    """Severity, worst first."""

    CRITICAL = "critical"
    HIGH = "high"
    WARNING = "warning"
    # The sender did not say. More urgent than what a sender called harmless.
    UNKNOWN = "unknown"
    INFO = "info"

    @property
    def priority(self) -> int:
        """How far ahead in the queue an investigation of it stands: 4 for the worst, 0 for what is only information."""
        return len(Severity) - 1 - tuple(Severity).index(self)

    def worst(self, other: "Severity") -> "Severity":
        return self if self.priority >= other.priority else other


class AlertStatus(StrEnum):
    FIRING = "firing"
    RESOLVED = "resolved"


class ChangeOutcome(StrEnum):
    STARTED = "started"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    # It happened; how it went was not said.
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Where a person can read on: at the sender, on a dashboard, in a runbook, and where to silence it."""

    source: str | None = None
    dashboard: str | None = None
    runbook: str | None = None
    silence: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One thing that a monitoring system said of one problem."""

    source: str
    # The same for everything that the sender says of the same problem; unique within the source.
    fingerprint: str
    title: str
    severity: Severity
    status: AlertStatus
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])
    links: Links = field(default_factory=Links)
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    # Names the group that the sender itself put the alert into, if it groups.
    group_key: str | None = None
    # What was sent, as text; not masked yet.
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Something that was deployed, synchronised, released or switched: it opens nothing, but may be the cause."""

    source: str
    # The same for everything that is said of the same change.
    fingerprint: str
    title: str
    outcome: ChangeOutcome
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    link: str | None = None
    # None: the sender did not say when; the time at which it arrived counts.
    at: datetime | None = None
    body: str
