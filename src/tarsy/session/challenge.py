"""The stages in which another agent tries to refute a verdict, and what comes of it. Pure module."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tarsy.agent.context.formatter import ContextFormatter
from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedChain, ResolvedChallenge
from tarsy.domain.conclusion import challenge_of, concluding_executions
from tarsy.domain.evidence import agent_prefix
from tarsy.domain.execution import AgentType
from tarsy.domain.history import StageRecord
from tarsy.domain.stage import StageType
from tarsy.domain.verdict import Challenge, Confidence, JudgedVerdict, Ruling, at_most
from tarsy.session.planned_stage import ChallengePart, PlannedStage

CHALLENGE = "challenge"
REVISION = "revision"
_AGENT = "ChallengeAgent"
_OBJECTED = (
    "The last report is of an agent that tried to refute the conclusion before it, with a fresh mind and the same tools. "
    "Follow its objection where its evidence is better; where it is not, say why the conclusion stands."
)


def challenge_stages(chain: ResolvedChain, concluding: PlannedStage, places: Iterator[int]) -> tuple[PlannedStage, ...]:
    """The challenge of what `concluding` ends with, and the answer that is given once more where it was refuted."""
    if chain.challenge is None or not concluding.concludes:
        return ()
    index, author = concluding.index + 1, concluding.agents[0]
    challenge = PlannedStage(
        index=index,
        name=CHALLENGE,
        stage_type=StageType.CHALLENGE,
        agents=(_challenger(chain, chain.challenge),),
        evidence_prefixes=(agent_prefix(next(places)),),
        part=ChallengePart.OBJECTION,
    )
    revision = PlannedStage(
        index=index + 1,
        name=REVISION,
        stage_type=StageType.SYNTHESIS,
        agents=(author.model_copy(update={"type": AgentType.SYNTHESIS}),),
        references=concluding.index,
        concludes=True,
        part=ChallengePart.REVISION,
    )
    return challenge, revision


def _challenger(chain: ResolvedChain, challenge: ResolvedChallenge) -> ResolvedAgentConfig:
    """An agent with the tools of those whose conclusion it looks at, and of those they sent; what they are told to be is nothing to it."""
    investigators = chain.stages[-1].agents
    servers = dict.fromkeys(name for top in investigators for agent in top.tree for name in agent.mcp_servers)
    turns = min(challenge.max_iterations, investigators[0].max_iterations)
    changes = {"agent_name": _AGENT, "max_iterations": turns, "mcp_servers": tuple(servers), "custom_instructions": "", "sub_agents": ()}
    return investigators[0].model_copy(update=changes)


def passed_over(
    chain: ResolvedChain, stages: Sequence[PlannedStage], records: Sequence[StageRecord], *, at_ceiling: bool = False
) -> frozenset[int]:
    """The stages that are not needed after what the others came to; where a ceiling is met, what is left is not for a second look."""
    begun = {record.stage.stage_index for record in records}
    left = [(stage, stage.part) for stage in stages if stage.part and stage.index not in begun]
    return frozenset(stage.index for stage, part in left if at_ceiling or not _is_due(chain, stage, part, records))


def _is_due(chain: ResolvedChain, stage: PlannedStage, part: ChallengePart, records: Sequence[StageRecord]) -> bool:
    earlier = [record for record in records if record.stage.stage_index < stage.index]
    match part:
        case ChallengePart.OBJECTION:
            concluding = concluding_executions(earlier)
            verdict = concluding[0].verdict if len(concluding) == 1 else None
            return verdict is not None and chain.challenge is not None and _is_below(verdict.confidence, chain.challenge.when_below)
        case ChallengePart.REVISION:
            found = last_challenge(earlier)
            return found is not None and found.ruling is Ruling.REFUTED


def _is_below(confidence: Confidence, limit: Confidence | None) -> bool:
    return limit is None or (confidence is not limit and at_most(confidence, limit) is confidence)


def last_challenge(records: Sequence[StageRecord]) -> Challenge | None:
    challenged = [record for record in records if record.stage.stage_type is StageType.CHALLENGE]
    return challenge_of(challenged[-1].executions[0]) if challenged else None


def told_to(stage: PlannedStage, earlier: Sequence[StageRecord], formatter: ContextFormatter, limit: int) -> str | None:
    """What the agent of such a stage is told; None for any other stage."""
    match stage.part:
        case ChallengePart.OBJECTION:
            # Not how it was found: an agent that is led along the same way ends in the same place.
            return replace(formatter, with_trail=False).format_previous_stages(earlier, limit=limit)
        case ChallengePart.REVISION:
            return f"{_OBJECTED}\n\n{formatter.format_investigation(earlier, limit=limit)}"
        case None:
            return None


def tempered(verdict: JudgedVerdict | None, records: Sequence[StageRecord]) -> JudgedVerdict | None:
    """A verdict that a challenge has weakened is shown with no more than medium confidence."""
    found = last_challenge(records)
    if verdict is None or found is None or found.ruling is not Ruling.WEAKENED:
        return verdict
    reason = f"A second look weakened it: {found.objection}" if found.objection else "A second look weakened it."
    return replace(
        verdict, confidence=at_most(verdict.confidence, Confidence.MEDIUM), confidence_reason=verdict.confidence_reason or reason
    )
