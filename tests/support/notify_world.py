"""Notifications on a real PostgreSQL: sessions that end, the feed, and deliveries to receivers on this machine."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import uuid4

import anyio

from support.claims import claim_next
from support.intake_world import IntakeWorld, intake_world
from tarsy.config.schema.system import QueueConfig
from tarsy.db.notification_repository import NotificationRepository
from tarsy.db.outbox import Publisher
from tarsy.db.retry import is_transient
from tarsy.db.work.queue import WorkQueue
from tarsy.db.work.recovery import Recovery
from tarsy.domain.notification import MAX_AGE, EventKind, Notification, NotificationEvent, NotificationRule, NotificationStatus
from tarsy.kit.clock import FixedClock, SystemClock
from tarsy.notify.delivery import NotificationDelivery
from tarsy.notify.feed import NotificationFeed
from tarsy.notify.policy import NotificationPolicy
from tarsy.notify.senders.sender import Sender
from tarsy.queue.handler import Runner
from tarsy.queue.pool import WorkerPool
from tarsy.session.run_scope import Cancellations, RunScope


@dataclass
class NotifyWorld:
    intake: IntakeWorld
    policy: NotificationPolicy
    clock: FixedClock = field(default_factory=lambda: FixedClock(SystemClock().now()))
    counted: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def feed(self) -> NotificationFeed:
        """A new one, as another process has it."""
        return NotificationFeed(self.intake.engine, self.policy, str)

    @property
    def store(self) -> NotificationRepository:
        return NotificationRepository(self.intake.engine)

    def handler(self, target: str) -> NotificationDelivery:
        return NotificationDelivery(
            target=target,
            sender=self.policy.targets[target],
            notification_rules=self.policy.rules,
            store=self.store,
            clock=self.clock,
            count=lambda name, result: self.counted.append((name, result)),
        )

    async def deliver(self, target: str) -> int:
        """Make an attempt for everything that is ready; return how many there were."""
        handler, attempts = self.handler(target), 0
        while found := await claim_next(self.intake.engine, handler.rules):
            await handler.run(found, RunScope())
            attempts += 1
        return attempts

    def pool(self) -> WorkerPool:
        queue = WorkQueue(Publisher(self.intake.engine), pod_id="test")
        runner = Runner(queue=queue, cancellations=Cancellations(), is_transient=is_transient)
        handlers = [self.handler(target) for target in self.policy.targets]
        return WorkerPool(QueueConfig(poll_interval=0.05), runner, Recovery(Publisher(self.intake.engine)), handlers, clock=SystemClock())

    async def stored(self) -> list[Notification]:
        """All of them, the oldest first."""
        return [*reversed((await self.store.list(limit=1000)).notifications)]

    async def rows(self, query: str, **parameters: Any) -> list[Mapping[str, Any]]:
        return await self.intake.rows(query, **parameters)

    async def make_due(self) -> None:
        """Let the time pass until the next attempts."""
        async with self.intake.engine.begin() as connection:
            await connection.exec_driver_sql("UPDATE work SET not_before = NULL")

    async def until_delivered(self, target: str, count: int) -> None:
        delivered = 0
        with anyio.fail_after(30):
            while delivered < count:
                delivered = (await self.store.counts())[target].delivered
                await anyio.sleep(0 if delivered == count else 0.1)


def message(kind: EventKind, at: datetime, **more: Any) -> Notification:
    """A notification that is stored nowhere."""
    return Notification(
        id=str(uuid4()),
        target="hook",
        rule="all",
        event=NotificationEvent(kind=kind, at=at, title="Disk full", session_id=str(uuid4()), **more),
        text="Disk full",
        status=NotificationStatus.PENDING,
        attempts=0,
        error=None,
        created_at=at,
        expires_at=at + MAX_AGE,
        delivered_at=None,
    )


@asynccontextmanager
async def notify_world(database_url: str, targets: Mapping[str, Sender], rules: Sequence[NotificationRule]) -> AsyncGenerator[NotifyWorld]:
    async with intake_world(database_url) as intake:
        policy = NotificationPolicy(targets=targets, rules=rules, dashboard_url="https://tarsy.example/")
        world = NotifyWorld(intake, policy)
        await world.feed().advance()
        yield world
