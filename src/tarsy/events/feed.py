"""Pure module: the newest events of one channel, put in order however they arrive, and read from any position.

Readers keep their own position, so a slow one costs nothing but falls behind; what the feed no longer has is read from the store.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from tarsy.domain.live_events import StoredLiveEvent

# A reader further behind than this reloads instead of catching up.
CATCHUP_LIMIT = 200


@dataclass(frozen=True, slots=True)
class Entry:
    """An event as it goes over the wire, encoded once for all readers."""

    id: int
    type: str
    text: str


@dataclass(frozen=True, slots=True)
class ReadStore:
    """What the reader needs is older than what the feed holds."""


@dataclass(frozen=True, slots=True)
class Lost:
    """The reader's position cannot be continued from."""


def entry(event: StoredLiveEvent) -> Entry:
    return Entry(event.id, str(event.payload.get("type", "")), orjson.dumps(event.payload).decode())


def continues(cursor: int, events: Sequence[StoredLiveEvent]) -> bool:
    """Whether `events` follow `cursor` without a gap. They do not when retention or a deleted session has taken some."""
    return bool(events) and all(event.id == cursor + number for number, event in enumerate(events, start=1))


class Feed:
    """The tail of one channel. `last` is the newest event in order, `target` the newest known to exist."""

    def __init__(self, channel: str) -> None:
        self.channel = channel
        self.last = 0
        self.target = 0
        # False until the channel's position is known, and again after news may have been missed.
        self.settled = False
        self._placed = False
        self._heard_while_unsettled = 0
        self._tail: list[Entry] = []
        self._early: dict[int, StoredLiveEvent] = {}

    @property
    def is_complete(self) -> bool:
        return self.last >= self.target

    def offer(self, identity: int, payload: Mapping[str, Any] | None) -> bool:
        """Take note of an event, in any order and any number of times; True if the feed has grown."""
        if not self.settled:
            self._heard_while_unsettled = max(self._heard_while_unsettled, identity)
            return False
        self.target = max(self.target, identity)
        if identity <= self.last or payload is None:
            return False
        self._early[identity] = StoredLiveEvent(self.channel, identity, payload)
        grown = self._take_early()
        if len(self._early) > CATCHUP_LIMIT:
            self._early.clear()
        return grown

    def settle(self, last_id: int) -> None:
        """The store's newest id, read after the feed began to listen: nothing newer can be missed from here on."""
        # A database that knows less than we do was rewound (a restored backup, a failover that lost commits): its word counts.
        if not self._placed or last_id < self.last:
            self._restart_at(last_id)
            self.target = last_id
        self._placed = self.settled = True
        self.target = max(self.target, last_id, self._heard_while_unsettled)

    def unsettle(self) -> None:
        """News may have been missed: `settle` must follow."""
        self.settled = False
        self._heard_while_unsettled = 0

    def extend(self, events: Sequence[StoredLiveEvent]) -> None:
        """Take what the store has after `last`."""
        if self.is_complete:
            return
        fresh = [event for event in events if event.id > self.last]
        if not continues(self.last, fresh):
            self.skip()
            return
        for event in fresh:
            self._append(event)
        self._take_early()

    def skip(self) -> None:
        """Give up on what is missing: readers find out for themselves that they cannot continue."""
        self._restart_at(self.target)

    def after(self, cursor: int) -> Sequence[Entry] | ReadStore | Lost:
        """What a reader at `cursor` gets next."""
        lag = self.last - cursor
        if cursor > self.target or lag > CATCHUP_LIMIT:
            return Lost()
        if lag <= 0:
            # Ahead of us: the reader was told by another process what is still on its way to this one.
            return ()
        if lag > len(self._tail):
            return ReadStore()
        return self._tail[len(self._tail) - lag :]

    def _take_early(self) -> bool:
        before = self.last
        while (event := self._early.pop(self.last + 1, None)) is not None:
            self._append(event)
        return self.last > before

    def _append(self, event: StoredLiveEvent) -> None:
        self._tail.append(entry(event))
        self.last = event.id
        self.target = max(self.target, event.id)
        # Trimmed by halves, so that an append does not move the whole list.
        if len(self._tail) >= 2 * CATCHUP_LIMIT:
            del self._tail[:-CATCHUP_LIMIT]

    def _restart_at(self, last_id: int) -> None:
        self.last = last_id
        self._tail.clear()
        self._early.clear()
