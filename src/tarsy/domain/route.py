"""What a route can ask for, and its defaults."""

from datetime import timedelta
from enum import StrEnum

# What a group's first notification waits for its companions: as long as Alertmanager needs to send the next groups of one outage.
GROUP_WAIT = timedelta(seconds=15)
# Alertmanager's own default: by then an engineer should have acted, and what the agents found may no longer be true.
REPEAT_INTERVAL = timedelta(hours=4)
# What was looked at so often without anything new is not understood better by looking again.
LOOKS_AGAIN_AT_MOST = 3
# A problem that comes back so soon was not over.
REOPEN_AFTER = timedelta(minutes=30)
# For senders that never say resolved.
AUTO_RESOLVE_AFTER = timedelta(hours=24)
# Instead of the names of labels: every alert for itself.
EACH = "..."


class RouteAction(StrEnum):
    INVESTIGATE = "investigate"
    # Kept and shown, not investigated.
    RECORD = "record"
    # Counted, and nothing else.
    DROP = "drop"


class OnResolved(StrEnum):
    """What happens to investigations when nothing of their incident fires any more."""

    # Those that wait are cancelled before they cost anything; those that run are told.
    CANCEL_PENDING = "cancel_pending"
    NOTE = "note"
    IGNORE = "ignore"
