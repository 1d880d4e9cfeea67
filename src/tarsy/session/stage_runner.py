"""One stage: a task per agent, isolated from each other, begun or continued where they were."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import uuid4

import anyio
import structlog

from tarsy.agent.agent import LAST_WRITE_SECONDS, BaseAgent, create_controller
from tarsy.agent.budget.ceilings import Ceilings, ExecutionPlace
from tarsy.agent.budget.ledger import SESSION, AccountPath, Ledger, share_of
from tarsy.agent.context_window import context_limit, side_limit
from tarsy.agent.execution import CutPlace, ExecutionContext, ExecutionResult, Stopping, StopReason
from tarsy.agent.prompt.builder import READ_RESULT_TOOL, ChatPrompt, PromptBuilder, PromptContext
from tarsy.agent.prompt.fence import Fence
from tarsy.agent.prompt.sections import agent_section, handed_over
from tarsy.agent.toolbox.read_result import ReadResult, shown_document
from tarsy.agent.toolbox.recent_changes import RecentChanges
from tarsy.agent.toolbox.skills import AgentSkills, LoadSkill
from tarsy.agent.toolbox.toolbox import BuiltInTool, toolbox
from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedChain
from tarsy.domain.budget import Ceiling
from tarsy.domain.claim import Claim, ClaimLostError
from tarsy.domain.evidence import ALERT, RUNBOOK
from tarsy.domain.execution import AgentExecution, AgentType, ExecutionChange
from tarsy.domain.history import ExecutionRecord, StageRecord
from tarsy.domain.llm import ProviderType
from tarsy.domain.recording import track_of
from tarsy.domain.run_input import CutShort, PlacedInput
from tarsy.domain.session import AlertSession
from tarsy.domain.stage import Stage, StageClose, stage_status
from tarsy.domain.status import RunStatus
from tarsy.domain.step import ExecutionInput, Step
from tarsy.domain.timeline import TimelineEvent
from tarsy.domain.tool import name_for_model
from tarsy.domain.work import Park
from tarsy.kit.groups import for_each, single_errors
from tarsy.session.dependencies import Dependencies
from tarsy.session.plan import ChallengePart, PlannedStage, StageOutcome
from tarsy.session.sub_agents import Sender, Sent, SubAgents

log = structlog.get_logger(__name__)
# What a person who cancels one agent does to it.
_CANCELLED = CutShort(cancelled=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class StageJob:
    """A stage to run for a session, with what each of its agents is told. `stored` is what an interrupted predecessor began."""

    claim: Claim
    session: AlertSession
    chain: ResolvedChain
    ledger: Ledger
    planned: PlannedStage
    runbook: str
    previous: Sequence[str]
    chat: ChatPrompt | None = None
    stored: StageRecord | None = None
    # Set for a job whose one agent was sent by another.
    sent: Sent | None = None
    referenced_stage_id: str | None = None
    # What is told of the session when the stage begins.
    remarks: tuple[TimelineEvent, ...] = ()
    # The end of the stage before, which is stored with the beginning of this one.
    ended: tuple[StageClose, ...] = ()


@dataclass(frozen=True, slots=True)
class RanStage:
    """A stage whose agents have all ended. Its `close` is the caller's to store, in whatever step follows: a worker that finds the stage open closes it."""

    outcome: StageOutcome
    results: Sequence[ExecutionResult]
    close: StageClose


@dataclass(frozen=True, slots=True)
class AgentJob:
    """One agent to run: by which name its conversation goes, how it is stopped, and where it was cut short when it was recorded."""

    execution: AgentExecution
    config: ResolvedAgentConfig
    track: str
    stopping: Stopping
    cut: CutPlace | None


