"""Stored notifications: added with their rows of work, delivered, retried, and listed for people."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
import structlog
from pydantic import TypeAdapter, ValidationError
from sqlalchemy.dialects.postgresql import aggregate_order_by, distinct_on, insert
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db.audit import AuditAction, add_audit_entry
from tarsy.db.connection import autocommit
from tarsy.db.cursor import Cursor
from tarsy.db.errors import ConflictError, NotFoundError
from tarsy.db.outbox import Transaction
from tarsy.db.rows import read, storable, storable_json
from tarsy.db.tables import alert_sessions, notifications, work
from tarsy.db.work.enqueue import NewWork, enqueue
from tarsy.db.work.release import finish, lock_claimed, release, work_of
from tarsy.domain.approval import Approval
from tarsy.domain.claim import Claim
from tarsy.domain.notification import (
    MessageThread,
    NewNotification,
    Notification,
    NotificationEvent,
    NotificationStatus,
    PostedMessage,
    delivery_kind,
    thread_of,
)
from tarsy.domain.session import SlackThread
from tarsy.domain.work import RetryLater

log = structlog.get_logger(__name__)

# Longer than any reason that a receiver gives; some answer with whole pages.
_LONGEST_ERROR = 500
_EVENT = TypeAdapter(NotificationEvent)
# By a message that TARSy posted (or the one in whose thread it did), or by the message that asked for the session.
_SESSION_IN_THREAD = sa.text(
    """
    SELECT CAST(found.session_id AS text) FROM (
        SELECT coalesce(i.session_id, n.session_id) AS session_id, n.delivered_at AS at
        FROM notifications n LEFT JOIN incidents i ON i.id = n.incident_id
        WHERE n.posted ->> 'channel' = :channel AND coalesce(n.posted ->> 'parent', n.posted ->> 'ts') = :ts AND n.posted IS NOT NULL
        UNION ALL
        SELECT id, created_at FROM alert_sessions
        WHERE slack_thread = jsonb_build_object('channel', CAST(:channel AS text), 'ts', CAST(:ts AS text)) AND deleted_at IS NULL
    ) found
    WHERE found.session_id IS NOT NULL ORDER BY found.at DESC LIMIT 1
    """
)


@dataclass(frozen=True, slots=True)
class NotificationPage:
    notifications: Sequence[Notification]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class TargetCounts:
    """What became of the notifications to a target that are still stored."""

    pending: int = 0
    delivered: int = 0
    dead_letter: int = 0
    expired: int = 0
    last_delivered_at: datetime | None = None
    # Of the latest notification that has one and is not delivered.
    last_error: str | None = None


async def add_notifications(connection: AsyncConnection, new: Sequence[tuple[NewNotification, str]]) -> None:
    """Store notifications with their texts and make their delivery ready, except those that are stored already."""
    rows = {
        one.id: {
            "id": one.id,
            "session_id": one.event.session_id,
            "incident_id": one.event.incident_id,
            "target": one.target,
            "rule": one.rule.name,
            "event": storable_json(_EVENT.dump_python(one.event, mode="json")),
            "text": storable(text),
            "status": NotificationStatus.PENDING.value,
            "expires_at": one.expires_at,
        }
        for one, text in new
    }
    if not rows:
        return
    added = insert(notifications).values(list(rows.values())).on_conflict_do_nothing().returning(notifications.c.id)
    stored = set((await connection.execute(added)).scalars())
    ready = [
        # No work of the session: it neither shares its time limit nor ends with its run.
        NewWork(
            kind=delivery_kind(one.target),
            subject_id=one.id,
            session_id=None,
            chain_id=None,
            created_at=one.event.at,
            not_before=one.not_before if one.not_before > one.event.at else None,
        )
        for one, _ in {one.id: (one, text) for one, text in new}.values()
        if one.id in stored
    ]
    if ready:
        await enqueue(connection, *ready)


async def last_events(connection: AsyncConnection, event: NotificationEvent) -> Mapping[str, NotificationEvent]:
    """Return, by target, the previous event of the same kind about the same incident, of which the target was or will be notified."""
    if event.incident_id is None:
        return {}
    table = notifications.c
    not_lost = table.status.in_([NotificationStatus.PENDING.value, NotificationStatus.DELIVERED.value])
    query = (
        sa.select(table.target, table.event)
        .where(table.incident_id == event.incident_id, table.event["kind"].astext == event.kind.value, not_lost)
        .ext(distinct_on(table.target))
        .order_by(table.target, table.created_at.desc())
    )
    rows = await connection.execute(query)
    return {row.target: _EVENT.validate_python(row.event) for row in rows}


async def targets_asked(connection: AsyncConnection, approval: Approval) -> Sequence[str]:
    """Return the targets that were notified of a call that waits for a person."""
    table = notifications.c
    about = (table.session_id == approval.session_id) & (table.event["approval"]["id"].astext == approval.id)
    return (await connection.execute(sa.select(table.target).where(about).distinct())).scalars().all()


class NotificationRepository:
    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def get(self, notification_id: str) -> Notification | None:
        async with autocommit(self._engine).connect() as connection:
            row = (await connection.execute(sa.select(notifications).where(notifications.c.id == notification_id))).mappings().first()
        return read(Notification, row) if row else None

    async def list(
        self, *, limit: int, cursor: str | None = None, target: str | None = None, status: NotificationStatus | None = None
    ) -> NotificationPage:
        """Return one page of notifications, the latest first, without those that cannot be read.

        Raises:
            BadCursorError: `cursor` does not come from a page.
        """
        table = notifications.c
        query = sa.select(notifications).order_by(table.created_at.desc(), table.id.desc()).limit(limit + 1)
        if target is not None:
            query = query.where(table.target == target)
        if status is not None:
            query = query.where(table.status == status.value)
        if cursor:
            after = Cursor.decode(cursor)
            last = sa.tuple_(sa.literal(after.created_at), sa.literal(after.id, table.id.type))
            query = query.where(sa.tuple_(table.created_at, table.id) < last)
        async with autocommit(self._engine).connect() as connection:
            rows = (await connection.execute(query)).mappings().all()
        more = Cursor(rows[limit - 1]["created_at"], rows[limit - 1]["id"]).encode() if len(rows) > limit else None
        return NotificationPage(_readable(rows[:limit]), more)

    async def counts(self) -> Mapping[str, TargetCounts]:
        """Return what became of the stored notifications, by target."""
        table = notifications.c
        counted = [sa.func.count().filter(table.status == status.value).label(status.value) for status in NotificationStatus]
        latest_error = sa.func.array_agg(aggregate_order_by(table.error, table.created_at.desc()))
        failed = latest_error.filter(table.error.is_not(None), table.status != NotificationStatus.DELIVERED.value)
        query = sa.select(table.target, *counted, sa.func.max(table.delivered_at).label("last_delivered_at"), failed[1].label("last_error"))
        async with autocommit(self._engine).connect() as connection:
            rows = (await connection.execute(query.group_by(table.target))).mappings().all()
        return {row["target"]: read(TargetCounts, row) for row in rows}

    async def thread_of(self, notification: Notification) -> MessageThread | None:
        """Return what the same target shows about the same incident, or session without one."""
        table, event = notifications.c, notification.event
        about = table.incident_id == event.incident_id if event.incident_id else table.session_id == event.session_id
        query = sa.select(notifications).where(table.target == notification.target, about, table.delivered_at.is_not(None))
        async with autocommit(self._engine).connect() as connection:
            rows = (await connection.execute(query.order_by(table.delivered_at))).mappings().all()
        return thread_of(_readable(rows), event)

    async def session_in_thread(self, thread: SlackThread) -> str | None:
        """Return the latest session that a thread in Slack is about; None if it is about none."""
        async with autocommit(self._engine).connect() as connection:
            return await connection.scalar(_SESSION_IN_THREAD, {"channel": thread.channel, "ts": thread.ts})

    async def thread_in_channel(self, session_id: str, channel: str) -> SlackThread | None:
        """Return the thread of the message about a session, or its incident, in a channel of Slack; None if there is no message."""
        table = notifications.c
        incident = sa.select(alert_sessions.c.incident_id).where(alert_sessions.c.id == session_id).scalar_subquery()
        about = (table.session_id == session_id) | (table.incident_id == incident)
        query = sa.select(table.posted).where(about, table.posted["channel"].astext == channel).order_by(table.delivered_at.desc()).limit(1)
        async with autocommit(self._engine).connect() as connection:
            posted = await connection.scalar(query)
        return SlackThread(channel=channel, ts=posted["parent"] or posted["ts"]) if posted else None

    async def close(self, claim: Claim, status: NotificationStatus, error: str | None = None, posted: PostedMessage | None = None) -> None:
        """End the claimed delivery: delivered, which may have posted a message, given up, or expired.

        Raises:
            ClaimLostError: another worker delivers it now.
        """
        values: dict[str, Any] = {"status": status.value, "error": storable(error[:_LONGEST_ERROR]) if error else None}
        if status is NotificationStatus.DELIVERED:
            values |= {"delivered_at": sa.func.now(), "posted": asdict(posted) if posted else None}
        if status is NotificationStatus.DEAD_LETTER:
            values["attempts"] = notifications.c.attempts + 1
        async with self._engine.begin() as connection:
            await lock_claimed(connection, claim)
            await connection.execute(sa.update(notifications).where(notifications.c.id == claim.subject_id).values(values))
            await finish(connection, claim)

    async def retry_later(self, claim: Claim, error: str | None, *, seconds: float, counts: bool) -> None:
        """Return the claimed delivery to the queue, to be tried after a delay.

        Raises:
            ClaimLostError: another worker delivers it now.
        """
        values = {"attempts": notifications.c.attempts + int(counts), "error": storable(error[:_LONGEST_ERROR]) if error else None}
        async with self._engine.begin() as connection:
            row = await lock_claimed(connection, claim)
            await connection.execute(sa.update(notifications).where(notifications.c.id == claim.subject_id).values(values))
            # Its release publishes no event: people see no status of it.
            await release(Transaction(connection), row, RetryLater(seconds, is_failure=counts))

    async def send_again(self, notification_id: str, *, actor: str, expires_at: datetime, targets: Collection[str]) -> Notification:
        """Make a notification that was given up, or has expired, ready for delivery under the same idempotency key.

        Raises:
            NotFoundError: there is no such notification.
            ConflictError: it is delivered or still on its way, or `targets` has its target no longer.
        """
        table = notifications.c
        given_up = [NotificationStatus.DEAD_LETTER.value, NotificationStatus.EXPIRED.value]
        again = sa.update(notifications).where(table.id == notification_id, table.status.in_(given_up))
        values = {"status": NotificationStatus.PENDING.value, "attempts": 0, "error": None, "expires_at": expires_at, "is_sent_again": True}
        async with self._engine.begin() as connection:
            row = (await connection.execute(again.values(values).returning(notifications))).mappings().first()
            if row is None:
                found = await connection.scalar(sa.select(table.status).where(table.id == notification_id))
                if found is None:
                    raise NotFoundError("notification", notification_id)
                raise ConflictError(f"This notification is {found}: only one that was given up or has expired can be sent again.")
            if row["target"] not in targets:
                raise ConflictError(f'The configuration has no target "{row["target"]}" any more.')
            kind = delivery_kind(row["target"])
            await connection.execute(sa.delete(work).where(work_of(kind, notification_id)))
            ready = NewWork(kind=kind, subject_id=notification_id, session_id=None, chain_id=None, created_at=row["created_at"])
            await enqueue(connection, ready)
            details = {"notification_id": notification_id, "target": row["target"]}
            await add_audit_entry(connection, actor=actor, action=AuditAction.NOTIFICATION_SENT_AGAIN, details=details)
        return read(Notification, row)

    async def give_up_removed(self, targets: Sequence[str]) -> None:
        """Give up pending notifications to targets that the configuration does not have, once they have expired.

        Until then, a process with another configuration may deliver them.
        """
        table = notifications.c
        # Written out, so that the partial index serves.
        pending = table.status == sa.literal_column(f"'{NotificationStatus.PENDING}'")
        gone = pending & table.target.not_in(targets) & (table.expires_at < sa.func.now())
        values = {"status": NotificationStatus.DEAD_LETTER.value, "error": "the configuration no longer has this target"}
        async with self._engine.begin() as connection:
            # The work first, as workers lock it. By a query: there may be more ids than a statement takes.
            await connection.execute(sa.delete(work).where(work.c.subject_id.in_(sa.select(table.id).where(gone))))
            await connection.execute(sa.update(notifications).where(gone).values(values))


def _readable(rows: Sequence[sa.RowMapping]) -> Sequence[Notification]:
    """Return the notifications of these rows; leave out those that another version has stored and this one cannot read."""
    found: list[Notification] = []
    for row in rows:
        try:
            found.append(read(Notification, row))
        except ValidationError as error:
            # The other lines quote the data.
            log.warning("notification.unreadable", notification_id=row["id"], error=str(error).splitlines()[0])
    return found
