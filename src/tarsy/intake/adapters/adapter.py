"""Pure module: what the module of each sender offers."""

from collections.abc import Callable
from dataclasses import dataclass

from tarsy.intake.received import Delivery, Received


@dataclass(frozen=True, slots=True)
class Adapter:
    source: str
    # By shape alone: true for this sender's bodies and for no other's.
    recognises: Callable[[Received], bool]
    # None when the body holds nothing of what this sender says; it is a plain text then.
    read: Callable[[Received], Delivery | None]
    # Whether it tells when something is over. What others said is over after a long silence.
    says_resolved: bool = True