class StageRunner:
    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies

    async def run(self, job: StageJob, stopping: Stopping) -> RanStage | Park:
        """Run the stage to its end, or as far as it goes before it has to wait.

        Cancellation passes through; what is done by then stays done.
        """
        record = await self._begin(job)
        job.ledger.open_stage(record.stage.id, job.planned.budget)
        results = await self._run_agents(job, record, stopping)
        if parking := parking_of(results, self._dependencies.clock.now()):
            return parking
        return self._ran(job, record.stage, results)

    async def _run_agents(self, job: StageJob, record: StageRecord, stopping: Stopping) -> Sequence[ExecutionResult]:
        results: dict[int, ExecutionResult] = {}

        async def one(agent: tuple[ExecutionRecord, ResolvedAgentConfig]) -> None:
            execution, config = agent
            results[execution.execution.agent_index] = await self._run_agent(job, record.stage, execution, config, stopping)

        agents = list(zip(record.executions, job.planned.agents, strict=True))
        await for_each(agents, one, name=lambda agent: f"agent {agent[1].agent_name}")
        return [results[index] for index in sorted(results)]

    async def _begin(self, job: StageJob) -> StageRecord:
        if job.stored:
            if job.ended:
                await self._dependencies.journal.commit(Step(claim=job.claim, stage_closes=job.ended))
            return job.stored
        now = self._dependencies.clock.now()
        stage = _stage(job, now)
        executions = tuple(_execution(stage, config, index) for index, config in enumerate(job.planned.agents, start=1))
        await self._dependencies.journal.commit(
            Step(
                claim=job.claim,
                stages=(stage,),
                executions=executions,
                opened=job.remarks,
                # They set out at once, though their servers may take a while to start.
                execution_changes=tuple(ExecutionChange(execution_id=one.id, at=now, status=RunStatus.ACTIVE) for one in executions),
                stage_closes=job.ended,
            )
        )
        return StageRecord(stage, tuple(ExecutionRecord(execution) for execution in executions))

    async def _run_agent(
        self, job: StageJob, stage: Stage, record: ExecutionRecord, config: ResolvedAgentConfig, stopping: Stopping
    ) -> ExecutionResult:
        """One agent, alone in its scope: stopping it, or its breaking, is nothing to the others."""
        execution = record.execution
        if execution.status.is_final:
            return ExecutionResult(status=execution.status, final_analysis=record.conclusion, error=execution.error_message)
        own = Stopping(whole=stopping)
        with anyio.CancelScope() as scope:

            def stop(cut: CutShort = _CANCELLED) -> None:
                own.own = StopReason.CANCELLED if cut.cancelled else StopReason.TIMED_OUT
                own.out_of_time = cut.reason
                scope.cancel()

            told = structlog.contextvars.bound_contextvars(stage_id=stage.id, execution_id=execution.id, agent=config.agent_name)
            with told, self._dependencies.cancellations.registered(execution.id, stop):
                if execution.cancel_requested:
                    stop()
                track = _track(job, stage, execution)
                cut = CutPlace.recorded(self._dependencies.place_of(job.session.id).recorded_inputs, track, stop)
                if cut and not cut.cut.begun:
                    stop(cut.cut)
                return await self._attended(job, stage, AgentJob(execution, continued_with(config, execution), track, own, cut))
        if own.reason is StopReason.TIMED_OUT:
            return ExecutionResult(status=RunStatus.TIMED_OUT, error=own.told)
        return ExecutionResult(status=RunStatus.CANCELLED, error="cancelled")

    async def _attended(self, job: StageJob, stage: Stage, agent: AgentJob) -> ExecutionResult:
        """See to the end of an agent that is stopped before it could do so itself: while its tools were being opened, or before that."""
        try:
            return await self._guarded(job, stage, agent)
        except anyio.get_cancelled_exc_class():
            if agent.stopping.alone and not agent.stopping.attended:
                await self._end_unattended(job, agent)
            raise

    async def _end_unattended(self, job: StageJob, agent: AgentJob) -> None:
        cancelled, told = agent.stopping.reason is StopReason.CANCELLED, agent.stopping.told
        status, error = (RunStatus.CANCELLED, None) if cancelled else (RunStatus.TIMED_OUT, told)
        change = ExecutionChange(execution_id=agent.execution.id, at=self._dependencies.clock.now(), status=status, error_message=error)
        cut = PlacedInput(agent.track, 0, CutShort(cancelled, reason="" if cancelled else told, begun=False))
        with anyio.move_on_after(LAST_WRITE_SECONDS, shield=True):
            try:
                # Where one stood that had spoken before is not known to us.
                spoken = (await self._dependencies.journal.load(agent.execution.id)).messages
                inputs = () if spoken else (ExecutionInput(agent.execution.id, cut),)
                await self._dependencies.journal.commit(Step(claim=job.claim, inputs=inputs, execution_changes=(change,)))
            except ClaimLostError:
                log.info("agent.claim_lost_while_stopping")

    async def _guarded(self, job: StageJob, stage: Stage, agent: AgentJob) -> ExecutionResult:
        """Turn whatever breaks around the agent into that agent's failure; only the loss of the claim concerns them all."""
        try:
            with single_errors():
                return await self._execute(job, stage, agent)
        except ClaimLostError:
            raise
        except Exception as error:
            execution = agent.execution
            log.exception("agent.broke", execution_id=execution.id, agent=execution.agent_name)
            reason, now = self._dependencies.mask(f"internal error: {type(error).__name__}: {error}"), self._dependencies.clock.now()
            change = ExecutionChange(execution_id=execution.id, at=now, status=RunStatus.FAILED, error_message=reason)
            await self._dependencies.journal.commit(Step(claim=job.claim, execution_changes=(change,)))
            return ExecutionResult(status=RunStatus.FAILED, error=reason)

    async def _execute(self, job: StageJob, stage: Stage, agent: AgentJob) -> ExecutionResult:
        dependencies = self._dependencies
        execution, config, track, stopping = agent.execution, agent.config, agent.track, agent.stopping
        servers = {name: job.chain.mcp_servers[name] for name in config.mcp_servers}
        skills = AgentSkills(job.chain.skills, config, dependencies.skills)
        number = 1 if job.sent else execution.agent_index
        documents, place = _documents(job), dependencies.place_of(job.session.id)
        evidence_ids: dict[str, str] = {}
        sub_agents = self._sub_agents(job, stage, Sender(job.claim, _record(job, execution), track, documents, config, stopping))
        built_in = await self._built_in_tools(job, execution, config)
        ceilings = self._ceilings(job, stage, execution, config, track)
        async with dependencies.tools.open(config, servers, execution_id=execution.id, track=track) as tools:
            context = ExecutionContext(
                claim=job.claim,
                stage_id=stage.id,
                execution_id=execution.id,
                track=track,
                config=config,
                servers=servers,
                prompts=PromptBuilder(replace(_prompt_context(job, config), skills=await skills.section())),
                llm=dependencies.llm,
                tools=toolbox(
                    tools,
                    (*built_in, LoadSkill(skills)),
                    tool_calling=config.tool_calling,
                    ceilings=ceilings,
                    absent=tuple(config.absent_servers.values()),
                    mask=dependencies.mask,
                    clock=dependencies.clock,
                    sending=lambda tools: sub_agents.around(tools, evidence_ids),
                ),
                journal=dependencies.journal,
                live=dependencies.live,
                results=dependencies.results,
                prices=dependencies.prices,
                ceilings=ceilings,
                mask=dependencies.mask,
                clock=dependencies.clock,
                evidence_prefix=job.planned.evidence_prefix(number),
                evidence_ids=evidence_ids,
                documents=_citable(job, documents),
                recorded_inputs=place.recorded_inputs,
                told_clock=place.clock,
                cut=agent.cut,
                previous=job.previous[number - 1],
                chat=job.chat,
            )
            with ceilings.until_ended():
                return await BaseAgent(create_controller(context)).execute(context, stopping)

    def _ceilings(self, job: StageJob, stage: Stage, execution: AgentExecution, config: ResolvedAgentConfig, track: str) -> Ceilings:
        path = job.ledger.open_execution(*_account(job, stage, execution, config))
        place = ExecutionPlace(claim=job.claim, stage_id=stage.id, execution_id=execution.id, track=track, path=path)
        is_live = config.provider.type is not ProviderType.REPLAY
        recorded = self._dependencies.place_of(job.session.id).recorded_inputs
        return Ceilings(job.ledger, place, self._dependencies.prices, recorded=recorded, is_live=is_live)

    def _sub_agents(self, job: StageJob, stage: Stage, sender: Sender) -> SubAgents:
        async def run(sent: Sent, record: ExecutionRecord, config: ResolvedAgentConfig, stopping: Stopping) -> ExecutionResult:
            return await self._run_agent(_job_of(job, sent, config), stage, record, config, stopping)

        return SubAgents(self._dependencies, sender, run)

    async def _built_in_tools(self, job: StageJob, execution: AgentExecution, config: ResolvedAgentConfig) -> tuple[BuiltInTool, ...]:
        dependencies = self._dependencies
        documents = _documents(job)
        in_part = bool(job.sent and job.sent.given) or _told_in_part(job, config, documents)
        read_result = ReadResult(dependencies.results, execution_id=execution.id, documents=documents, in_part=in_part)
        if not _calls_tools(config):
            return (read_result,)
        return read_result, await RecentChanges.on(
            dependencies.changes, mask=dependencies.mask, clock=dependencies.place_of(job.session.id).clock
        )

    def _ran(self, job: StageJob, stage: Stage, results: Sequence[ExecutionResult]) -> RanStage:
        status = stage_status([result.status for result in results], job.planned.success_policy)
        error = None if status is RunStatus.COMPLETED else _errors(job.planned, results)
        close = StageClose(stage_id=stage.id, status=status, completed_at=self._dependencies.clock.now(), error_message=error)
        return RanStage(outcome_of(job.planned, stage.id, status, results, error), results, close)


