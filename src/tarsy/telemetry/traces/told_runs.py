"""The spans of sessions, stages and executions: told when their end is committed, by the process that commits it."""

from tarsy.domain.execution import ExecutionChange
from tarsy.domain.session import AlertSession, SessionClose
from tarsy.domain.stage import Stage, StageClose
from tarsy.domain.status import RunStatus, SessionStatus
from tarsy.domain.step import Step
from tarsy.telemetry.traces import conventions as names
from tarsy.telemetry.traces.run_book import OpenExecution, RunBook
from tarsy.telemetry.traces.tracing import NounSpan, Tracing


class ToldRuns:
    def __init__(self, tracing: Tracing, book: RunBook) -> None:
        self._tracing = tracing
        self._book = book

    def committed(self, step: Step) -> None:
        """From the inside out: an execution may end in the step that ends its session."""
        if not _tells_something(step):
            return
        self._book.begun(step)
        for change in step.execution_changes:
            known = self._book.executions.get(change.execution_id)
            if known and change.status and change.status.is_final:
                del self._book.executions[change.execution_id]
                self._tell_execution(known, change, change.status)
        for close in step.stage_closes:
            stage = self._book.stages.pop(close.stage_id, None)
            if stage:
                self._tell_stage(stage, close)
        if step.session_close and (session := self._book.sessions.pop(step.session_id, None)):
            self._tell_session(session, step.session_close)

    def _tell_execution(self, known: OpenExecution, change: ExecutionChange, status: RunStatus) -> None:
        execution = known.execution
        begun = known.started_at or change.at
        attributes = {
            names.OPERATION: names.INVOKE_AGENT,
            names.AGENT: execution.agent_name,
            names.AGENT_ID: execution.id,
            names.CONVERSATION: execution.id,
            names.MODEL: execution.model_name,
            "tarsy.provider": execution.llm_provider,
        }
        self._tracing.tell(
            NounSpan(
                name=f"{names.INVOKE_AGENT} {execution.agent_name}",
                session_id=execution.session_id,
                noun_id=execution.id,
                parent_id=execution.stage_id,
                begun=begun,
                ended=change.at,
                attributes=attributes,
                events=tuple(known.events),
                error=None if status is RunStatus.COMPLETED else status.value,
            )
        )
        self._tracing.instruments.agent.record((change.at - begun).total_seconds(), ((names.AGENT, execution.agent_name),))

    def _tell_stage(self, stage: Stage, close: StageClose) -> None:
        begun = stage.started_at or close.completed_at
        self._tracing.tell(
            NounSpan(
                name=f"{names.INVOKE_WORKFLOW} {stage.stage_name}",
                session_id=stage.session_id,
                noun_id=stage.id,
                parent_id=stage.session_id,
                begun=begun,
                ended=close.completed_at,
                attributes=_workflow(stage.stage_name) | {"tarsy.stage.type": stage.stage_type.value},
                error=None if close.status is RunStatus.COMPLETED else close.status.value,
            )
        )
        self._tracing.instruments.workflow.record((close.completed_at - begun).total_seconds(), ((names.WORKFLOW, stage.stage_name),))

    def _tell_session(self, session: AlertSession, close: SessionClose) -> None:
        begun = session.started_at or session.created_at
        self._tracing.tell(
            NounSpan(
                name=f"{names.INVOKE_WORKFLOW} {session.chain_id}",
                session_id=session.id,
                noun_id=session.id,
                parent_id=None,
                begun=begun,
                ended=close.completed_at,
                attributes=_workflow(session.chain_id) | {"tarsy.session.id": session.id, "tarsy.alert_type": session.alert_type},
                error=None if close.status is SessionStatus.COMPLETED else close.status.value,
            )
        )
        self._tracing.instruments.workflow.record((close.completed_at - begun).total_seconds(), ((names.WORKFLOW, session.chain_id),))


def _tells_something(step: Step) -> bool:
    """Most steps hold one more call and what it said: their spans are told by the calls themselves."""
    return bool(
        step.execution_changes
        or step.stages
        or step.executions
        or step.stage_closes
        or step.session_close
        or any(call.error_code for call in step.llm_interactions)
    )


def _workflow(name: str) -> dict[str, str]:
    return {names.OPERATION: names.INVOKE_WORKFLOW, names.WORKFLOW: name}
