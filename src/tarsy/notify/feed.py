"""The feed of notifications: reads committed live events in order, and stores the notifications that the rules make of them.

A live event is stored in the transaction of the change that it announces, and the cursor moves in the transaction that stores the
notifications. So none is lost and none is made twice, whenever a process is killed.

Processes may have different configurations, for the time of a rollout or for ever. So one whose configuration has no rules does not conclude
that no process has any: it waits until no process has read an event for a while.
"""

from collections.abc import Callable

import anyio
import sqlalchemy as sa
import structlog
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db.notification_repository import NotificationRepository, add_notifications, last_events, targets_asked
from tarsy.db.retry import is_transient
from tarsy.db.tables import event_channels, events, notification_cursors
from tarsy.domain.live_events import INCIDENTS_CHANNEL, SESSIONS_CHANNEL
from tarsy.domain.notification import EventKind, NewNotification, notifications_of, reply
from tarsy.domain.notification_text import TemplateRejectedError, render
from tarsy.kit.auto_reset_event import AutoResetEvent
from tarsy.kit.logs import logged_errors
from tarsy.notify.events import kind_of, read_event
from tarsy.notify.policy import SLACK_REPLIES, NotificationPolicy
from tarsy.notify.senders.slack import posts_to

CHANNELS = (SESSIONS_CHANNEL, INCIDENTS_CHANNEL)
# A transaction of some ten milliseconds.
BATCH = 200
# PostgreSQL's notifications wake the feed; this finds what they lose.
POLL_SECONDS = 5.0
# Rare enough to cost nothing.
CLEAN_UP_SECONDS = 60.0
# Far longer than a process that has rules takes to read an event.
_FORGET_UNREAD = sa.text(
    """
    DELETE FROM notification_cursors n WHERE now() - interval '10 minutes' > (
        SELECT created_at FROM events e WHERE e.channel = n.channel AND e.id > n.last_id ORDER BY e.id LIMIT 1
    )
    """
)

log = structlog.get_logger(__name__)


class NotificationFeed:
    """Makes notifications. Every process that works on sessions has one, and they take turns."""

    def __init__(self, engine: AsyncEngine, policy: NotificationPolicy, mask: Callable[[str], str]) -> None:
        self._engine = engine
        self._configure(policy, mask)
        self._awake = AutoResetEvent()

    def _configure(self, policy: NotificationPolicy, mask: Callable[[str], str]) -> None:
        self._policy = policy
        self._mask = mask
        # With an app, people can ask for sessions and answers in Slack, and get what becomes of them there.
        self._kinds = frozenset(EventKind) if policy.slack_app else frozenset(kind for rule in policy.rules for kind in rule.on)

    def reconfigure(self, policy: NotificationPolicy, mask: Callable[[str], str]) -> None:
        """Use these rules from the next event on."""
        self._configure(policy, mask)
        self._awake.set()

    def on_notification(self, text: str) -> None:
        """A live event was committed. Most are of other channels, and are not worth parsing."""
        if self._kinds and any(f'"{channel}"' in text[:200] for channel in CHANNELS):
            self._awake.set()

    async def run(self) -> None:
        """Make notifications, and clean up now and then, until cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._keep_clean, name="clean-up of notifications")
            while True:
                with logged_errors("notifications.not_made"):
                    while await self.advance():
                        pass
                await self._awake.wait(POLL_SECONDS if self._kinds else None)

    async def _keep_clean(self) -> None:
        while True:
            with logged_errors("notifications.not_cleaned_up"):
                await self.clean_up()
            await anyio.sleep(CLEAN_UP_SECONDS)

    async def clean_up(self) -> None:
        """Give up what waits for targets that no process has; without rules, forget how far events were read, unless another process reads them."""
        await NotificationRepository(self._engine).give_up_removed(list(self._policy.targets))
        if not self._kinds:
            async with self._engine.begin() as connection:
                await connection.execute(_FORGET_UNREAD)

    async def advance(self) -> bool:
        """Read a batch of events from each channel; return whether there may be more."""
        return any([await self._advance(channel) for channel in CHANNELS]) if self._kinds else False

    async def _advance(self, channel: str) -> bool:
        cursor = notification_cursors.c
        async with self._engine.begin() as connection:
            held = sa.select(cursor.last_id).where(cursor.channel == channel).with_for_update(skip_locked=True)
            last_id = await connection.scalar(held)
            if last_id is None:
                # Either another process reads this channel now and finds the same events, or there were no rules: begin with what is new.
                newest = sa.select(event_channels.c.last_id).where(event_channels.c.name == channel).scalar_subquery()
                begin = insert(notification_cursors).values(channel=channel, last_id=sa.func.coalesce(newest, 0))
                await connection.execute(begin.on_conflict_do_nothing())
                return False
            query = sa.select(events.c.id, events.c.payload).where(events.c.channel == channel, events.c.id > last_id)
            rows = (await connection.execute(query.order_by(events.c.id).limit(BATCH))).all()
            for row in rows:
                kind = kind_of(row.payload)
                # A wait for a budget is a wait until its session has been read. Who was asked for an approval learns what was decided.
                implied = {EventKind.WAITING: EventKind.BUDGET, EventKind.DECIDED: EventKind.WAITING}
                if kind and (kind in self._kinds or implied.get(kind) in self._kinds):
                    try:
                        new = await self._notifications(connection, kind, row.payload)
                    except Exception as error:  # one event that cannot be read or shown must not hold up all later ones
                        if isinstance(error, SQLAlchemyError) or is_transient(error):
                            raise
                        log.exception("notifications.event_skipped", kind=kind, session_id=row.payload.get("session_id"))
                    else:
                        await add_notifications(connection, new)
            if rows:
                move = sa.update(notification_cursors).where(cursor.channel == channel).values(last_id=rows[-1].id)
                await connection.execute(move)
        return len(rows) == BATCH

    async def _notifications(
        self, connection: AsyncConnection, kind: EventKind, payload: dict[str, object]
    ) -> list[tuple[NewNotification, str]]:
        """Return the notifications of a live event with their texts."""
        event = await read_event(connection, kind, payload, dashboard_url=self._policy.dashboard_url)
        if event is None:
            return []
        new, targets = notifications_of(event, self._policy.rules, await last_events(connection, event)), self._policy.targets
        if event.kind is EventKind.DECIDED and event.approval:
            # Only a service with threads can change what it shows.
            asked = await targets_asked(connection, event.approval)
            new += [reply(event, target) for target in asked if target in targets and targets[target].has_threads]
        if (thread := event.slack_thread) and SLACK_REPLIES in targets:
            # Its channel gets it there, and not a second time by a rule.
            new = [one for one in new if not posts_to(targets[one.target], thread.channel)]
            new.append(reply(event, SLACK_REPLIES))
        return [(one, self._text(one)) for one in new]

    def _text(self, new: NewNotification) -> str:
        markup = self._policy.targets[new.target].markup
        try:
            text = render(new.event, markup, new.rule.template)
        except TemplateRejectedError as error:
            # `config check` has tried it with other events. A short message is better than none.
            log.warning("notification.template_failed", rule=new.rule.name, error=str(error))
            text = render(new.event, markup)
        return self._mask(text)
