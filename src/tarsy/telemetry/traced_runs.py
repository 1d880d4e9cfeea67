"""Spans of sessions, stages and executions: exported when their end is committed, by the process that commits it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from opentelemetry.util.types import AttributeValue

from tarsy.domain.claim import Claim
from tarsy.domain.execution import AgentExecution, ExecutionChange
from tarsy.domain.followup import ChatUserMessage
from tarsy.domain.history import StageRecord
from tarsy.domain.session import AlertSession, SessionClose
from tarsy.domain.stage import Stage, StageClose
from tarsy.domain.status import RunStatus, SessionStatus
from tarsy.domain.step import Step
from tarsy.session.ports import History
from tarsy.telemetry import conventions as names
from tarsy.telemetry.tracing import Tracing, fail, nanoseconds


@dataclass(slots=True)
class _OpenExecution:
    execution: AgentExecution
    started_at: datetime | None
    # Name, time and attributes of the events of its span.
    events: list[tuple[str, datetime, Mapping[str, AttributeValue]]] = field(
        default_factory=list[tuple[str, datetime, Mapping[str, AttributeValue]]]
    )


class RunSpans:
    """Follows the sessions that this process works on by their claims, committed steps and stored history, and exports a span when one ends."""

    def __init__(self, tracing: Tracing) -> None:
        self.tracing = tracing
        # Those that have begun and not ended; sessions with their claim.
        self._sessions: dict[str, tuple[Claim, AlertSession]] = {}
        self._stages: dict[str, Stage] = {}
        self._executions: dict[str, _OpenExecution] = {}

    def session_of(self, execution_id: str) -> str | None:
        """Return the session of an execution that has not ended, or None if it does not run here."""
        known = self._executions.get(execution_id)
        return known.execution.session_id if known else None

    def claimed(self, claim: Claim, subject: object) -> None:
        if isinstance(subject, AlertSession):
            self._sessions[subject.id] = claim, subject

    def released(self, claim: Claim) -> None:
        """Forget a session, unless this process has claimed it again: the process that resumes it reads back what it needs."""
        held = self._sessions.get(claim.session or "")
        if held and held[0] != claim:
            return
        self._sessions.pop(claim.session or "", None)
        self._executions = {id_: one for id_, one in self._executions.items() if one.execution.session_id != claim.session}
        self._stages = {id_: one for id_, one in self._stages.items() if one.session_id != claim.session}

    def read_back(self, records: Iterable[StageRecord]) -> None:
        """Learn the open stages and executions of a session that is resumed here."""
        for record in records:
            if record.stage.status.is_final:
                continue
            self._stages.setdefault(record.stage.id, record.stage)
            for one in (one.execution for top in record.executions for one in top.tree if not one.execution.status.is_final):
                self._executions.setdefault(one.id, _OpenExecution(one, one.started_at))

    def committed(self, step: Step) -> None:
        """Note what begins with a step and export what ends with it, from the inside out: an execution may end together with its session."""
        for stage in step.stages:
            self._stages[stage.id] = stage
        for execution in step.executions:
            self._executions[execution.id] = _OpenExecution(execution, execution.started_at)
        for call in step.llm_interactions:
            if call.error_code and (known := self._executions.get(call.execution_id)):
                failure = {names.MODEL: call.model, names.ERROR: call.error_code, "tarsy.turn": call.turn}
                known.events.append(("tarsy.model_call_failed", call.started_at, failure))
        for change in step.execution_changes:
            self._change_execution(change)
        for close in step.stage_closes:
            if stage := self._stages.pop(close.stage_id, None):
                self._export_stage(stage, close)
        if step.session_close and (held := self._sessions.pop(step.session_id, None)):
            self._export_session(held[1], step.session_close)

    def _change_execution(self, change: ExecutionChange) -> None:
        known = self._executions.get(change.execution_id)
        if known is None:
            return
        if change.status is RunStatus.ACTIVE:
            known.started_at = change.at
        if change.llm_provider is not None:
            fallback = {"tarsy.provider": change.llm_provider, names.MODEL: change.model_name or ""}
            known.events.append(("tarsy.fallback", change.at, fallback))
        if change.status and change.status.is_final:
            del self._executions[change.execution_id]
            self._export_execution(known, change, change.status)

    def _export_execution(self, known: _OpenExecution, change: ExecutionChange, status: RunStatus) -> None:
        execution, started_at = known.execution, known.started_at or change.at
        span = self.tracing.start_run(
            f"{names.INVOKE_AGENT} {execution.agent_name}",
            {
                names.OPERATION: names.INVOKE_AGENT,
                names.AGENT: execution.agent_name,
                names.AGENT_ID: execution.id,
                names.CONVERSATION: execution.id,
                names.MODEL: execution.model_name,
                "tarsy.provider": execution.llm_provider,
            },
            session_id=execution.session_id,
            run_id=execution.id,
            parent_id=execution.stage_id,
            started_at=started_at,
        )
        for name, at, attributes in known.events:
            span.add_event(name, attributes, nanoseconds(at))
        fail(span, None if status is RunStatus.COMPLETED else status.value)
        span.end(nanoseconds(change.at))
        self.tracing.agent_seconds.record((change.at - started_at).total_seconds(), {names.AGENT: execution.agent_name})

    def _export_stage(self, stage: Stage, close: StageClose) -> None:
        started_at = stage.started_at or close.completed_at
        span = self.tracing.start_run(
            f"{names.INVOKE_WORKFLOW} {stage.stage_name}",
            {
                names.OPERATION: names.INVOKE_WORKFLOW,
                names.WORKFLOW: stage.stage_name,
                "tarsy.stage.type": stage.stage_type.value,
            },
            session_id=stage.session_id,
            run_id=stage.id,
            parent_id=stage.session_id,
            started_at=started_at,
        )
        fail(span, None if close.status is RunStatus.COMPLETED else close.status.value)
        span.end(nanoseconds(close.completed_at))
        self.tracing.workflow_seconds.record((close.completed_at - started_at).total_seconds(), {names.WORKFLOW: stage.stage_name})

    def _export_session(self, session: AlertSession, close: SessionClose) -> None:
        started_at = session.started_at or session.created_at
        span = self.tracing.start_run(
            f"{names.INVOKE_WORKFLOW} {session.chain_id}",
            {
                names.OPERATION: names.INVOKE_WORKFLOW,
                names.WORKFLOW: session.chain_id,
                "tarsy.session.id": session.id,
                "tarsy.alert_type": session.alert_type,
            },
            session_id=session.id,
            run_id=session.id,
            parent_id=None,
            started_at=started_at,
        )
        fail(span, None if close.status is SessionStatus.COMPLETED else close.status.value)
        span.end(nanoseconds(close.completed_at))
        self.tracing.workflow_seconds.record((close.completed_at - started_at).total_seconds(), {names.WORKFLOW: session.chain_id})


class TracedHistory:
    """A worker that resumes a session reads its history first, and so learns which spans are open."""

    def __init__(self, inner: History, runs: RunSpans) -> None:
        self._inner = inner
        self._runs = runs

    async def stages(self, session_id: str) -> Sequence[StageRecord]:
        records = await self._inner.stages(session_id)
        self._runs.read_back(records)
        return records

    async def timelines(self, session_id: str) -> Sequence[StageRecord]:
        records = await self._inner.timelines(session_id)
        self._runs.read_back(records)
        return records

    async def questions(self, session_id: str) -> Sequence[ChatUserMessage]:
        return await self._inner.questions(session_id)
