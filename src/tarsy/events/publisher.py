"""What writers call: it never waits for a reader, another process or the database."""

from collections.abc import Sequence
from sys import maxsize

import structlog

from tarsy.domain.live_events import StoredLiveEvent, StreamDelta
from tarsy.events.hub import ConnectionManager
from tarsy.events.live_state import LiveState
from tarsy.events.relay import Relay

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
