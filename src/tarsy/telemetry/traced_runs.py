"""Spans of sessions, stages and executions: exported when their end is committed, by the process that commits it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import assert_never

from opentelemetry.util.types import AttributeValue

from tarsy.domain.action import Action
from tarsy.domain.claim import CHAT_ANSWER, INVESTIGATION, SCORING, Claim, WorkKind
from tarsy.domain.execution import AgentExecution, ExecutionChange
from tarsy.domain.followup import ChatUserMessage
from tarsy.domain.history import StageRecord
from tarsy.domain.session import AlertSession, SessionClose
from tarsy.domain.stage import Stage, StageClose, StageType
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


@dataclass(slots=True)
class _OpenRun:
    """A claimed investigation, chat answer or score, with its stages and executions that have begun and not ended."""

    claim: Claim
    # Of an investigation, which has a span of its own.
    session: AlertSession | None
    stages: dict[str, Stage] = field(default_factory=dict[str, Stage])
    executions: dict[str, _OpenExecution] = field(default_factory=dict[str, _OpenExecution])


class RunSpans:
    """Follows the runs of this process by their claims, committed steps and stored history, and exports a span when one ends."""

    def __init__(self, tracing: Tracing) -> None:
        self.tracing = tracing
        # By session and kind: of each kind, one run of a session has a claim.
        self._runs: dict[tuple[str, WorkKind], _OpenRun] = {}

    def follow(self, claim: Claim, subject: object) -> None:
        if claim.session is not None:
            self._runs[claim.session, claim.kind] = _OpenRun(claim, subject if isinstance(subject, AlertSession) else None)

    def forget(self, claim: Claim) -> None:
        """Forget a run, unless this process has claimed it again: the process that resumes it restores what it needs."""
        run = self._runs.get((claim.session or "", claim.kind))
        if run and run.claim == claim:
            del self._runs[claim.session_id, claim.kind]

    def restore(self, records: Iterable[StageRecord]) -> None:
        """Restore the open stages and executions of a run that is resumed here."""
        for record in records:
            run = self._runs.get((record.stage.session_id, _kind_of(record.stage)))
            if run is None or record.stage.status.is_final:
                continue
            run.stages.setdefault(record.stage.id, record.stage)
            for one in (one.execution for top in record.executions for one in top.tree if not one.execution.status.is_final):
                run.executions.setdefault(one.id, _OpenExecution(one, one.started_at))

    def record(self, step: Step) -> None:
        """Follow what begins with a committed step and export what ends with it, from the inside out: an execution may end together with its session."""
        run = self._runs.get((step.session_id, step.claim.kind))
        if run is None:
            return
        run.stages |= {stage.id: stage for stage in step.stages}
        run.executions |= {execution.id: _OpenExecution(execution, execution.started_at) for execution in step.executions}
        for call in step.llm_interactions:
            if call.error_code and (known := run.executions.get(call.execution_id)):
                failure = {names.MODEL: call.model, names.ERROR: call.error_code, "tarsy.turn": call.turn}
                known.events.append(("tarsy.model_call_failed", call.started_at, failure))
        for change in step.execution_changes:
            self._change_execution(run, change)
        for close in step.stage_closes:
            if stage := run.stages.pop(close.stage_id, None):
                self._export_stage(stage, close)
        if step.session_close and run.session:
            self._export_session(run.session, step.session_close)
        if step.session_close or step.work_close:
            del self._runs[step.session_id, step.claim.kind]

    def _change_execution(self, run: _OpenRun, change: ExecutionChange) -> None:
        known = run.executions.get(change.execution_id)
        if known is None:
            return
        if change.status is RunStatus.ACTIVE:
            known.started_at = change.at
        if change.llm_provider is not None:
            fallback = {"tarsy.provider": change.llm_provider, names.MODEL: change.model_name or ""}
            known.events.append(("tarsy.fallback", change.at, fallback))
        if change.status and change.status.is_final:
            del run.executions[change.execution_id]
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


def _kind_of(stage: Stage) -> WorkKind:
    """Return the kind of work whose run a stage is part of."""
    match stage.stage_type:
        case StageType.CHAT:
            return CHAT_ANSWER
        case StageType.SCORING:
            return SCORING
        case StageType.INVESTIGATION | StageType.SYNTHESIS | StageType.CHALLENGE | StageType.ACTION | StageType.EXEC_SUMMARY:
            return INVESTIGATION
        case _:
            assert_never(stage.stage_type)


class TracedHistory:
    """A worker that resumes a session reads its history first, and so learns which spans are open."""

    def __init__(self, inner: History, runs: RunSpans) -> None:
        self._inner = inner
        self._runs = runs

    async def stages(self, session_id: str) -> Sequence[StageRecord]:
        records = await self._inner.stages(session_id)
        self._runs.restore(records)
        return records

    async def timelines(self, session_id: str) -> Sequence[StageRecord]:
        records = await self._inner.timelines(session_id)
        self._runs.restore(records)
        return records

    async def actions(self, session_id: str) -> Sequence[Action]:
        return await self._inner.actions(session_id)

    async def questions(self, session_id: str) -> Sequence[ChatUserMessage]:
        return await self._inner.questions(session_id)
