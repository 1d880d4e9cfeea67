"""The stages that a chain is made of, what follows those that are done, and the challenge of a verdict."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from itertools import count
from typing import assert_never
from uuid import uuid4

from tarsy.agent.prompt.stage_context import ContextFormatter
from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedChain, chain_of
from tarsy.domain.action import why_not_acted
from tarsy.domain.budget import UNLIMITED, Ceiling
from tarsy.domain.conclusion import challenge_of, concluding_executions
from tarsy.domain.evidence import agent_prefix
from tarsy.domain.execution import AgentExecution, AgentType
from tarsy.domain.history import StageRecord
from tarsy.domain.session import AlertSession
from tarsy.domain.stage import ParallelType, Stage, StageType, SuccessPolicy
from tarsy.domain.status import RunStatus, SessionStatus, session_status_of
from tarsy.domain.verdict import Challenge, Confidence, JudgedVerdict, Ruling, at_most

EXECUTIVE_SUMMARY = "executive summary"
CHALLENGE = "challenge"
REVISION = "revision"
_AGENT = "ChallengeAgent"
_OBJECTED = (
    "The last report is of an agent that tried to refute the conclusion before it, with a fresh mind and the same tools. "
    "Follow its objection where its evidence is better; where it is not, say why the conclusion stands."
)


class ChallengePart(Enum):
    """The role of a stage in the challenge of a verdict. The session is complete without either."""

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
    # The index of the stage that this one is about.
    references: int | None = None
    # The prefix of each agent's evidence ids; empty for agents that call no tools.
    evidence_prefixes: tuple[str, ...] = ()
    # The ceiling of all its agents together.
    budget: Ceiling = UNLIMITED
    # Whether the answer of its agent becomes the session's analysis, with its verdict.
    concludes: bool = False
    # Of the verdict; a stage that acts does not begin below it.
    min_confidence: Confidence = Confidence.HIGH
    part: ChallengePart | None = None

    @property
    def is_optional(self) -> bool:
        """Whether the session is complete without it: it may be passed over, and its failure is not the session's."""
        return self.part is not None or self.stage_type is StageType.ACTION

    def evidence_prefix(self, agent_index: int) -> str:
        return self.evidence_prefixes[agent_index - 1] if self.evidence_prefixes else ""


@dataclass(frozen=True, slots=True)
class StageOutcome:
    """A stage that has ended."""

    planned: PlannedStage
    status: RunStatus
    # Of its first agent that completed.
    conclusion: str = ""
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishSession:
    status: SessionStatus
    partial: bool = False
    executive_summary: str | None = None
    executive_summary_error: str | None = None
    error: str | None = None
    # The ceiling that ended it, as people read it.
    ceiling: str | None = None


def plan(chain: ResolvedChain) -> tuple[PlannedStage, ...]:
    """Return the stages of a chain: a synthesis after each with several agents, a challenge if configured, then those that act, and the summary."""
    planned: list[PlannedStage] = []
    places = count()
    for stage in chain.investigating:
        index = len(planned)
        planned.append(
            PlannedStage(
                index=index,
                name=stage.name,
                stage_type=StageType.INVESTIGATION,
                agents=stage.agents,
                success_policy=stage.success_policy,
                parallel_type=stage.parallel_type,
                evidence_prefixes=tuple(agent_prefix(next(places)) for _ in stage.agents),
                budget=stage.budget,
            )
        )
        if stage.synthesis and len(stage.agents) > 1:
            name, agents = f"{stage.name} synthesis", (stage.synthesis,)
            planned.append(PlannedStage(index=index + 1, name=name, stage_type=StageType.SYNTHESIS, agents=agents, references=index))
    # Of several agents without a synthesis, none concludes for all.
    planned[-1] = replace(planned[-1], concludes=len(planned[-1].agents) == 1)
    planned += challenge_stages(chain, planned[-1], places)
    planned += [
        PlannedStage(
            index=index,
            name=stage.name,
            stage_type=StageType.ACTION,
            agents=stage.agents,
            evidence_prefixes=(agent_prefix(next(places)),),
            budget=stage.budget,
            min_confidence=stage.min_confidence,
        )
        for index, stage in enumerate(chain.acting, start=len(planned))
    ]
    if chain.executive_summary is None:
        return tuple(planned)
    summary = PlannedStage(index=len(planned), name=EXECUTIVE_SUMMARY, stage_type=StageType.EXEC_SUMMARY, agents=(chain.executive_summary,))
    return (*planned, summary)


