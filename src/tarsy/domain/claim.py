"""The right to work on something, which can be lost to another worker."""

from dataclasses import dataclass
from enum import StrEnum


class ClaimKind(StrEnum):
    """What can be claimed; each kind is a table with the same claim columns."""

    SESSION = "session"
    CHAT = "chat"
    SCORE = "score"


@dataclass(frozen=True, slots=True)
class Claim:
    """Names the work, its session and the token that fences off whoever held it before."""

    kind: ClaimKind
    id: str
    session_id: str
    token: str


class ClaimLostError(Exception):
    """Somebody else owns this work now (or it has ended): nothing was written, stop."""

    def __init__(self, claim: Claim) -> None:
        super().__init__(f"{claim.kind} {claim.id} is no longer ours")
        self.claim = claim
