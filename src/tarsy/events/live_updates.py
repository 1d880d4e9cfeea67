"""What writers call: it never waits for a reader, another process or the database."""

from collections.abc import Callable, Sequence
from sys import maxsize
from uuid import uuid4

import anyio
import structlog
from anyio.abc import TaskStatus

from tarsy.domain.live_events import StoredLiveEvent, StreamDelta
from tarsy.events.hub import ConnectionManager, HubLimits
from tarsy.events.live_state import LiveState
from tarsy.events.relay import TEXT_NOTIFICATION, WATCH_NOTIFICATION, Relay
from tarsy.events.store import Broadcast, EventStore, NotificationSource, SessionExists
from tarsy.kit.clock import Clock, SystemClock

log = structlog.stdlib.get_logger(__name__)


class EventPublisher:
    """Persistent events are stored and announced by the writer's own transaction; here they take the short way to local readers."""

    def __init__(self, live_state: LiveState, hub: ConnectionManager, relay: Relay) -> None:
        self._live_state = live_state
        self._hub = hub
        self._relay = relay

    def announce(self, events: Sequence[StoredLiveEvent]) -> None:
        """Hand over what was just committed. A timeline event must be announced before its first text is published."""
        self._hub.deliver(events)

    def publish(self, delta: StreamDelta) -> None:
        """Show text that is being written."""
        stream = self._live_state.stream(delta, own=True)
        if stream is None:
            return
        agreed = stream.text.put(delta.offset, _encodable(delta.delta))
        if agreed is None:
            log.warning("stream.gap", event_id=delta.event_id, offset=delta.offset, length=stream.text.length)
            return
        stream.relayed = min(stream.relayed, agreed)
        self._hub.tell(stream, agreed)
        self._relay.offer(stream)

    def progress(self, session_id: str, *, stage_name: str, stage_index: int, stage_count: int) -> None:
        """Say where a running session is."""
        topic = self._live_state.progress(session_id, own=True)
        if topic is None:
            return
        topic.update({"session_id": session_id, "stage_name": stage_name, "stage_index": stage_index, "stage_count": stage_count})
        self._hub.tell(topic, agreed=maxsize)
        self._relay.offer(topic)


def _encodable(text: str) -> str:
    """Models sometimes send half of a surrogate pair, which no encoder takes; its replacement keeps the length."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


# A page that is loaded anew, or a connection that is made again, finds the process still listening.
LINGER_SECONDS = 60.0


class Hearing:
    """`is_followed`: whether any channel has a follower here."""

    def __init__(self, source: NotificationSource, notification: str, is_followed: Callable[[], bool]) -> None:
        self._source = source
        self._notification = notification
        self._is_followed = is_followed
        self._hears = False
        self._turn = anyio.Lock(fast_acquire=True)

    async def begin(self) -> None:
        """Whatever is written from now on will be heard of."""
        if self._hears:
            return
        async with self._turn:
            if not self._hears:
                await self._source.want(self._notification, wanted=True)
                self._hears = True

    async def end_unless_followed(self) -> None:
        async with self._turn:
            if self._hears and not self._is_followed():
                self._hears = False
                await self._source.want(self._notification, wanted=False)

    async def run(self) -> None:
        """Stop listening when the last follower has been gone for a while; until cancelled."""
        while True:
            await anyio.sleep(LINGER_SECONDS)
            await self.end_unless_followed()


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
