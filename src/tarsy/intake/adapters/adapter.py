"""Pure module: what the module of each sender offers."""

from collections.abc import Callable
from dataclasses import dataclass

from tarsy.domain.alert import Alert, Change, ChangeOutcome
from tarsy.intake.received import Delivery, Received


@dataclass(frozen=True, slots=True)
class Adapter:
    source: str
    # By shape alone: true for this sender's bodies and for no other's.
    recognises: Callable[[Received], bool]
    # What a body says, often a single thing; None when it holds nothing of what this sender says: it is a plain text then.
    read: Callable[[Received], Delivery | Alert | Change | None]
    # Whether it tells when something is over. What others said is over after a long silence.
    says_resolved: bool = True

    def deliver(self, received: Received) -> Delivery | None:
        match said := self.read(received):
            case Alert():
                return Delivery(source=self.source, alerts=(said,))
            case Change():
                return Delivery(source=self.source, changes=(said,))
            case _:
                return said


def outcomes(*, started: str, succeeded: str, failed: str) -> dict[str, ChangeOutcome]:
    """What the words of a sender mean."""
    words = {ChangeOutcome.STARTED: started, ChangeOutcome.SUCCEEDED: succeeded, ChangeOutcome.FAILED: failed}
    return {word: outcome for outcome, said in words.items() for word in said.split()}