def pending_execution(config: ResolvedAgentConfig, session_id: str, stage_id: str, agent_index: int) -> AgentExecution:
    """Return a new execution of an agent."""
    return AgentExecution(
        id=str(uuid4()),
        session_id=session_id,
        stage_id=stage_id,
        agent_name=config.agent_name,
        agent_index=agent_index,
        llm_backend=config.llm_backend.value,
        llm_provider=config.provider.name,
        model_name=config.provider.model,
        tool_calling=config.tool_calling.value,
        status=RunStatus.PENDING,
    )


def next_step(stages: Sequence[PlannedStage], done: Sequence[StageOutcome], skipped: Collection[int] = ()) -> PlannedStage | FinishSession:
    """Return the stage that follows those in `done`, or how the session ends; those `skipped`, by index, are not run."""
    if not done:
        return stages[0]
    last = done[-1]
    if last.planned.stage_type is StageType.EXEC_SUMMARY:
        # The session is complete without its summary.
        succeeded = last.status is RunStatus.COMPLETED
        return FinishSession(
            status=SessionStatus.COMPLETED,
            executive_summary=(last.conclusion or None) if succeeded else None,
            executive_summary_error=None if succeeded else last.error or f"ended {last.status}",
        )
    if last.status is not RunStatus.COMPLETED and not last.planned.is_optional:
        error = last.error or f"stage '{last.planned.name}' ended {last.status}"
        return FinishSession(status=session_status_of(last.status), partial=True, error=error)
    following = (stage for stage in stages if stage.index > last.planned.index and stage.index not in skipped)
    return next(following, FinishSession(status=SessionStatus.COMPLETED))


def ended_by_ceiling(
    stages: Sequence[PlannedStage], done: Sequence[StageOutcome], ceiling: str, *, has_analysis: bool
) -> FinishSession | None:
    """Return how a session ends whose ceiling was met in the stages in `done`; None if a synthesis or the summary follows: it needs little.

    A missing synthesis or summary is no failure: the findings stand.
    """
    left = [stage for stage in stages if stage.index > done[-1].planned.index and not stage.is_optional]
    succeeded = done[-1].status is RunStatus.COMPLETED or done[-1].planned.stage_type is StageType.ACTION
    if left and left[0].stage_type is not StageType.INVESTIGATION and succeeded:
        return None
    if not has_analysis:
        return FinishSession(status=SessionStatus.FAILED, error=done[-1].error, ceiling=ceiling)
    summary = f"not written because of {ceiling}" if stages[-1].stage_type is StageType.EXEC_SUMMARY else None
    return FinishSession(status=SessionStatus.COMPLETED, executive_summary_error=summary, ceiling=ceiling)


def ended_early(stages: Sequence[PlannedStage], done: Sequence[StageOutcome], status: RunStatus, reason: str) -> FinishSession:
    """Return how a session ends that was stopped after `done`.

    If only a challenge, actions or the summary were left when it timed out, it is complete.
    """
    match next_step(stages, done):
        case FinishSession() as finish if status is RunStatus.TIMED_OUT:
            return finish
        case PlannedStage() as planned if status is RunStatus.TIMED_OUT and (
            planned.stage_type is StageType.EXEC_SUMMARY or planned.is_optional
        ):
            summary = reason if stages[-1].stage_type is StageType.EXEC_SUMMARY else None
            return FinishSession(status=SessionStatus.COMPLETED, executive_summary_error=summary)
        case _:
            pass
    return FinishSession(status=session_status_of(status), partial=True, error=reason)


