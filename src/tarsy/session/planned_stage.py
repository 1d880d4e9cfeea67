"""A stage as it is planned. Pure module."""

from dataclasses import dataclass
from enum import Enum, auto

from tarsy.config.resolve.resolved import ResolvedAgentConfig
from tarsy.domain.budget import UNLIMITED, Ceiling
from tarsy.domain.stage import ParallelType, StageType, SuccessPolicy


class ChallengePart(Enum):
    """What a stage is to the challenge of a verdict. Neither part is a condition: the session is complete without it."""

    OBJECTION = auto()
    REVISION = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStage:
    index: int
    name: str
    stage_type: StageType
    agents: tuple[ResolvedAgentConfig, ...]
    success_policy: SuccessPolicy = SuccessPolicy.ANY
    parallel_type: ParallelType | None = None
    # The index of the stage that this one speaks about.
    references: int | None = None
    # What the evidence ids of each agent begin with; empty for agents that call no tools.
    evidence_prefixes: tuple[str, ...] = ()
    # Of all its agents together.
    budget: Ceiling = UNLIMITED
    # Whether what its agent says becomes the session's analysis, with its verdict.
    concludes: bool = False
    part: ChallengePart | None = None

    def evidence_prefix(self, agent_index: int) -> str:
        return self.evidence_prefixes[agent_index - 1] if self.evidence_prefixes else ""
