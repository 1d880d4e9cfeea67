"""Sessions: their list, one with its stages and executions, their verdicts, and the results of commands on them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from tarsy.api.schemas.usage import CeilingView
from tarsy.api.schemas.view import Cost, Usage, View, milliseconds_between
from tarsy.config.schema.selection import McpSelection
from tarsy.db.run.trace import SessionRun
from tarsy.db.session.listing import SessionPage, SessionSummary
from tarsy.db.session.repository import StoredDetail
from tarsy.db.work.parking import CancelAnswer
from tarsy.domain.action import ActionOutcome, Verified
from tarsy.domain.alert import Severity, alert_title
from tarsy.domain.execution import AgentExecution
from tarsy.domain.stage import ParallelType, Stage, StageType, SuccessPolicy
from tarsy.domain.status import RunStatus, SessionStatus
from tarsy.domain.usage import Spending, TokenUsage
from tarsy.domain.verdict import Confidence, JudgedVerdict, StillHappening, VerdictOutcome
from tarsy.session.plan import session_actions_left_out


class AffectedObjectView(View):
    kind: str
    namespace: str
    name: str


class RuledOutView(View):
    hypothesis: str
    evidence: list[str]


class VerdictView(View):
    """What is wrong, with which object, why, and how certain that is."""

    outcome: VerdictOutcome
    object: AffectedObjectView | None
    mechanism: str
    # As the agent reported it.
    confidence_object: Confidence
    confidence_mechanism: Confidence
    # The weaker of both; lower if citations could not be verified, which is then the reason. Otherwise the reason is empty.
    confidence: Confidence
    confidence_reason: str
    since: str
    still_happening: StillHappening
    # Ids of the evidence that supports it.
    evidence: list[str]
    ruled_out: list[RuledOutView]
    category: str

    @classmethod
    def of(cls, judged: JudgedVerdict | None) -> "VerdictView | None":
        return cls.build(judged, judged.verdict) if judged else None


class CitationSums(View):
    # All citations; each is verified, or names its evidence only, or failed.
    cited: int
    verified: int
    id_only: int
    failed: int
    # Steps of the chain of causes without a citation that are not marked as inferences.
    uncited: int


class AlertAccepted(View):
    session_id: UUID
    status: SessionStatus


class SessionListItem(View):
    id: UUID
    alert_type: str
    chain_id: str
    author: str
    status: SessionStatus
    # Of the incident that it investigates; absent for an explicit request.
    severity: Severity | None
    # Who cancelled it; absent if no person did.
    cancelled_by: str | None
    # A short title of the alert.
    title: str
    alert_excerpt: str
    executive_summary: str | None
    error_message: str | None
    analysis_is_partial: bool
    # Why, in one sentence for people.
    analysis_partial_reason: str | None
    # Absent if there is no verdict, as in sessions of old versions.
    verdict: VerdictView | None
    citations: CitationSums | None
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    # From the start of work to its end; absent while it runs.
    duration_ms: int | None
    stage_count: int
    current_stage_name: str | None
    current_stage_index: int | None
    total_tokens: int
    cost: Cost
    # The number of agents that worked on it, including sub-agents.
    agents: int
    # How often the agents switched to a fallback model.
    fallbacks: int
    # The latest, out of 100.
    score: int | None
    # Questions about it after its end.
    questions: int
    queue_position: int | None
    # Why it waits: the reason it is parked, or the pause.
    waiting_reason: str | None
    # When it is checked again if nothing happens before.
    waiting_until: datetime | None
    # No model answers it for now: it is parked for that, or its last call failed and is made again.
    waiting_for_model: bool

    @classmethod
    def of(cls, summary: SessionSummary) -> "SessionListItem":
        return cls.build(
            summary,
            summary.position,
            duration_ms=milliseconds_between(summary.started_at, summary.completed_at),
            verdict=VerdictView.of(summary.verdict),
        )


class SessionList(View):
    sessions: list[SessionListItem]
    # The `cursor` of the next page; absent on the last one, and if the list is not sorted by default.
    next_cursor: str | None

    @classmethod
    def of(cls, page: SessionPage) -> "SessionList":
        return cls(sessions=[SessionListItem.of(session) for session in page.sessions], next_cursor=page.next_cursor)


class ExecutionView(View):
    id: UUID
    agent_name: str
    agent_index: int
    # For a sub-agent: the execution that started it, the evidence id of the tool call that did, and its task.
    parent_execution_id: UUID | None
    dispatched_by: str | None
    task: str | None
    llm_backend: str
    llm_provider: str
    model_name: str
    tool_calling: str
    status: RunStatus
    cancel_requested: bool
    error_message: str | None
    started_at: datetime | None
    completed_at: datetime | None
    duration_ms: int | None
    usage: Usage
    cost: Cost

    @classmethod
    def of(cls, execution: AgentExecution, run: SessionRun) -> "ExecutionView":
        return cls.build(
            execution,
            duration_ms=milliseconds_between(execution.started_at, execution.completed_at),
            usage=run.usage.get(execution.id, TokenUsage()),
            cost=run.spending.get(execution.id, Spending()),
        )


class StageView(View):
    id: UUID
    stage_name: str
    stage_index: int
    stage_type: StageType
    expected_agent_count: int
    parallel_type: ParallelType | None
    success_policy: SuccessPolicy | None
    referenced_stage_id: UUID | None
    status: RunStatus
    error_message: str | None
    started_at: datetime | None
    completed_at: datetime | None
    duration_ms: int | None
    # Each followed by its sub-agents.
    executions: list[ExecutionView]

    @classmethod
    def of(cls, stage: Stage, run: SessionRun) -> "StageView":
        return cls.build(
            stage,
            duration_ms=milliseconds_between(stage.started_at, stage.completed_at),
            executions=[ExecutionView.of(one, run) for one in run.executions if one.stage_id == stage.id],
        )


class PlannedStage(View):
    """A stage as planned in the session's chain, whether it has started or not."""

    name: str
    agents: list[str]
    synthesis: bool

    @classmethod
    def of(cls, stage: Mapping[str, Any]) -> "PlannedStage":
        agents = [agent["agent_name"] for agent in stage["agents"]]
        # The result of a single agent needs no synthesis.
        return cls(name=stage["name"], agents=agents, synthesis=stage.get("synthesis") is not None and len(agents) > 1)


