"""The delivery of notifications, a kind of work for each target: attempts with a growing pause, and a limit to their number and age."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

import anyio
import structlog

from tarsy.db.notification_repository import NotificationRepository
from tarsy.db.retry import is_transient
from tarsy.domain.claim import Claim, ClaimLostError
from tarsy.domain.notification import MAX_AGE, MessageThread, Notification, NotificationRule, NotificationStatus, delivery_kind
from tarsy.domain.notification_text import SAMPLE, render
from tarsy.domain.status import RunStatus
from tarsy.domain.work import Claimed, End, Lane, RetryPolicy, WorkRules
from tarsy.kit.clock import Clock, SystemClock
from tarsy.notify.senders.sender import Delivered, NotDelivered, Sender
from tarsy.session.run_scope import RunScope

# From five seconds to an hour: a restarting receiver misses nothing, and one that is away for two hours is still notified.
RETRY = RetryPolicy(max_attempts=12, first_delay=5.0, max_delay=3600.0)
# Longer than any service takes that works.
SEND_SECONDS = 15.0
# Two: one slow answer does not hold up the next notification.
CONCURRENT_PER_TARGET = 2
# A message kills no worker; one whose workers died for other reasons is not given up.
MAX_RECOVERIES = 1_000

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationDelivery:
    """Delivers the notifications to one target. Each is delivered at least once, under the same idempotency key."""

    target: str
    sender: Sender
    # Their quiet hours hold notifications back.
    notification_rules: Sequence[NotificationRule]
    store: NotificationRepository
    clock: Clock
    # Counts the result of each attempt.
    count: Callable[[str, str], None]

    @property
    def rules(self) -> WorkRules:
        return WorkRules(
            kind=delivery_kind(self.target),
            lane=Lane.NOTIFICATIONS,
            max_concurrent=1 if self.sender.has_threads else CONCURRENT_PER_TARGET,
            held_by_pause=False,
            max_recoveries=MAX_RECOVERIES,
        )

    async def run(self, claimed: Claimed[None], scope: RunScope) -> End | None:
        """Make one attempt, and store its result together with the end or the next time of the work."""
        del scope  # the scope cancels this call from outside
        try:
            return await self._run(claimed.claim)
        except Exception as error:  # errors of senders arrive as NotDelivered; this is a bug or an unreadable row
            if isinstance(error, ClaimLostError) or is_transient(error):
                raise
            log.exception("notification.broke", target=self.target, notification_id=claimed.claim.subject_id)
            await self._not_delivered(claimed.claim, f"internal error: {type(error).__name__}", RETRY.delay_after(claimed.failures + 1))
            return None

    async def _run(self, claim: Claim) -> End | None:
        notification = await self.store.get(claim.subject_id)
        if notification is None or notification.status is not NotificationStatus.PENDING:
            return End(RunStatus.CANCELLED, "it was erased, or its delivery has ended")
        now = self.clock.now()
        if now >= notification.expires_at:
            await self.store.close(claim, NotificationStatus.EXPIRED, notification.error or "it could not be delivered in time")
            self.count(self.target, "expired")
            return None
        if quiet_until := notification.quiet_until(self.notification_rules, now):
            seconds = (min(quiet_until, notification.expires_at) - now).total_seconds()
            await self.store.retry_later(claim, notification.error, seconds=seconds, counts=False)
            return None
        thread = await self.store.thread_of(notification) if self.sender.has_threads else None
        result = await _attempt(self.sender, notification, thread)
        if isinstance(result, Delivered):
            await self.store.close(claim, NotificationStatus.DELIVERED, posted=result.posted)
            self.count(self.target, "delivered")
            return None
        # A receiver that asks for time is not at fault: only `expires_at` limits how often it may.
        failures = notification.attempts + (result.retry_after is None)
        delay = result.retry_after if result.retry_after is not None else RETRY.delay_after(failures)
        log.warning("notification.not_delivered", target=self.target, notification_id=notification.id, error=result.reason)
        if delay is not None:
            # A receiver may ask for any time, but the notification must not wait beyond its end.
            left = (notification.expires_at - self.clock.now()).total_seconds()
            delay = max(min(delay, left), 1.0)
        await self._not_delivered(claim, result.reason, delay, counts=result.retry_after is None)
        return None

    async def _not_delivered(self, claim: Claim, reason: str, delay: float | None, *, counts: bool = True) -> None:
        """Store a failed attempt, and that it is tried again after the delay, or given up without one."""
        if delay is None:
            await self.store.close(claim, NotificationStatus.DEAD_LETTER, reason)
            self.count(self.target, "dead_letter")
        else:
            await self.store.retry_later(claim, reason, seconds=delay, counts=counts)
            self.count(self.target, "failed")

    async def end_early(self, claimed: Claimed[None], status: RunStatus) -> End:
        """Notifications are neither cancelled nor limited in time as a whole."""
        del claimed
        return End(status, "stopped")


async def send_test(target: str, sender: Sender) -> str | None:
    """Send a sample message at once; return why it was not delivered, or None."""
    now = SystemClock().now()
    event = replace(SAMPLE, at=now)
    notification = Notification(
        id=str(uuid4()),
        target=target,
        rule="test",
        event=event,
        text=render(event, sender.markup),
        status=NotificationStatus.PENDING,
        attempts=0,
        error=None,
        created_at=now,
        expires_at=now + MAX_AGE,
        delivered_at=None,
    )
    result = await _attempt(sender, notification)
    return result.reason if isinstance(result, NotDelivered) else None


async def _attempt(sender: Sender, notification: Notification, thread: MessageThread | None = None) -> Delivered | NotDelivered:
    try:
        with anyio.fail_after(SEND_SECONDS):
            return await sender.send(notification, thread)
    except TimeoutError:
        return NotDelivered(f"no answer within {SEND_SECONDS:g} s")
    except Exception as error:  # the boundary to the services' SDKs and plugins
        log.exception("notification.broke", target=notification.target, notification_id=notification.id)
        return NotDelivered(f"internal error: {type(error).__name__}")
