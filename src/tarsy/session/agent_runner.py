"""One agent of a stage: stopped and failing alone, with its tools, prompts and ceilings put together, and run to its end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import anyio
import structlog

from tarsy.agent.agent import LAST_WRITE_SECONDS, execute
from tarsy.agent.budget.ceilings import Ceilings
from tarsy.agent.budget.ledger import SESSION, AccountPath, Ledger, share_of
from tarsy.agent.context_window import context_limit, side_limit
from tarsy.agent.execution import (
    AgentServices,
    EvidenceIds,
    ExecutionContext,
    ExecutionResult,
    RecordedCut,
    SessionOverrides,
    StopReason,
    StopState,
)
from tarsy.agent.executive_summary import SummarySource
from tarsy.agent.ports import ToolExecutor
from tarsy.agent.prompt.builder import ChatPrompt, PromptBuilder, PromptContext
from tarsy.agent.prompt.fence import Fence
from tarsy.agent.prompt.sections import agent_section, handed_over
from tarsy.agent.toolbox.approval import Approvals
from tarsy.agent.toolbox.read_result import ReadResult, shown_document
from tarsy.agent.toolbox.recent_changes import RecentChanges
from tarsy.agent.toolbox.skills import AgentSkills, LoadSkill
from tarsy.agent.toolbox.toolbox import BuiltInTool, toolbox
from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedChain
from tarsy.domain.budget import Ceiling
from tarsy.domain.claim import Claim, ClaimLostError
from tarsy.domain.evidence import ALERT, RUNBOOK, Evidence
from tarsy.domain.execution import AgentExecution, AgentType, ExecutionChange, ExecutionPlace
from tarsy.domain.history import ExecutionRecord, StageRecord
from tarsy.domain.llm import ProviderType
from tarsy.domain.recording import track_of
from tarsy.domain.run_input import CutShort, PlacedInput
from tarsy.domain.session import AlertSession, SessionConclusion
from tarsy.domain.stage import Stage, StageClose
from tarsy.domain.status import RunStatus
from tarsy.domain.step import ExecutionInput, Step
from tarsy.domain.timeline import TimelineEvent
from tarsy.domain.tool import READ_RESULT_TOOL, name_for_model
from tarsy.kit.groups import single_errors
from tarsy.session.plan import ChallengePart, PlannedStage
from tarsy.session.run_scope import Cancellations
from tarsy.session.sub_agents import Dispatch, ParentAgent, SubAgents

log = structlog.get_logger(__name__)
# The cut of an agent that a person cancels.
_CANCELLED = CutShort(cancelled=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class StageJob:
    """A stage to run for a session; `stored` is what an interrupted run began."""

    claim: Claim
    session: AlertSession
    chain: ResolvedChain
    ledger: Ledger
    planned: PlannedStage
    runbook: str
    # The findings of earlier stages, for each agent.
    previous: Sequence[str]
    # What the executive summary is written from, and what the session has found: published before the summary is requested.
    summary_source: SummarySource | None = None
    conclusion: SessionConclusion | None = None
    chat: ChatPrompt | None = None
    stored: StageRecord | None = None
    # Set for the job of a sub-agent.
    dispatch: Dispatch | None = None
    referenced_stage_id: str | None = None
    # Timeline events of the session that are stored when the stage begins.
    remarks: tuple[TimelineEvent, ...] = ()
    # The end of the stage before, which is stored with the beginning of this one.
    ended: tuple[StageClose, ...] = ()

    @property
    def documents(self) -> dict[str, str]:
        """The documents that the agents are given, by the ids under which they may cite them."""
        handed = {name: one.text for name, one in self.dispatch.given.items()} if self.dispatch else {}
        given = {ALERT: self.session.alert_data, RUNBOOK: self.runbook, **handed}
        return {name: text for name, text in given.items() if text.strip()}

    def for_sub_agent(self, dispatch: Dispatch, config: ResolvedAgentConfig) -> "StageJob":
        """Return the job of a sub-agent, within the stage of its parent."""
        planned = replace(self.planned, agents=(config,), evidence_prefixes=(dispatch.evidence_prefix,), concludes=False)
        given = handed_over(dispatch.given, Fence(self.session.nonce), limit=side_limit(config.provider), read_tool=read_tool_of(config))
        return replace(self, planned=planned, previous=(given,), chat=None, stored=None, dispatch=dispatch)


@dataclass(frozen=True, slots=True)
class _Agent:
    """One agent to run: the name of its conversation, how it is stopped, and where it was cut short when it was recorded."""

    execution: AgentExecution
    config: ResolvedAgentConfig
    track: str
    stopping: StopState
    recorded_cut: RecordedCut | None


class AgentRunner:
    """Runs agents; `overrides` are those of single sessions, by id."""

    def __init__(self, services: AgentServices, cancellations: Cancellations, overrides: Mapping[str, SessionOverrides]) -> None:
        self._services = services
        self._cancellations = cancellations
        self._overrides = overrides

    async def run(
        self, job: StageJob, stage: Stage, record: ExecutionRecord, config: ResolvedAgentConfig, stopping: StopState
    ) -> ExecutionResult:
        """Run one agent in a scope of its own: stopping it, or its failure, does not affect the others."""
        execution = record.execution
        if execution.status.is_final:
            return ExecutionResult(status=execution.status, final_analysis=record.conclusion, error=execution.error_message)
        state = StopState(parent=stopping)
        with anyio.CancelScope() as scope:

            def stop(cut: CutShort = _CANCELLED) -> None:
                state.own_reason = StopReason.CANCELLED if cut.cancelled else StopReason.TIMED_OUT
                state.timeout_message = cut.reason
                scope.cancel()

            logged = structlog.contextvars.bound_contextvars(stage_id=stage.id, execution_id=execution.id, agent=config.agent_name)
            with logged, self._cancellations.registered(execution.id, stop):
                if execution.cancel_requested:
                    stop()
                if job.dispatch:
                    track = job.dispatch.track
                else:
                    track = track_of(stage.stage_index, stage.stage_name, execution.agent_index, execution.agent_name)
                recorded_cut = RecordedCut.find(self._overrides_of(job.session.id).recorded_inputs, track, stop)
                if recorded_cut and not recorded_cut.cut.begun:
                    stop(recorded_cut.cut)
                agent = _Agent(execution, continued_with(config, execution), track, state, recorded_cut)
                try:
                    return await self._guarded(job, stage, agent)
                except anyio.get_cancelled_exc_class():
                    # Stopped while its tools were being opened, or before: it could not write its last step itself.
                    if state.is_partial and not state.ends_itself:
                        await self._write_end(job, agent)
                    raise
        if state.reason is StopReason.TIMED_OUT:
            return ExecutionResult(status=RunStatus.TIMED_OUT, error=state.message)
        return ExecutionResult(status=RunStatus.CANCELLED, error="cancelled")

    def _overrides_of(self, session_id: str) -> SessionOverrides:
        return self._overrides.get(session_id) or SessionOverrides(clock=self._services.clock)

    async def _write_end(self, job: StageJob, agent: _Agent) -> None:
        services, message = self._services, agent.stopping.message
        cancelled = agent.stopping.reason is StopReason.CANCELLED
        status, error = (RunStatus.CANCELLED, None) if cancelled else (RunStatus.TIMED_OUT, message)
        change = ExecutionChange(execution_id=agent.execution.id, at=services.clock.now(), status=status, error_message=error)
        cut = PlacedInput(agent.track, 0, CutShort(cancelled, reason="" if cancelled else message, begun=False))
        with anyio.move_on_after(LAST_WRITE_SECONDS, shield=True):
            try:
                # Where a conversation that had begun was cut is not known here.
                begun = (await services.journal.load(agent.execution.id)).messages
                inputs = () if begun else (ExecutionInput(agent.execution.id, cut),)
                await services.journal.commit(Step(claim=job.claim, inputs=inputs, execution_changes=(change,)))
            except ClaimLostError:
                log.info("agent.claim_lost_while_stopping")

    async def _guarded(self, job: StageJob, stage: Stage, agent: _Agent) -> ExecutionResult:
        """Turn any error of the agent into its failure; only the loss of the claim concerns the whole stage."""
        try:
            with single_errors():
                return await self._execute(job, stage, agent)
        except ClaimLostError:
            raise
        except Exception as error:
            execution, services = agent.execution, self._services
            log.exception("agent.broke", execution_id=execution.id, agent=execution.agent_name)
            reason = services.mask(f"internal error: {type(error).__name__}: {error}")
            change = ExecutionChange(execution_id=execution.id, at=services.clock.now(), status=RunStatus.FAILED, error_message=reason)
            await services.journal.commit(Step(claim=job.claim, execution_changes=(change,)))
            return ExecutionResult(status=RunStatus.FAILED, error=reason)

    async def _execute(self, job: StageJob, stage: Stage, agent: _Agent) -> ExecutionResult:
        """Put together all that the execution works with, and run it."""
        overrides = self._overrides_of(job.session.id)
        tag = self._services.tags(job.session.nonce) if self._services.tags else None
        services = replace(self._services, mask=self._services.mask.tagged(tag))
        execution, config = agent.execution, agent.config
        if config.type is AgentType.ACTION and services.approvals is None:
            # Where no person can be asked (evals, replays with live tools), nothing is changed.
            config = config.model_copy(update={"dry_run": True})
        place = ExecutionPlace(claim=job.claim, stage_id=stage.id, execution_id=execution.id, track=agent.track)
        documents = job.documents
        # A sub-agent is the only one of its job.
        number = 1 if job.dispatch else execution.agent_index
        # Keep the kind of handed-over evidence: reports of agents and failed calls prove nothing.
        handed: Mapping[str, Evidence] = job.dispatch.given if job.dispatch else {}
        given = tuple(handed.get(name) or Evidence(id=name, text=text) for name, text in documents.items())
        evidence = EvidenceIds(prefix=job.planned.evidence_prefix(number), documents=given)
        skills = AgentSkills(job.chain.skills, config, services.skills)
        prompt_context = _prompt_context(job, config)
        is_shortened = bool(job.dispatch and job.dispatch.given) or any(
            documents.get(name, shown) != shown for name, shown in ((ALERT, prompt_context.alert_data), (RUNBOOK, prompt_context.runbook))
        )
        built_in: list[BuiltInTool] = [ReadResult(services.results, execution_id=execution.id, documents=documents, in_part=is_shortened)]
        if config.type.calls_tools:
            built_in.append(await RecentChanges.on(services.changes, mask=services.mask, clock=overrides.clock))

        async def run_sub_agent(
            dispatch: Dispatch, record: ExecutionRecord, config: ResolvedAgentConfig, stopping: StopState
        ) -> ExecutionResult:
            return await self.run(job.for_sub_agent(dispatch, config), stage, record, config, stopping)

        # With the sub-agents that an interrupted run began.
        stored = job.stored.executions if job.stored else ()
        record = next((one for one in stored if one.execution.id == execution.id), ExecutionRecord(execution))
        parent = ParentAgent(job.claim, record, agent.track, documents, evidence.of_calls, config, agent.stopping)

        def with_sub_agents(tools: ToolExecutor) -> ToolExecutor:
            return SubAgents(tools, services, overrides.recorded_inputs, parent, run_sub_agent) if config.sub_agents else tools

        servers = {name: job.chain.mcp_servers[name] for name in config.mcp_servers}
        if config.type is AgentType.ACTION:
            servers = {name: server.for_actions for name, server in servers.items()}
        approvals = Approvals(
            store=services.approvals,
            place=place,
            servers=servers,
            evidence_ids=evidence.of_calls,
            mask=services.mask,
            clock=services.clock,
        )

        path = _open_account(job, stage, execution, config.budget)
        is_live = config.provider.type is not ProviderType.REPLAY
        ceilings = Ceilings(job.ledger, place, path, services.prices, recorded=overrides.recorded_inputs, is_live=is_live)
        async with services.tools.open(config, servers, place=place, tag=tag) as tools:
            context = ExecutionContext(
                place=place,
                services=services,
                overrides=overrides,
                config=config,
                servers=servers,
                prompts=PromptBuilder(replace(prompt_context, skills=await skills.section())),
                previous=job.previous[number - 1],
                summarised=job.summary_source,
                chat=job.chat,
                tools=toolbox(
                    tools,
                    (*built_in, LoadSkill(skills)),
                    tool_calling=config.tool_calling,
                    ceilings=ceilings,
                    absent=tuple(config.absent_servers.values()),
                    mask=services.mask,
                    clock=services.clock,
                    dispatching=with_sub_agents,
                    approvals=approvals,
                    dry_run=config.dry_run,
                ),
                ceilings=ceilings,
                evidence=evidence,
                cut=agent.recorded_cut,
            )
            with ceilings.releasing_kept():
                # Only if this worker has just stored the stage is nothing of the execution stored.
                is_new = job.stored is None and job.dispatch is None
                return await execute(context, agent.stopping, is_new=is_new)


def _open_account(job: StageJob, stage: Stage, execution: AgentExecution, ceiling: Ceiling) -> AccountPath:
    """Open the account of an execution under that of its stage; that of a sub-agent is under its parent's, with a share of what is left there."""
    account: AccountPath = (*SESSION, stage.id)
    if job.dispatch and execution.parent_execution_id:
        account = (*account, execution.parent_execution_id)
        ceiling = ceiling.lowered(share_of(job.ledger.accounts(account), job.dispatch.at_once))
    return job.ledger.open_execution(account, execution.id, ceiling)


