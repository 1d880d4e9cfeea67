"""Notifications as hours of deliveries leave them, written straight into a server's database."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

from support.server_database import execute
from support.tarsy_process import Served
from tarsy.db.tables import notifications
from tarsy.domain.notification import EventKind, NotificationStatus

_BAD_GATEWAY = "HTTP 502 <html><head><title>502 Bad Gateway</title></head><body>upstream_connect_error_or_disconnect_before_headers</body>"


def store_notifications(server: Served, session_id: str) -> None:
    """Store one of each status about the session, and one to a target that is no longer configured."""
    now = datetime.now(UTC)
    stored = (
        ("ticket-bot", EventKind.VERDICT, NotificationStatus.DELIVERED, 0, None),
        ("ticket-bot", EventKind.FAILED, NotificationStatus.DEAD_LETTER, 12, _BAD_GATEWAY),
        ("ticket-bot", EventKind.WAITING, NotificationStatus.EXPIRED, 3, "no answer within 15 s"),
        ("ticket-bot", EventKind.STARTED, NotificationStatus.PENDING, 1, "the receiver cannot be reached: ConnectError"),
        ("old-channel", EventKind.VERDICT, NotificationStatus.DELIVERED, 0, None),
    )
    rows = [
        {
            "id": str(uuid4()),
            "session_id": session_id,
            "target": target,
            "rule": "rule 1",
            "event": {"kind": kind.value, "at": now.isoformat(), "title": "KubePodCrashLooping", "session_id": session_id},
            "text": "KubePodCrashLooping",
            "status": status.value,
            "attempts": attempts,
            "error": error,
            "expires_at": now + timedelta(days=1),
            "delivered_at": now if status is NotificationStatus.DELIVERED else None,
        }
        for target, kind, status, attempts, error in stored
    ]
    execute(server, notifications.insert().values(rows))
