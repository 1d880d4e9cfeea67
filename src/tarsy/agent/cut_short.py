"""The place where an execution was cut short when it was recorded: played again, it comes just as far and is ended there."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Never

import anyio

from tarsy.domain.run_input import AnyInput, CutShort, Unfinished


@dataclass(frozen=True, slots=True)
class CutPlace:
    """The `turn` before whose end it was cut; `end` stops the execution for the reason that was recorded."""

    turn: int
    cut: CutShort
    end: Callable[[], None]

    @classmethod
    def recorded(cls, inputs: Sequence[AnyInput], track: str, end: Callable[[CutShort], None]) -> "CutPlace | None":
        """Where the conversation on `track` was cut short; None: it was not."""
        places = (
            cls(one.turn, one.value, partial(end, one.value)) for one in inputs if one.track == track and isinstance(one.value, CutShort)
        )
        return next(places, None)

    def is_at_call(self, turn: int) -> bool:
        """Whether the model call `turn` is the one that was not made, or not to its end."""
        return turn == self.turn and not self.cut.waiting

    def is_within(self, call_id: str, turn: int) -> bool:
        """Whether the result of a tool call had not reached the conversation when its next model call was to be `turn`."""
        return turn == self.turn and call_id in self.cut.waiting

    def output_of(self, call_id: str) -> str | None:
        """What a tool had said so far; None: it had answered, and its result was being summarised."""
        return next((one.content for one in self.cut.unfinished if one.call_id == call_id), None)

    @property
    def being_said(self) -> tuple[Unfinished, ...]:
        """What models were saying."""
        return tuple(one for one in self.cut.unfinished if one.call_id is None)

    async def come(self) -> Never:
        """End here: what waits is woken by being cancelled."""
        self.end()
        await anyio.sleep_forever()
        raise AssertionError("an execution that has been ended does not wake up")
