"""The inputs of one execution: what it had before, or when it was recorded, is played; only what is new is taken from outside."""

from collections.abc import Sequence
from typing import TypeVar

from tarsy.domain.run_input import AnyInput, InputPlace, Now, PlacedInput, ReadAt, RunInput, place_of
from tarsy.kit.clock import Clock

_Input = TypeVar("_Input", bound=RunInput)


class Inputs:
    """Gives each input with its place, to be stored in the step that it leads to; storing one again changes nothing."""

    def __init__(self, track: str, known: Sequence[AnyInput], clock: Clock) -> None:
        self._track = track
        self._known: dict[InputPlace, RunInput] = {place_of(one.turn, one.value): one.value for one in known if one.track == track}
        self._clock = clock

    def now(self, turn: int) -> PlacedInput[Now]:
        """The time that the request of this turn states."""
        return self._played(turn, Now(self._clock.now()))

    def read_at(self, turn: int, evidence_id: str) -> PlacedInput[ReadAt]:
        """When the result of this call was read: at the moment it is first asked for."""
        return self._played(turn, ReadAt(evidence_id, self._clock.now()))

    def _played(self, turn: int, fresh: _Input) -> PlacedInput[_Input]:
        known = self._known.setdefault(place_of(turn, fresh), fresh)
        # Two inputs of one place are of one kind.
        return PlacedInput(self._track, turn, known if isinstance(known, type(fresh)) else fresh)
