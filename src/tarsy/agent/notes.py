"""The notes of one execution: what came from outside while it ran, and which of it its agent is still to be told.

A run that is continued is told no note twice; one that is replayed is told those that were recorded, before the same calls.
"""

from collections.abc import Iterable, Sequence

from tarsy.domain.note import Note
from tarsy.domain.run_input import AnyInput, DeliveredNote


class Notes:
    """`wanted`: whether this execution is told of notes at all."""

    def __init__(self, track: str, recorded: Sequence[AnyInput], stored: Sequence[AnyInput], *, wanted: bool) -> None:
        told = [heard for _, heard in _notes(track, stored)]
        self._wanted = wanted
        self._last = max((heard.note.number for heard in told), default=0)
        # Whether the agent was asked before to look at its answer again: once is enough.
        self._held = any(heard.held for heard in told)
        self._unread: list[Note] = []
        self._recorded: dict[int, list[DeliveredNote]] = {}
        for turn, heard in _notes(track, recorded):
            if heard.note.number > self._last:
                self._recorded.setdefault(turn, []).append(heard)

    @property
    def after(self) -> int | None:
        """The last note known here; None: no note is wanted."""
        return self._last if self._wanted else None

    @property
    def may_hold(self) -> bool:
        """Whether an answer that comes while a note is unread is not the last word."""
        return self._wanted and not self._held

    def learn(self, notes: Iterable[Note]) -> None:
        for note in notes:
            self._unread.append(note)
            self._last = note.number

    def hold(self, turn: int) -> bool:
        """Whether an agent that has concluded is to be told something before the call `turn`."""
        return any(heard.held for heard in self._recorded.get(turn, ())) or (self.may_hold and bool(self._unread))

    def hold_no_more(self) -> None:
        """The next answer is the last word."""
        self._held = True

    def take(self, turn: int, *, held: bool = False) -> tuple[DeliveredNote, ...]:
        """What the agent is told before the call `turn`."""
        heard = (*self._recorded.pop(turn, ()), *(DeliveredNote(note, held) for note in self._unread))
        self._unread = []
        self._held = self._held or any(one.held for one in heard)
        return heard


def _notes(track: str, inputs: Sequence[AnyInput]) -> list[tuple[int, DeliveredNote]]:
    found = [(one.turn, one.value) for one in inputs if one.track == track and isinstance(one.value, DeliveredNote)]
    return sorted(found, key=lambda item: (item[0], item[1].note.number))
