"""What is set aside for a model call, and what an execution has used."""

from dataclasses import dataclass

from tarsy.domain.budget import Spent
from tarsy.domain.claim import Claim


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """What is set aside for a model call until it is known what it used, and for the conclusion of its execution until that has ended."""

    id: str
    claim: Claim
    stage_id: str
    execution_id: str
    wanted: Spent
    kept: Spent


@dataclass(frozen=True, slots=True)
class SpentBy:
    """What an execution has used, with what is reserved for calls that never told what they used."""

    stage_id: str
    execution_id: str
    spent: Spent
    # The agent that sent it, if one did.
    parent_execution_id: str | None = None
