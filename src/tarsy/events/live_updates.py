"""Live updates: what writers call, and the parts of live delivery put together."""

from collections.abc import Sequence
from sys import maxsize
from uuid import uuid4

import anyio
import structlog
from anyio.abc import TaskStatus

from tarsy.domain.live_events import StoredLiveEvent, StreamDelta
from tarsy.events.hub import Hub, HubLimits
from tarsy.events.live_state import LiveState
from tarsy.events.relay import TEXT_NOTIFICATION, WATCH_NOTIFICATION, Relay
from tarsy.events.store import Broadcast, EventStore, NotificationSource, SessionExists

log = structlog.stdlib.get_logger(__name__)


class LiveUpdates:
    """Writers call `deliver`, `publish` and `progress`, which never wait for a reader, another process or the database; readers use `hub`.

    Create it before the notification source runs, and run the source before it.
    """

    def __init__(
        self,
        *,
        store: EventStore,
        source: NotificationSource,
        broadcast: Broadcast,
        session_exists: SessionExists,
        events_notification: str,
        limits: HubLimits | None = None,
    ) -> None:
        self._live_state = LiveState()
        self.hub = Hub(store, session_exists, self._live_state, limits=limits)
        self._relay = Relay(self._live_state, self.hub, broadcast, process_id=uuid4().hex[:12])
        self.hub.on_followed = self._relay.watch
        source.subscribe(events_notification, self.hub.on_notification)
        source.subscribe(TEXT_NOTIFICATION, self._relay.on_updates)
        source.subscribe(WATCH_NOTIFICATION, self._relay.on_watch)
        source.on_gap(self.hub.on_gap)
        source.on_gap(self._relay.on_gap)

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Deliver until cancelled."""
        async with anyio.create_task_group() as tasks:
            await tasks.start(self.hub.run)
            tasks.start_soon(self._relay.run)
            task_status.started()

    def deliver(self, events: Sequence[StoredLiveEvent]) -> None:
        """Deliver events that were just committed to local readers; other processes are notified by the writer's transaction.

        A timeline event must be delivered before its first text is published.
        """
        self.hub.deliver(events)

    def publish(self, delta: StreamDelta) -> None:
        """Deliver text that is being written; it is not stored."""
        stream = self._live_state.stream(delta, own=True)
        if stream is None:
            return
        # Models sometimes send half of a surrogate pair, which no encoder accepts; its replacement keeps the length.
        unchanged = stream.write(delta.offset, delta.delta.encode("utf-8", "replace").decode())
        if unchanged is None:
            log.warning("stream.gap", event_id=delta.event_id, offset=delta.offset, length=len(stream.text))
            return
        stream.relayed = min(stream.relayed, unchanged)
        self.hub.topic_changed(stream, unchanged)
        self._relay.topic_changed(stream)

    def progress(self, session_id: str, *, stage_name: str, stage_index: int, stage_count: int) -> None:
        """Show where a running session is."""
        topic = self._live_state.progress(session_id, own=True)
        if topic is None:
            return
        topic.update({"session_id": session_id, "stage_name": stage_name, "stage_index": stage_index, "stage_count": stage_count})
        self.hub.topic_changed(topic, unchanged=maxsize)
        self._relay.topic_changed(topic)
