"""Sessions, their stages and executions, and the list of them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from tarsy.api.schemas.view import Usage, View, milliseconds_between
from tarsy.config.schema.selection import McpSelection
from tarsy.db.interactions import SessionRun
from tarsy.db.session_list import SessionPage, SessionSummary
from tarsy.db.work.parking import CancelAnswer
from tarsy.db.work.standing import Standing
from tarsy.domain.agent import ProviderType
from tarsy.domain.alert_title import alert_title
from tarsy.domain.execution import AgentExecution
from tarsy.domain.session import AlertSession
from tarsy.domain.stage import ParallelType, Stage, StageType, SuccessPolicy
from tarsy.domain.status import RunStatus, SessionStatus
from tarsy.domain.usage import TokenUsage


class AlertAccepted(View):
    session_id: UUID
    status: SessionStatus


class SessionListItem(View):
    id: UUID
    alert_type: str
    chain_id: str
    author: str
    status: SessionStatus
    # The few words by which a person recognises the alert.
    title: str
    alert_excerpt: str
    executive_summary: str | None
    error_message: str | None
    analysis_is_partial: bool
    # Why, in one sentence for people.
    analysis_partial_reason: str | None
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    # From the start of work to its end; absent while it runs.
    duration_ms: int | None
    stage_count: int
    current_stage_name: str | None
    current_stage_index: int | None
    total_tokens: int
    queue_position: int | None
    # Why it is not worked on: what it is parked for, or the pause that holds it.
    waiting_reason: str | None
    # When it is looked at again though nothing happened.
    waiting_until: datetime | None

    @classmethod
    def of(cls, summary: SessionSummary) -> "SessionListItem":
        return cls(
            id=UUID(summary.id),
            alert_type=summary.alert_type,
            chain_id=summary.chain_id,
            author=summary.author,
            status=summary.status,
            title=summary.title,
            alert_excerpt=summary.alert_excerpt,
            executive_summary=summary.executive_summary,
            error_message=summary.error_message,
            analysis_is_partial=summary.analysis_is_partial,
            analysis_partial_reason=summary.analysis_partial_reason,
            created_at=summary.created_at,
            started_at=summary.started_at,
            completed_at=summary.completed_at,
            duration_ms=milliseconds_between(summary.started_at, summary.completed_at),
            stage_count=summary.stage_count,
            current_stage_name=summary.current_stage_name,
            current_stage_index=summary.current_stage_index,
            total_tokens=summary.total_tokens,
            queue_position=summary.standing.queue_position,
            waiting_reason=summary.standing.waiting_reason,
            waiting_until=summary.standing.waiting_until,
        )


class SessionList(View):
    sessions: list[SessionListItem]
    # Give it back as `cursor` for the next page; absent on the last one.
    next_cursor: str | None

    @classmethod
    def of(cls, page: SessionPage) -> "SessionList":
        return cls(sessions=[SessionListItem.of(session) for session in page.sessions], next_cursor=page.next_cursor)


class ExecutionView(View):
    id: UUID
    agent_name: str
    agent_index: int
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

    @classmethod
    def of(cls, execution: AgentExecution, usage: TokenUsage | None) -> "ExecutionView":
        return cls(
            id=UUID(execution.id),
            agent_name=execution.agent_name,
            agent_index=execution.agent_index,
            llm_backend=execution.llm_backend,
            llm_provider=execution.llm_provider,
            model_name=execution.model_name,
            tool_calling=execution.tool_calling,
            status=execution.status,
            cancel_requested=execution.cancel_requested,
            error_message=execution.error_message,
            started_at=execution.started_at,
            completed_at=execution.completed_at,
            duration_ms=milliseconds_between(execution.started_at, execution.completed_at),
            usage=Usage.of(usage),
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
    executions: list[ExecutionView]

    @classmethod
    def of(cls, stage: Stage, run: SessionRun) -> "StageView":
        executions = [ExecutionView.of(one, run.usage.get(one.id)) for one in run.executions if one.stage_id == stage.id]
        return cls(
            id=UUID(stage.id),
            stage_name=stage.stage_name,
            stage_index=stage.stage_index,
            stage_type=stage.stage_type,
            expected_agent_count=stage.expected_agent_count,
            parallel_type=stage.parallel_type,
            success_policy=stage.success_policy,
            referenced_stage_id=UUID(stage.referenced_stage_id) if stage.referenced_stage_id else None,
            status=stage.status,
            error_message=stage.error_message,
            started_at=stage.started_at,
            completed_at=stage.completed_at,
            duration_ms=milliseconds_between(stage.started_at, stage.completed_at),
            executions=executions,
        )


class PlannedStage(View):
    """A stage as the session's chain plans it, whether it has begun or not."""

    name: str
    agents: list[str]
    synthesis: bool


