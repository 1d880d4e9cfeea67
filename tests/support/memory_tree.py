"""Runs a stage whose agents send others, on a recorded model with its record in memory, and lets it die after any step."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

from support.agent_scenario import NONCE, Scenario
from support.memory_run import DiedError, MemoryJournal, MemorySpending
from tarsy.agent.budget.ledger import Ledger
from tarsy.agent.execution import AgentServices, StopState
from tarsy.config.schema.budget import CostEstimationConfig
from tarsy.domain.claim import INVESTIGATION, Claim
from tarsy.domain.evidence import AnsweredCall, Evidence
from tarsy.domain.execution import AgentExecution
from tarsy.domain.history import ExecutionRecord, StageRecord
from tarsy.domain.live_events import StreamDelta
from tarsy.domain.session import AlertSession
from tarsy.domain.stage import Stage
from tarsy.domain.step import Committed, Step, StoredRun
from tarsy.domain.tool import ToolOutcome
from tarsy.domain.work import Park
from tarsy.kit.clock import FixedClock
from tarsy.llm.in_process import in_process_client
from tarsy.llm.prices import PriceList
from tarsy.session.agent_runner import AgentRunner, StageJob
from tarsy.session.plan import plan
from tarsy.session.run_scope import Cancellations
from tarsy.session.stage_runner import RanStage, StageRunner
from tarsy.tools.masking.masker import Unmasked
from tarsy.tools.recorded import RecordedToolServers


@dataclass(slots=True)
class TreeJournal:
    """A journal, history and result store for all executions of a stage; it dies after `dies_after` steps."""

    dies_after: int | None = None
    steps: int = 0
    stage: Stage | None = None
    executions: dict[str, AgentExecution] = field(default_factory=dict[str, AgentExecution])
    runs: dict[str, MemoryJournal] = field(default_factory=dict[str, MemoryJournal])

    async def commit(self, step: Step) -> Committed:
        self._write(step)
        return Committed()

    def _write(self, step: Step) -> None:
        if self.dies_after is not None and self.steps >= self.dies_after:
            raise DiedError
        self.steps += 1
        self.stage = step.stages[0] if step.stages else self.stage
        for execution in step.executions:
            assert execution.id not in self.executions
            self.executions[execution.id], self.runs[execution.id] = execution, MemoryJournal()
        for change in step.execution_changes:
            old = self.executions[change.execution_id]
            self.executions[old.id] = change.of(old)
        for execution_id, run in self.runs.items():
            run.write(_part(step, execution_id, run))

    async def load(self, execution_id: str) -> StoredRun:
        return await self.runs[execution_id].load(execution_id)

    async def read(self, execution_id: str, call_id: str) -> ToolOutcome | None:
        return await self.runs[execution_id].read(execution_id, call_id)

    async def cited(self, execution_id: str, ids: Collection[str] | None = None) -> list[Evidence]:
        below = [one.id for one in self.executions.values() if execution_id in {one.id, one.parent_execution_id}]
        return [evidence for one in below for evidence in await self.runs[one].cited(one, ids)]

    async def answered(self, execution_id: str) -> list[AnsweredCall]:
        return await self.runs[execution_id].answered(execution_id)

    def publish(self, delta: StreamDelta) -> None:
        """No client watches."""

    def record(self) -> StageRecord | None:
        """The stage as the next worker finds it."""
        if self.stage is None:
            return None
        return StageRecord(self.stage, self._records(None))

    def _records(self, parent: str | None) -> tuple[ExecutionRecord, ...]:
        return tuple(
            ExecutionRecord(
                one,
                tuple(sorted(self.runs[one.id].events.values(), key=lambda event: event.sequence_number)),
                self._records(one.id),
            )
            for one in sorted(self.executions.values(), key=lambda one: one.agent_index)
            if one.parent_execution_id == parent
        )

    def contents(self) -> Mapping[str, Any]:
        """All answers and calls, by agent and place."""
        return {
            f"{one.dispatched_by or ''} {one.agent_name}": (
                one.status,
                one.error_message,
                one.task,
                run.conversation(),
                # How often a call was made while it had to wait is no part of the story.
                sorted(entry for entry in run.timeline() if entry[1] != "interrupted"),
                sorted((call.track, call.turn, call.request_hash) for call in run.llm),
                run.citations,
            )
            for one in self.executions.values()
            for run in (self.runs[one.id],)
        }


def _part(step: Step, execution_id: str, run: MemoryJournal) -> Step:
    """What a step says of one execution."""

    def own(parts: Sequence[Any]) -> Any:
        return tuple(part for part in parts if part.execution_id == execution_id)

    return Step(
        claim=step.claim,
        messages=own(step.messages),
        compacted=tuple(one for one in step.compacted if one.message_id in run.messages),
        opened=own(step.opened),
        closed=tuple(one for one in step.closed if one.event_id in run.events or one.event_id in {event.id for event in own(step.opened)}),
        llm_interactions=own(step.llm_interactions),
        mcp_interactions=own(step.mcp_interactions),
        inputs=own(step.inputs),
        citations=own(step.citations),
        execution_changes=own(step.execution_changes),
    )


class NoChanges:
    async def exist_since(self, since: datetime) -> bool:
        assert since
        return False


@dataclass(slots=True)
class MemoryTree:
    """The first stage of a scenario, run as often as need be on the same record."""

    scenario: Scenario
    journal: TreeJournal = field(default_factory=TreeJournal)

    async def go_on(self) -> RanStage:
        """Run it to its end; when it waits for something, that has happened at once."""
        while isinstance(ran := await self._run(), Park):
            pass
        return ran

    async def _run(self) -> Any:
        recording = self.scenario.recording
        llm = self.scenario.llm or in_process_client(env={}, recordings=lambda _: recording)
        services = AgentServices(
            llm=llm,
            prices=PriceList(CostEstimationConfig(), {}),
            tools=RecordedToolServers(recording),
            journal=self.journal,
            results=self.journal,
            changes=cast("Any", NoChanges()),
            skills=cast("Any", None),
            live=self.journal,
            mask=Unmasked(),
            clock=FixedClock(),
        )
        chain = self.scenario.chain
        job = StageJob(
            claim=Claim(INVESTIGATION, "work", "session", "token", "session"),
            session=_session(self.scenario),
            chain=chain,
            ledger=Ledger(MemorySpending(), FixedClock()),
            planned=plan(chain)[0],
            runbook="",
            previous=("",) * len(chain.stages[0].agents),
            stored=self.journal.record(),
        )
        return await StageRunner(AgentRunner(services, Cancellations(), {}), self.journal, FixedClock()).run(job, StopState())


def _session(scenario: Scenario) -> AlertSession:
    fields: Any = {
        "id": "session",
        "alert_data": scenario.alert,
        "alert_type": "test",
        "nonce": NONCE,
        "created_at": datetime(2026, 1, 2, tzinfo=UTC),
        "received_at": datetime(2026, 1, 2, tzinfo=UTC),
    }
    return cast("AlertSession", type("Session", (), fields)())