class ForkOrigin(View):
    """The step of another session from which this one continues."""

    session_id: UUID
    stage: str
    agent: str
    # For a sub-agent: the call that started it.
    dispatched_by: str | None = None
    # Of the first call that was made again, counted from 0.
    turn: int
    # The provider that continues, if it is another one.
    model: str | None


class ActionView(View):
    """A call by which a stage that acts changed something, or would have."""

    evidence_id: str
    # As in `server.tool {"argument": "value"}`.
    call: str
    # Absent if the policy asked for no approval, or no person gave it.
    approved_by: str | None
    outcome: ActionOutcome
    # Whether the symptom was gone afterwards, as a result shows that was read after the call.
    verified: Verified


class SessionDetail(View):
    id: UUID
    title: str
    alert_type: str
    alert_data: str
    chain_id: str
    author: str
    status: SessionStatus
    # Who cancelled it; absent if no person did.
    cancelled_by: str | None
    runbook_url: str | None
    # The incident that it investigates; absent for an explicit request.
    incident_id: UUID | None
    # Absent unless it was forked from another session.
    fork: ForkOrigin | None
    mcp_selection: McpSelection | None
    final_analysis: str | None
    analysis_is_partial: bool
    # Why, in one sentence for people.
    analysis_partial_reason: str | None
    executive_summary: str | None
    executive_summary_error: str | None
    # Absent if there is no verdict, as in sessions of old versions.
    verdict: VerdictView | None
    # Absent for sessions of versions that did not check citations.
    citations: CitationSums | None
    error_message: str | None
    # How often another worker resumed it because one was lost.
    recoveries: int
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    duration_ms: int | None
    queue_position: int | None
    # Why it waits: the reason it is parked, or the pause.
    waiting_reason: str | None
    # When it is checked again if nothing happens before.
    waiting_until: datetime | None
    # No model answers it for now: it is parked for that, or its last call failed and is made again.
    waiting_for_model: bool
    # The process that works on it, and when its worker last sent a heartbeat; absent while none does.
    pod_id: str | None
    last_interaction_at: datetime | None
    chat_enabled: bool
    scoring_enabled: bool
    # The models' text comes from a recording: a sample without a key, or a replay.
    recorded: bool
    planned_stages: list[PlannedStage]
    # Whether an executive summary follows them.
    summary_planned: bool
    stages: list[StageView]
    usage: Usage
    cost: Cost
    # The ceiling of the whole investigation; absent if there is none.
    budget: CeilingView | None
    actions: list[ActionView]
    # Stages that act and were not begun, each with the reason.
    actions_left_out: list[str]

    @classmethod
    def of(cls, stored: StoredDetail) -> "SessionDetail":
        session, run, snapshot = stored.session, stored.run, stored.session.chain_snapshot
        return cls.build(
            session,
            stored.position,
            cancelled_by=stored.cancelled_by,
            title=alert_title(session.alert_data, session.alert_type),
            fork=session.fork or None,
            verdict=VerdictView.of(session.verdict),
            duration_ms=milliseconds_between(session.started_at, session.completed_at),
            chat_enabled=snapshot.get("chat") is not None,
            scoring_enabled=snapshot.get("scoring") is not None,
            recorded=session.is_recorded,
            planned_stages=[PlannedStage.of(stage) for stage in snapshot.get("stages", ())],
            summary_planned=snapshot.get("executive_summary") is not None,
            stages=[StageView.of(stage, run) for stage in run.stages],
            usage=run.total_usage,
            cost=run.total_spending,
            budget=CeilingView.of(snapshot),
            actions=[ActionView.model_validate(one) for one in stored.actions],
            actions_left_out=session_actions_left_out(session, run.stages),
        )


class CancelResult(View):
    # `cancelled`: it had not begun. `cancelling`: its worker was notified. `already_ended`: there was nothing to cancel.
    result: CancelAnswer


class SessionCounts(View):
    # All matching sessions.
    total: int
    # For each status that occurs.
    by_status: dict[SessionStatus, int]

    @classmethod
    def of(cls, counts: Mapping[SessionStatus, int]) -> "SessionCounts":
        return cls(total=sum(counts.values()), by_status=dict(counts))


class DeletedSessions(View):
    # How many were hidden, without those that have not ended or were hidden before.
    deleted: int


class CancelledSessions(View):
    # How many were cancelled, or will be by their workers.
    cancelled: int
