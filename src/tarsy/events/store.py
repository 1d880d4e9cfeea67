"""The ports of live delivery, which `tarsy.db` implements, and the event store as the hub uses it: it waits for a database that restarts."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

import anyio
import stamina
import structlog

from tarsy.domain.live_events import StoredLiveEvent

# A restart takes a second or two; an outage should not be polled more often than this.
FIRST_WAIT_SECONDS = 0.1
LONGEST_WAIT_SECONDS = 2.0
# Each query is one lookup by primary key: no result in this time means that there will be none.
ANSWER_SECONDS = 10.0

log = structlog.stdlib.get_logger(__name__)

T = TypeVar("T")


class EventStore(Protocol):
    """The stored events. The ids of a channel have no gaps and follow commit order: once an id is seen, all smaller ones can be read."""

    async def read_after(self, channel: str, last_id: int, limit: int) -> Sequence[StoredLiveEvent]: ...

    async def last_id(self, channel: str) -> int: ...


class NotificationSource(Protocol):
    """Receives the notifications of all processes. A gap handler is called whenever some may have been missed."""

    def subscribe(self, name: str, handler: Callable[[str], None]) -> None: ...

    def on_gap(self, handler: Callable[[], None]) -> None: ...


class Broadcast(Protocol):
    """Sends notifications that belong to no transaction."""

    async def send(self, name: str, payloads: Sequence[str]) -> bool:
        """Send all payloads; False if that is not possible now."""
        ...


SessionExists = Callable[[str], Awaitable[bool]]


class RetryingStore:
    """Repeats every query until the store answers: clients stay connected while the database restarts."""

    def __init__(self, store: EventStore, session_exists: SessionExists) -> None:
        self._store = store
        self._session_exists = session_exists

    async def read_after(self, channel: str, last_id: int, limit: int) -> Sequence[StoredLiveEvent]:
        return await _retried(lambda: self._store.read_after(channel, last_id, limit))

    async def last_id(self, channel: str) -> int:
        return await _retried(lambda: self._store.last_id(channel))

    async def session_exists(self, session_id: str) -> bool:
        return await _retried(lambda: self._session_exists(session_id))


async def _retried(query: Callable[[], Awaitable[T]]) -> T:
    attempts = stamina.retry_context(
        on=Exception, attempts=None, timeout=None, wait_initial=FIRST_WAIT_SECONDS, wait_max=LONGEST_WAIT_SECONDS
    )
    async for attempt in attempts:
        with attempt:
            try:
                # A client may leave at any moment; cancelling a query in the middle would cost the pool its connection.
                with anyio.fail_after(ANSWER_SECONDS, shield=True):
                    return await query()
            except Exception as error:
                if attempt.num == 1:
                    log.warning("live.store_away", error=str(error) or type(error).__name__)
                raise
    raise AssertionError("the attempts have no end")
