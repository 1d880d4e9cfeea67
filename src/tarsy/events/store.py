"""What live delivery needs from the outside, in its own words. The database's classes fit; `wiring` proves it."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

import anyio
import structlog

from tarsy.domain.live_events import StoredLiveEvent


class EventStore(Protocol):
    """The stored events. Ids of a channel have no gap and follow commit order, so an id seen means that all smaller ones can be read."""

    async def read_after(self, channel: str, last_id: int, limit: int) -> Sequence[StoredLiveEvent]: ...

    async def last_id(self, channel: str) -> int: ...


class NotificationSource(Protocol):
    """Where other processes' news come from."""

    def subscribe(self, name: str, handler: Callable[[str], None], *, when_wanted: bool = False) -> None: ...

    def on_gap(self, handler: Callable[[], None]) -> None: ...

    async def want(self, name: str, *, wanted: bool) -> None:
        """Hear notifications `name` from now on, or not until they are wanted again."""
        ...


class Broadcast(Protocol):
    """The way to other processes for what is not stored."""

    async def send(self, name: str, payloads: Sequence[str]) -> bool:
        """Send all payloads, or answer False: not now, try again later."""
        ...


SessionExists = Callable[[str], Awaitable[bool]]


# A restart takes a second or two; an outage should not be asked about more often than this.
FIRST_WAIT_SECONDS = 0.1
LONGEST_WAIT_SECONDS = 2.0
# Each question is one lookup by primary key: no answer in this time means that there will be none.
ANSWER_SECONDS = 10.0

log = structlog.stdlib.get_logger(__name__)

T = TypeVar("T")


class RetryingStore:
    """Asks again until the store answers."""

    def __init__(self, store: EventStore, session_exists: SessionExists) -> None:
        self._store = store
        self._session_exists = session_exists

    async def read_after(self, channel: str, last_id: int, limit: int) -> Sequence[StoredLiveEvent]:
        return await _answered(lambda: self._store.read_after(channel, last_id, limit))

    async def last_id(self, channel: str) -> int:
        return await _answered(lambda: self._store.last_id(channel))

    async def session_exists(self, session_id: str) -> bool:
        return await _answered(lambda: self._session_exists(session_id))


async def _answered(ask: Callable[[], Awaitable[T]]) -> T:
    try:
        return await _bounded(ask)
    except Exception as error:  # noqa: BLE001 - see below
        # Whatever the store raises, the answer is the same: the client waits, and the operator reads of it in the log.
        log.warning("live.store_away", error=str(error) or type(error).__name__)
    import stamina  # noqa: PLC0415 - most processes never need it

    await anyio.sleep(FIRST_WAIT_SECONDS)
    retried = stamina.AsyncRetryingCaller(attempts=None, timeout=None, wait_initial=FIRST_WAIT_SECONDS, wait_max=LONGEST_WAIT_SECONDS)
    return await retried(Exception, _bounded, ask)


async def _bounded(ask: Callable[[], Awaitable[T]]) -> T:
    # A client may leave at any moment; a query cut off in the middle would cost the pool its connection.
    with anyio.fail_after(ANSWER_SECONDS, shield=True):
        return await ask()