def challenge_stages(chain: ResolvedChain, concluding: PlannedStage, places: Iterator[int]) -> tuple[PlannedStage, ...]:
    """Return the challenge of the verdict of `concluding`, and the stage that revises the answer if it is refuted."""
    if chain.challenge is None or not concluding.concludes:
        return ()
    index, author = concluding.index + 1, concluding.agents[0]
    # It has the tools of those whose conclusion it challenges, and of their sub-agents, but not their instructions.
    investigators = chain.investigating[-1].agents
    servers = dict.fromkeys(name for top in investigators for agent in top.tree for name in agent.mcp_servers)
    turns = min(chain.challenge.max_iterations, investigators[0].max_iterations)
    changes = {"agent_name": _AGENT, "max_iterations": turns, "mcp_servers": tuple(servers), "custom_instructions": "", "sub_agents": ()}
    challenger = investigators[0].model_copy(update=changes)
    challenge = PlannedStage(
        index=index,
        name=CHALLENGE,
        stage_type=StageType.CHALLENGE,
        agents=(challenger,),
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


def skipped_stages(
    chain: ResolvedChain, stages: Sequence[PlannedStage], records: Sequence[StageRecord], *, at_ceiling: bool = False
) -> frozenset[int]:
    """Return the stages that the outcomes so far make unnecessary; once a ceiling is met, no challenge is made and no action taken."""
    begun = {record.stage.stage_index for record in records}
    left = [stage for stage in stages if stage.is_optional and stage.index not in begun]
    return frozenset(stage.index for stage in left if at_ceiling or not _is_due(chain, stage, records))


def _is_due(chain: ResolvedChain, stage: PlannedStage, records: Sequence[StageRecord]) -> bool:
    earlier = [record for record in records if record.stage.stage_index < stage.index]
    match stage.part:
        case ChallengePart.OBJECTION:
            concluding = concluding_executions(earlier)
            verdict = concluding[0].verdict if len(concluding) == 1 else None
            if verdict is None or chain.challenge is None:
                return False
            limit, confidence = chain.challenge.when_below, verdict.confidence
            return limit is None or (confidence is not limit and at_most(confidence, limit) is confidence)
        case ChallengePart.REVISION:
            found = last_challenge(earlier)
            return found is not None and found.ruling is Ruling.REFUTED
        case None:
            acted = [record.stage.status for record in earlier if record.stage.stage_type is StageType.ACTION]
            is_stopped = any(status is not RunStatus.COMPLETED for status in acted)
            return not is_stopped and why_not_acted(session_verdict(earlier), stage.min_confidence) is None


def last_challenge(records: Sequence[StageRecord]) -> Challenge | None:
    challenged = [record for record in records if record.stage.stage_type is StageType.CHALLENGE]
    return challenge_of(challenged[-1].executions[0]) if challenged else None


def challenge_context(part: ChallengePart, earlier: Sequence[StageRecord], formatter: ContextFormatter, limit: int) -> str:
    """Return what the agent of a challenge or a revision reads of the stages before."""
    match part:
        case ChallengePart.OBJECTION:
            # Without the transcript: an agent that follows the same steps comes to the same conclusion.
            return replace(formatter, with_transcript=False).format_previous_stages(earlier, limit=limit)
        case ChallengePart.REVISION:
            return f"{_OBJECTED}\n\n{formatter.format_investigation(earlier, limit=limit)}"
        case _:
            assert_never(part)


def session_verdict(records: Sequence[StageRecord]) -> JudgedVerdict | None:
    """Return the verdict of a session, as its challenge has left it; several agents without a synthesis have several verdicts, and none together."""
    concluding = concluding_executions(records)
    return verdict_after_challenge(concluding[0].verdict, records) if len(concluding) == 1 else None


def actions_left_out(chain: ResolvedChain, begun: Collection[int], verdict: JudgedVerdict | None) -> tuple[str, ...]:
    """Return a sentence for each stage of a completed session that acts and was not begun; `begun` are the indices of those that were begun."""
    barred = (f'Stage "{name}" was left out: neither a route nor a person chose this chain.' for name in chain.acting_left_out)
    left = (stage for stage in plan(chain) if stage.stage_type is StageType.ACTION and stage.index not in begun)
    other = "a stage before it failed, a ceiling was met, or the session's time was up"
    not_begun = (f'Stage "{stage.name}" was not begun: {why_not_acted(verdict, stage.min_confidence) or other}.' for stage in left)
    return (*barred, *not_begun)


def session_actions_left_out(session: AlertSession, stages: Sequence[Stage]) -> tuple[str, ...]:
    """Return the sentences of `actions_left_out` for a stored session; none while it runs, or if it was cut short."""
    # The chain has stages that act, or had some that were left out when the session was submitted.
    has_acting_stages = session.may_act or "acting_left_out" in session.chain_snapshot
    if session.status is not SessionStatus.COMPLETED or not has_acting_stages:
        return ()
    return actions_left_out(chain_of(session.chain_snapshot), {stage.stage_index for stage in stages}, session.verdict)


def verdict_after_challenge(verdict: JudgedVerdict | None, records: Sequence[StageRecord]) -> JudgedVerdict | None:
    """Return `verdict`, with at most medium confidence if a challenge has weakened it."""
    found = last_challenge(records)
    if verdict is None or found is None or found.ruling is not Ruling.WEAKENED:
        return verdict
    reason = f"A second look weakened it: {found.objection}" if found.objection else "A second look weakened it."
    return replace(
        verdict, confidence=at_most(verdict.confidence, Confidence.MEDIUM), confidence_reason=verdict.confidence_reason or reason
    )
