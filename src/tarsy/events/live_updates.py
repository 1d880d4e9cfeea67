"""Live delivery put together: one object for the wiring to build, run and hand around."""

from uuid import uuid4

import anyio
from anyio.abc import TaskStatus

from tarsy.events.hearing import Hearing
from tarsy.events.hub import ConnectionManager, HubLimits
from tarsy.events.live_state import LiveState
from tarsy.events.ports import Broadcast, EventStore, NotificationSource, SessionExists
from tarsy.events.publisher import EventPublisher
from tarsy.events.relay import Relay
from tarsy.events.relay_wire import TEXT_NOTIFICATION, WATCH_NOTIFICATION
from tarsy.kit.clock import Clock, SystemClock


class LiveUpdates:
    """`hub` is for readers, `publisher` for writers. Build it before the notification source runs; run the source first."""

    def __init__(
        self,
        *,
        store: EventStore,
        source: NotificationSource,
        broadcast: Broadcast,
        session_exists: SessionExists,
        events_notification: str,
        limits: HubLimits | None = None,
        clock: Clock | None = None,
    ) -> None:
        live_state = LiveState()
        self.hub = ConnectionManager(store, session_exists, live_state, limits=limits)
        self._relay = Relay(live_state, self.hub, broadcast, process_id=uuid4().hex[:12], clock=clock or SystemClock())
        self.publisher = EventPublisher(live_state, self.hub, self._relay)
        self.hub.on_followed = self._relay.watch
        self._hearing = Hearing(source, events_notification, lambda: bool(self.hub.followed))
        self.hub.hear = self._hearing.begin
        source.subscribe(events_notification, self.hub.on_notification, when_wanted=True)
        source.subscribe(TEXT_NOTIFICATION, self._relay.on_bulletin)
        source.subscribe(WATCH_NOTIFICATION, self._relay.on_watch)
        source.on_gap(self.hub.on_gap)
        source.on_gap(self._relay.on_gap)

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Deliver until cancelled."""
        async with anyio.create_task_group() as tasks:
            await tasks.start(self.hub.run)
            tasks.start_soon(self._relay.run)
            tasks.start_soon(self._hearing.run, name="hearing")
            task_status.started()
