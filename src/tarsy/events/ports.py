"""What live delivery needs from the outside, in its own words. The database's classes fit; `wiring` proves it."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

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