def parking_of(results: Sequence[ExecutionResult], now: datetime) -> Park | None:
    """What a stage waits for whose agents have all come as far as they can. The longest wait counts: no agent's patience ends early."""
    waits = [result.waits for result in results if result.waits]
    if not waits:
        return None
    reasons = dict.fromkeys(wait.reason for wait in waits)
    until = now + timedelta(seconds=max(wait.seconds for wait in waits))
    return Park(" ".join(reasons), until=until, budget=next((wait.budget for wait in waits if wait.budget), None))


def outcome_of(
    planned: PlannedStage, stage_id: str, status: RunStatus, results: Sequence[ExecutionResult], error: str | None
) -> StageOutcome:
    analyses = tuple(
        # Without the space around it, as it is when it is read back.
        (config.agent_name, analysis)
        for config, result in zip(planned.agents, results, strict=True)
        if result.status is RunStatus.COMPLETED and (analysis := result.final_analysis.strip())
    )
    return StageOutcome(planned=planned, stage_id=stage_id, status=status, analyses=analyses, error=error)


def continued_with(config: ResolvedAgentConfig, execution: AgentExecution) -> ResolvedAgentConfig:
    """The configuration of an execution that has already fallen back: it stays with the model it fell back to."""
    asked = (execution.llm_provider, execution.llm_backend)
    if asked == (config.provider.name, config.llm_backend):
        return config
    for position, fallback in enumerate(config.fallback_providers):
        if asked == (fallback.provider.name, fallback.backend):
            return config.model_copy(
                update={
                    "provider": fallback.provider,
                    "llm_backend": fallback.backend,
                    "fallback_providers": config.fallback_providers[position + 1 :],
                }
            )
    return config


