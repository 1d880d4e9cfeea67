"""The newest events of one channel, put in order however they arrive, and read from any position.

Readers keep their own position, so a slow reader costs nothing but falls behind; older events are read from the store.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

import orjson

from tarsy.domain.live_events import StoredLiveEvent

# A reader further behind than this reloads instead of catching up.
CATCHUP_LIMIT = 200


@dataclass(frozen=True, slots=True)
class Entry:
    """An event as it is sent, encoded once for all readers."""

    id: int
    text: str


class Behind(Enum):
    """How a reader catches up if the feed does not hold the events that it needs."""

    # They are older than those of the feed, and in the store.
    READ_STORE = auto()
    # It cannot continue from its position.
    RELOAD = auto()


def encoded(event: StoredLiveEvent) -> Entry:
    return Entry(event.id, orjson.dumps(event.payload).decode())


def continues(cursor: int, events: Sequence[StoredLiveEvent]) -> bool:
    """Whether `events` follow `cursor` without a gap. Retention or a deleted session makes gaps."""
    return bool(events) and all(event.id == cursor + number for number, event in enumerate(events, start=1))


class Feed:
    """The tail of one channel. `last` is the newest event in order, `target` the newest known to exist."""

    def __init__(self, channel: str) -> None:
        self.channel = channel
        self.last = 0
        self.target = 0
        # True until the store's newest id is known, and again after notifications may have been missed.
        self.stale = True
        self._started = False
        self._newest_while_stale = 0
        self._tail: list[Entry] = []
        self._out_of_order: dict[int, StoredLiveEvent] = {}

    @property
    def is_complete(self) -> bool:
        return self.last >= self.target

    def add(self, event_id: int, payload: Mapping[str, Any] | None) -> bool:
        """Take note of an event, in any order and any number of times; without a payload, only of its id. True if the feed has grown."""
        if self.stale:
            self._newest_while_stale = max(self._newest_while_stale, event_id)
            return False
        self.target = max(self.target, event_id)
        if event_id <= self.last or payload is None:
            return False
        self._out_of_order[event_id] = StoredLiveEvent(self.channel, event_id, payload)
        grown = self._append_in_order()
        if len(self._out_of_order) > CATCHUP_LIMIT:
            # The missing ones are read from the store, and these with them.
            self._out_of_order.clear()
        return grown

    def mark_stale(self) -> None:
        """Note that events may have been missed: `refresh` must follow."""
        self.stale = True
        self._newest_while_stale = 0

    def refresh(self, last_id: int) -> None:
        """Set the store's newest id, read after this process began to listen: nothing newer can be missed from here on."""
        # A database that is behind the feed was rewound (a restored backup, a failover that lost commits): it is right.
        if not self._started or last_id < self.last:
            self._restart_at(last_id)
            self.target = last_id
        self._started = True
        self.stale = False
        self.target = max(self.target, last_id, self._newest_while_stale)

    def extend(self, events: Sequence[StoredLiveEvent]) -> None:
        """Append the events that the store has after `last`; skip all that is missing if they do not follow it."""
        if self.is_complete:
            return
        fresh = [event for event in events if event.id > self.last]
        if not continues(self.last, fresh):
            self.skip()
            return
        for event in fresh:
            self._append(event)
        self._append_in_order()

    def skip(self) -> None:
        """Give up the missing events: readers notice that they cannot continue."""
        self._restart_at(self.target)

    def after(self, cursor: int) -> Sequence[Entry] | Behind:
        """Return the events that follow `cursor`."""
        lag = self.last - cursor
        if cursor > self.target or lag > CATCHUP_LIMIT:
            return Behind.RELOAD
        if lag <= 0:
            # The reader may be ahead: another process sent it events that are still on their way to this one.
            return ()
        if lag > len(self._tail):
            return Behind.READ_STORE
        return self._tail[len(self._tail) - lag :]

    def _append_in_order(self) -> bool:
        before = self.last
        while (event := self._out_of_order.pop(self.last + 1, None)) is not None:
            self._append(event)
        return self.last > before

    def _append(self, event: StoredLiveEvent) -> None:
        self._tail.append(encoded(event))
        del self._tail[:-CATCHUP_LIMIT]
        self.last = event.id
        self.target = max(self.target, event.id)

    def _restart_at(self, last_id: int) -> None:
        self.last = last_id
        self._tail.clear()
        self._out_of_order.clear()
