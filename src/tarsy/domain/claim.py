"""The right to work on something, which can be lost to another worker."""

from dataclasses import dataclass
from typing import NewType

# What a row of work is to be done for. Open: a new kind comes with its handler, and nothing else knows its name.
WorkKind = NewType("WorkKind", str)

INVESTIGATION = WorkKind("session")
CHAT_ANSWER = WorkKind("chat")
SCORING = WorkKind("score")


@dataclass(frozen=True, slots=True)
class Claim:
    """Names a row of work, what it is about, and the token that fences off the worker that held it before."""

    kind: WorkKind
    id: str
    # The row of its noun: for an investigation, the session.
    subject_id: str
    token: str
    # The session it is part of, if any.
    session: str | None

    @property
    def session_id(self) -> str:
        """The session whose run this is.

        Raises:
            LookupError: it is part of none; such work writes no steps.
        """
        if self.session is None:
            raise LookupError(f"{self.kind} {self.subject_id} is no work of a session")
        return self.session


class ClaimLostError(Exception):
    """Another worker owns this work now (or it has ended): nothing was written, stop."""

    def __init__(self, claim: Claim) -> None:
        super().__init__(f"{claim.kind} {claim.subject_id} is no longer ours")
        self.claim = claim
