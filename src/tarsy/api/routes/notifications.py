"""Notifications: listing them, sending one again, and testing a target."""

from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

from fastapi import Path, Query
from pydantic import Field

from tarsy.api.router import api_router
from tarsy.api.routes.sessions import MAX_PAGE
from tarsy.api.schemas.notifications import NotificationItem, NotificationList, TestRequest, TestResult
from tarsy.api.schemas.view import Name, Request
from tarsy.api.services import AuthorDep, ServicesDep
from tarsy.db.audit import AuditAction
from tarsy.db.errors import NotFoundError
from tarsy.domain.notification import MAX_AGE, NotificationStatus
from tarsy.notify.delivery import send_test

router = api_router(tag="notifications")


class NotificationQuery(Request):
    """Which notifications to list."""

    target: Name | None = Field(default=None, description="Only to this target.")
    status: NotificationStatus | None = Field(default=None, description="Only those with this status.")
    limit: int = Field(default=50, ge=1, le=MAX_PAGE)
    cursor: str | None = Field(default=None, max_length=200, description="`next_cursor` of the page before.")


@router.get("/notifications", operation_id="listNotifications")
async def list_notifications(services: ServicesDep, query: Annotated[NotificationQuery, Query()]) -> NotificationList:
    """Notifications, the latest first, and all targets with what became of theirs."""
    repository = services.notifications.repository
    page = await repository.list(limit=query.limit, cursor=query.cursor, target=query.target, status=query.status)
    return NotificationList.of(page, await repository.counts(), services.notifications.policy.targets)


@router.post("/notifications/{notification_id}/send", status_code=202, operation_id="sendNotificationAgain")
async def send_notification_again(
    notification_id: Annotated[UUID, Path(description="The notification's id.")], services: ServicesDep, author: AuthorDep
) -> NotificationItem:
    """Send a notification that was given up or has expired, with the same id; 409 if it is delivered or on its way."""
    again = await services.notifications.repository.send_again(
        str(notification_id), actor=author, expires_at=datetime.now(UTC) + MAX_AGE, targets=services.notifications.policy.targets
    )
    return NotificationItem.of(again)


@router.post("/notifications/test", operation_id="testNotificationTarget")
async def try_notification_target(wanted: TestRequest, services: ServicesDep, author: AuthorDep) -> TestResult:
    """Send a sample message to a target now, and return whether it was accepted."""
    try:
        sender = services.notifications.policy.targets[wanted.target]
    except KeyError as error:
        raise NotFoundError("notification target", wanted.target) from error
    await services.system.audit.append(author, AuditAction.NOTIFICATION_TESTED, details={"target": wanted.target})
    problem = await send_test(wanted.target, sender)
    return TestResult(delivered=problem is None, error=problem)