def _stage(job: StageJob, now: datetime) -> Stage:
    planned = job.planned
    return Stage(
        id=str(uuid4()),
        session_id=job.session.id,
        stage_name=planned.name,
        stage_index=planned.index,
        stage_type=planned.stage_type,
        expected_agent_count=len(planned.agents),
        status=RunStatus.ACTIVE,
        parallel_type=planned.parallel_type,
        success_policy=planned.success_policy,
        referenced_stage_id=job.referenced_stage_id,
        started_at=now,
    )


def _execution(stage: Stage, config: ResolvedAgentConfig, index: int) -> AgentExecution:
    return AgentExecution(
        id=str(uuid4()),
        session_id=stage.session_id,
        stage_id=stage.id,
        agent_name=config.agent_name,
        agent_index=index,
        llm_backend=config.llm_backend.value,
        llm_provider=config.provider.name,
        model_name=config.provider.model,
        tool_calling=config.tool_calling.value,
        status=RunStatus.PENDING,
    )


def _track(job: StageJob, stage: Stage, execution: AgentExecution) -> str:
    return job.sent.track if job.sent else track_of(stage.stage_index, stage.stage_name, execution.agent_index, execution.agent_name)


def _documents(job: StageJob) -> dict[str, str]:
    """What the agents are given, by the ids under which they may cite it."""
    handed = {name: one.text for name, one in job.sent.given.items()} if job.sent else {}
    given = {ALERT: job.session.alert_data, RUNBOOK: job.runbook, **handed}
    return {name: text for name, text in given.items() if text.strip()}


