"""Sessions that take place at another time than this one: in the world of a case, or where a recording goes on."""

from collections.abc import Sequence
from dataclasses import dataclass

from tarsy.domain.run_input import AnyInput
from tarsy.kit.clock import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    """What the agents of such a session are told the time by, and what reached them when they were recorded."""

    clock: Clock
    recorded_inputs: Sequence[AnyInput] = ()
