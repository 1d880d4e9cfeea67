"""What this process knows of the sessions it works on: read off claims, committed steps and what a resumed session reads back."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from tarsy.domain.claim import Claim
from tarsy.domain.execution import AgentExecution, ExecutionChange
from tarsy.domain.history import StageRecord
from tarsy.domain.interaction import LLMInteraction
from tarsy.domain.session import AlertSession
from tarsy.domain.stage import Stage
from tarsy.domain.status import RunStatus
from tarsy.domain.step import Step
from tarsy.telemetry.traces import conventions as names
from tarsy.telemetry.traces.tracing import SpanEvent


@dataclass(slots=True)
class OpenExecution:
    execution: AgentExecution
    started_at: datetime | None
    events: list[SpanEvent] = field(default_factory=list[SpanEvent])


class RunBook:
    """Sessions, stages and executions that have begun and not ended."""

    def __init__(self) -> None:
        self.sessions: dict[str, AlertSession] = {}
        self.stages: dict[str, Stage] = {}
        self.executions: dict[str, OpenExecution] = {}

    def session_of(self, execution_id: str) -> str | None:
        known = self.executions.get(execution_id)
        return known.execution.session_id if known else None

    def claimed(self, noun: object) -> None:
        if isinstance(noun, AlertSession):
            self.sessions[noun.id] = noun

    def let_go(self, claim: Claim) -> None:
        """Another process may go on with it; it will read back what it needs."""
        self.sessions.pop(claim.session or "", None)
        self.executions = {id_: one for id_, one in self.executions.items() if one.execution.session_id != claim.session}
        self.stages = {id_: one for id_, one in self.stages.items() if one.session_id != claim.session}

    def read_back(self, records: Iterable[StageRecord]) -> None:
        for record in records:
            if record.stage.status.is_final:
                continue
            self.stages.setdefault(record.stage.id, record.stage)
            for one in record.executions:
                if not one.execution.status.is_final:
                    self.executions.setdefault(one.execution.id, OpenExecution(one.execution, one.execution.started_at))

    def begun(self, step: Step) -> None:
        for stage in step.stages:
            self.stages[stage.id] = stage
        for one in step.executions:
            self.executions[one.id] = OpenExecution(one, one.started_at)
        for call in step.llm_interactions:
            if call.error_code:
                self._note_failure(call, call.error_code)
        if step.execution_changes:
            self._note_changes(step.execution_changes)

    def _note_failure(self, call: LLMInteraction, error: str) -> None:
        if known := self.executions.get(call.execution_id):
            told = {names.MODEL: call.model, names.ERROR: error, "tarsy.turn": call.turn}
            known.events.append(SpanEvent("tarsy.model_call_failed", call.started_at, told))

    def _note_changes(self, changes: Sequence[ExecutionChange]) -> None:
        for change in changes:
            known = self.executions.get(change.execution_id)
            if known is None:
                continue
            if change.status is RunStatus.ACTIVE:
                known.started_at = change.at
            if change.llm_provider is not None:
                told = {"tarsy.provider": change.llm_provider, names.MODEL: change.model_name or ""}
                known.events.append(SpanEvent("tarsy.fallback", change.at, told))
