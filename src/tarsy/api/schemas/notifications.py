"""Notifications and their targets."""

from collections.abc import Mapping
from datetime import datetime
from typing import Self
from uuid import UUID

from pydantic import Field

from tarsy.api.schemas.view import Name, Request, View
from tarsy.db.notification_repository import NotificationPage, TargetCounts
from tarsy.domain.notification import EventKind, Notification, NotificationStatus
from tarsy.notify.senders.sender import Sender


class NotificationItem(View):
    id: UUID
    target: str
    rule: str
    kind: EventKind
    title: str
    text: str
    status: NotificationStatus
    # Failed attempts, and why the last one failed.
    attempts: int
    error: str | None
    session_id: UUID | None
    incident_id: UUID | None
    created_at: datetime
    expires_at: datetime
    delivered_at: datetime | None

    @classmethod
    def of(cls, notification: Notification) -> Self:
        return cls.build(notification, notification.event)


class TargetItem(View):
    """A configured target, or a former one to which notifications are stored, and what became of these."""

    name: str
    # Absent for a target that the configuration no longer has.
    service: str | None
    pending: int
    delivered: int
    dead_letter: int
    expired: int
    last_delivered_at: datetime | None
    last_error: str | None


class NotificationList(View):
    targets: list[TargetItem]
    notifications: list[NotificationItem]
    next_cursor: str | None

    @classmethod
    def of(cls, page: NotificationPage, counts: Mapping[str, TargetCounts], targets: Mapping[str, Sender]) -> Self:
        names = [*targets, *sorted(counts.keys() - targets.keys())]
        shown = [
            TargetItem.build(counts.get(name, TargetCounts()), name=name, service=targets[name].service if name in targets else None)
            for name in names
        ]
        items = [NotificationItem.of(one) for one in page.notifications]
        return cls(targets=shown, notifications=items, next_cursor=page.next_cursor)


class TestRequest(Request):
    target: Name = Field(description="The target's name.")


class TestResult(View):
    delivered: bool
    # Why it was not delivered.
    error: str | None