def continued_with(config: ResolvedAgentConfig, execution: AgentExecution) -> ResolvedAgentConfig:
    """Return the configuration of an execution; one that has fallen back stays with the model it fell back to."""
    used = (execution.llm_provider, execution.llm_backend)
    if used == (config.provider.name, config.llm_backend):
        return config
    for position, fallback in enumerate(config.fallback_providers):
        if used == (fallback.provider.name, fallback.backend):
            return config.model_copy(
                update={
                    "provider": fallback.provider,
                    "llm_backend": fallback.backend,
                    "fallback_providers": config.fallback_providers[position + 1 :],
                }
            )
    return config


def read_tool_of(config: ResolvedAgentConfig) -> str:
    """Return the name of the tool that reads results again, as an agent calls it; empty for an agent that calls no tools."""
    return name_for_model(READ_RESULT_TOOL, config.tool_calling) if config.type.calls_tools else ""


def _prompt_context(job: StageJob, config: ResolvedAgentConfig) -> PromptContext:
    session = job.session
    read_tool = read_tool_of(config)
    return PromptContext(
        agent_name=config.agent_name,
        alert_type=session.alert_type,
        alert_data=shown_document(ALERT, session.alert_data, context_limit(config.provider), read_tool=read_tool),
        nonce=session.nonce,
        received_at=session.received_at.isoformat(timespec="seconds"),
        runbook=shown_document(RUNBOOK, job.runbook, side_limit(config.provider), read_tool=read_tool),
        custom_instructions=config.custom_instructions,
        server_instructions=tuple((name, job.chain.mcp_servers[name].instructions) for name in config.mcp_servers),
        agents=agent_section(config.sub_agents, job.chain.mcp_servers, config.tool_calling),
        task=job.dispatch.task if job.dispatch else "",
        asks_verdict=job.planned.concludes,
        challenges=job.planned.part is ChallengePart.OBJECTION,
        acts=config.type is AgentType.ACTION,
        dry_run=config.dry_run,
    )
