"""Claims: a worker's right to write the results of a row of work. Another worker can take it over."""

from dataclasses import dataclass
from typing import NewType

# No enum: work of each target of notifications is a kind of its own. A kind whose status people see has a `Subject` in `db/work/subjects.py`.
WorkKind = NewType("WorkKind", str)

INVESTIGATION = WorkKind("session")
CHAT_ANSWER = WorkKind("chat")
SCORING = WorkKind("score")


@dataclass(frozen=True, slots=True)
class Claim:
    """A claimed row of work. The token fences off workers that held the row before: their writes find another token and fail."""

    kind: WorkKind
    id: str
    # The id of the session, chat question or score that the work is done for.
    subject_id: str
    token: str
    # The session that the work belongs to, if any.
    session: str | None

    @property
    def session_id(self) -> str:
        """Return the session that the work belongs to.

        Raises:
            LookupError: it belongs to none; such work writes no steps.
        """
        if self.session is None:
            raise LookupError(f"{self.kind} {self.subject_id} is no work of a session")
        return self.session


class ClaimLostError(Exception):
    """Another worker owns this work now, or the work has ended: nothing was written, and the worker must stop."""

    def __init__(self, claim: Claim) -> None:
        super().__init__(f"{claim.kind} {claim.subject_id} is no longer ours")
        self.claim = claim