class SessionDetail(View):
    id: UUID
    title: str
    alert_type: str
    alert_data: str
    chain_id: str
    author: str
    status: SessionStatus
    runbook_url: str | None
    mcp_selection: McpSelection | None
    final_analysis: str | None
    analysis_is_partial: bool
    # Why, in one sentence for people.
    analysis_partial_reason: str | None
    executive_summary: str | None
    executive_summary_error: str | None
    error_message: str | None
    # How often another worker had to go on where one was lost.
    recoveries: int
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    duration_ms: int | None
    queue_position: int | None
    # Why it is not worked on: what it is parked for, or the pause that holds it.
    waiting_reason: str | None
    # When it is looked at again though nothing happened.
    waiting_until: datetime | None
    chat_enabled: bool
    scoring_enabled: bool
    # The models' words come from a recording: a sample without a key, or a replay.
    recorded: bool
    planned_stages: list[PlannedStage]
    stages: list[StageView]
    usage: Usage

    @classmethod
    def of(cls, session: AlertSession, run: SessionRun, standing: Standing) -> "SessionDetail":
        snapshot = session.chain_snapshot
        return cls(
            id=UUID(session.id),
            title=alert_title(session.alert_data, session.alert_type),
            alert_type=session.alert_type,
            alert_data=session.alert_data,
            chain_id=session.chain_id,
            author=session.author,
            status=session.status,
            runbook_url=session.runbook_url,
            mcp_selection=McpSelection.model_validate(session.mcp_selection) if session.mcp_selection is not None else None,
            final_analysis=session.final_analysis,
            analysis_is_partial=session.analysis_is_partial,
            analysis_partial_reason=session.analysis_partial_reason,
            executive_summary=session.executive_summary,
            executive_summary_error=session.executive_summary_error,
            error_message=session.error_message,
            recoveries=standing.recoveries,
            created_at=session.created_at,
            started_at=session.started_at,
            completed_at=session.completed_at,
            duration_ms=milliseconds_between(session.started_at, session.completed_at),
            queue_position=standing.queue_position,
            waiting_reason=standing.waiting_reason,
            waiting_until=standing.waiting_until,
            chat_enabled=snapshot.get("chat") is not None,
            scoring_enabled=snapshot.get("scoring") is not None,
            recorded=_is_recorded(snapshot),
            planned_stages=[_planned(stage) for stage in snapshot.get("stages", ())],
            stages=[StageView.of(stage, run) for stage in run.stages],
            usage=Usage.of(run.total_usage),
        )


def _is_recorded(snapshot: Mapping[str, Any]) -> bool:
    agents = (agent for stage in snapshot.get("stages", ()) for agent in stage["agents"])
    return any(agent.get("provider", {}).get("type") == ProviderType.REPLAY for agent in agents)


def _planned(stage: dict[str, Any]) -> PlannedStage:
    return PlannedStage(
        name=stage["name"],
        agents=[agent["agent_name"] for agent in stage["agents"]],
        synthesis=stage.get("synthesis") is not None,
    )


class CancelResult(View):
    # `cancelled`: it had not begun. `cancelling`: its worker has been told. `already_ended`: nothing was left to stop.
    result: CancelAnswer