def _account(job: StageJob, stage: Stage, execution: AgentExecution, config: ResolvedAgentConfig) -> tuple[AccountPath, str, Ceiling]:
    """Where the account of an agent is opened, and its ceiling: that of one that was sent is a share of what its sender has left."""
    within = (*SESSION, stage.id)
    if job.sent is None or execution.parent_execution_id is None:
        return within, execution.id, config.budget
    sender = (*within, execution.parent_execution_id)
    return sender, execution.id, config.budget.lowered(share_of(job.ledger.accounts(sender), job.sent.at_once))


def _citable(job: StageJob, documents: Mapping[str, str]) -> dict[str, str]:
    """Those of its documents that an agent may cite: what another agent said is not among them."""
    reports = {name for name, one in job.sent.given.items() if one.is_report} if job.sent else set[str]()
    return {name: text for name, text in documents.items() if name not in reports}


def _record(job: StageJob, execution: AgentExecution) -> ExecutionRecord:
    """An execution with those that it has sent before."""
    stored = job.stored.executions if job.stored else ()
    return next((record for record in stored if record.execution.id == execution.id), ExecutionRecord(execution))


def _job_of(job: StageJob, sent: Sent, config: ResolvedAgentConfig) -> StageJob:
    """The job of an agent that was sent, within the stage of the agent that sent it."""
    planned = replace(job.planned, agents=(config,), evidence_prefixes=(sent.evidence_prefix,), concludes=False)
    told = handed_over(sent.given, Fence(job.session.nonce), limit=side_limit(config.provider), read_back=read_back_of(config))
    return replace(job, planned=planned, previous=(told,), chat=None, stored=None, sent=sent)


def _told_in_part(job: StageJob, config: ResolvedAgentConfig, documents: Mapping[str, str]) -> bool:
    """Whether the agent's prompt cannot hold all of it."""
    told = _prompt_context(job, config)
    return any(documents.get(name, shown) != shown for name, shown in ((ALERT, told.alert_data), (RUNBOOK, told.runbook)))


def read_back_of(config: ResolvedAgentConfig) -> str:
    """The tool that reads results again, as an agent may call it: only an iterating one can call any."""
    return name_for_model(READ_RESULT_TOOL, config.tool_calling) if _calls_tools(config) else ""


def _calls_tools(config: ResolvedAgentConfig) -> bool:
    return config.type is AgentType.DEFAULT


def _prompt_context(job: StageJob, config: ResolvedAgentConfig) -> PromptContext:
    session = job.session
    read_back = read_back_of(config)
    return PromptContext(
        agent_name=config.agent_name,
        alert_type=session.alert_type,
        alert_data=shown_document(ALERT, session.alert_data, context_limit(config.provider), read_back=read_back),
        nonce=session.nonce,
        received_at=session.received_at.isoformat(timespec="seconds"),
        runbook=shown_document(RUNBOOK, job.runbook, side_limit(config.provider), read_back=read_back),
        custom_instructions=config.custom_instructions,
        server_instructions=tuple((name, job.chain.mcp_servers[name].instructions) for name in config.mcp_servers),
        agents=agent_section(config.sub_agents, job.chain.mcp_servers, config.tool_calling),
        task=job.sent.task if job.sent else "",
        asks_verdict=job.planned.concludes,
        challenges=job.planned.part is ChallengePart.OBJECTION,
    )


def _errors(planned: PlannedStage, results: Sequence[ExecutionResult]) -> str:
    lines = [
        f"{config.agent_name}: {result.error or result.status}"
        for config, result in zip(planned.agents, results, strict=True)
        if result.status is not RunStatus.COMPLETED
    ]
    return "; ".join(lines)


@dataclass(frozen=True, slots=True)
class Closing:
    """What ends with a session: a stage that has come to its end, or the stages that will not be continued and their open executions."""

    executions: tuple[ExecutionChange, ...] = ()
    stages: tuple[StageClose, ...] = ()


def abandoned(records: Iterable[StageRecord], status: RunStatus, *, reason: str, at: datetime) -> Closing:
    """Close those of `records` that are open."""
    left = [record for record in records if not record.stage.status.is_final]
    open_executions = (
        one.execution for record in left for top in record.executions for one in top.tree if not one.execution.status.is_final
    )
    return Closing(
        tuple(ExecutionChange(execution_id=one.id, at=at, status=status, error_message=reason) for one in open_executions),
        tuple(StageClose(stage_id=record.stage.id, status=status, completed_at=at, error_message=reason) for record in left),
    )
