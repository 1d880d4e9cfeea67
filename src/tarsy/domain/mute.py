"""Mutes: times in which certain alerts are recorded only, such as maintenance."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tarsy.domain.alert import Alert
from tarsy.domain.matchers import Matcher, all_accept


@dataclass(frozen=True, slots=True, kw_only=True)
class Mute:
    starts: datetime
    ends: datetime
    match: tuple[Matcher, ...] = ()
    # Only alerts of this incident; None: whatever matches.
    incident_key: str | None = None
    reason: str = "maintenance"
    # None: it stands in the configuration.
    id: str | None = None
    actor: str = "configuration"

    def covers(self, alert: Alert, now: datetime, incident_key: str | None = None) -> bool:
        meant = self.incident_key is None or self.incident_key == incident_key
        return meant and self.starts <= now < self.ends and all_accept(self.match, alert)


def muted_by(alert: Alert, mutes: Sequence[Mute], now: datetime, incident_key: str | None = None) -> Mute | None:
    return next((mute for mute in mutes if mute.covers(alert, now, incident_key)), None)
