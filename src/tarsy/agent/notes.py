"""The notes of one execution: which of those that reach the session its agent still has to be given.

A continued run is given no note twice; a replayed run is given the recorded ones, before the same calls.
"""

from collections.abc import Iterable, Sequence

from tarsy.domain.note import Note
from tarsy.domain.run_input import AnyInput, DeliveredNote


class Notes:
    """With `wanted` false, no notes are delivered to this execution."""

    def __init__(self, track: str, recorded: Sequence[AnyInput], stored: Sequence[AnyInput], *, wanted: bool) -> None:
        delivered = [note for _, note in _notes(track, stored)]
        self._wanted = wanted
        self._last = max((one.note.number for one in delivered), default=0)
        # Whether the agent was asked before to reconsider its answer: once is enough.
        self._held = any(one.held for one in delivered)
        self._unread: list[Note] = []
        self._recorded: dict[int, list[DeliveredNote]] = {}
        for turn, one in _notes(track, recorded):
            if one.note.number > self._last:
                self._recorded.setdefault(turn, []).append(one)

    @property
    def after(self) -> int | None:
        """The number of the last note known here; None if no notes are wanted."""
        return self._last if self._wanted else None

    @property
    def may_hold(self) -> bool:
        """Whether an unread note keeps an answer from being final."""
        return self._wanted and not self._held

    def add(self, notes: Iterable[Note]) -> None:
        for note in notes:
            self._unread.append(note)
            self._last = note.number

    def hold(self, turn: int) -> bool:
        """Whether an agent that has concluded is to be given a note before the call `turn`."""
        return any(one.held for one in self._recorded.get(turn, ())) or (self.may_hold and bool(self._unread))

    def stop_holding(self) -> None:
        """Make the next answer final, unread notes or not."""
        self._held = True

    def take(self, turn: int, *, held: bool = False) -> tuple[DeliveredNote, ...]:
        """Return the notes to deliver before the call `turn`; `held` if the agent had concluded."""
        taken = (*self._recorded.pop(turn, ()), *(DeliveredNote(note, held) for note in self._unread))
        self._unread = []
        self._held = self._held or any(one.held for one in taken)
        return taken


def _notes(track: str, inputs: Sequence[AnyInput]) -> list[tuple[int, DeliveredNote]]:
    found = [(one.turn, one.value) for one in inputs if one.track == track and isinstance(one.value, DeliveredNote)]
    return sorted(found, key=lambda item: (item[0], item[1].note.number))
