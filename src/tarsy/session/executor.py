"""SessionExecutor: walks a session's chain from wherever it stands to its end."""

from collections.abc import Sequence
from uuid import uuid4

import structlog

from tarsy.agent.context.formatter import formatter_for
from tarsy.agent.context_window import context_limit
from tarsy.agent.execution import ExecutionResult
from tarsy.agent.stopping import StopReason
from tarsy.config.resolve.resolved import ResolvedChain
from tarsy.domain.execution import ExecutionChange
from tarsy.domain.history import StageRecord
from tarsy.domain.score import SessionScore
from tarsy.domain.session import SessionClose
from tarsy.domain.stage import StageType
from tarsy.domain.status import RunStatus, SessionStatus, TimelineStatus
from tarsy.domain.step import Step
from tarsy.domain.timeline import TimelineEvent, TimelineEventType
from tarsy.domain.work import SessionWork
from tarsy.kit.text import clip_bytes
from tarsy.session.dependencies import Dependencies, RunScope
from tarsy.session.plan import FinishSession, PlannedStage, StageOutcome, best_analysis, cut_short, next_step, plan
from tarsy.session.stage_runner import AbandonedStage, StageJob, StageRunner, abandoned, outcome_of

log = structlog.get_logger(__name__)


class SessionExecutor:
    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies
        self._stages = StageRunner(dependencies)

    async def execute(self, work: SessionWork, scope: RunScope) -> None:
        """Run the session until it ends, or is stopped. What must be written of its end is written here."""
        chain = ResolvedChain.model_validate(work.session.chain_snapshot)
        stages = plan(chain)
        with self._dependencies.cancellations.registered(work.session.id, lambda: scope.stop(StopReason.CANCELLED)):
            async with scope.limited(chain.session_timeout):
                finish = await self._walk(work, chain, stages, scope)
                await self._finish(work, chain, finish)
        match scope.stopped:
            case StopReason.CANCELLED:
                await self._end_early(work, chain, RunStatus.CANCELLED, "cancelled")
            case StopReason.TIMED_OUT:
                await self._end_early(work, chain, RunStatus.TIMED_OUT, f"the session did not end within {chain.session_timeout:g} s")
            case StopReason.HANDED_OVER | StopReason.LOST | None:
                return

    async def _walk(self, work: SessionWork, chain: ResolvedChain, stages: Sequence[PlannedStage], scope: RunScope) -> FinishSession:
        records = await self._dependencies.history.told(work.session.id)
        runbook = await self._runbook(work, chain)
        done = finished_stages(stages, records)
        while True:
            step = next_step(stages, done)
            if isinstance(step, FinishSession):
                return step
            planned = step.planned
            self._dependencies.progress.progress(
                work.session.id, stage_name=planned.name, stage_index=planned.index, stage_count=len(stages)
            )
            records = await self._dependencies.history.told(work.session.id)
            job = StageJob(
                claim=work.claim,
                session=work.session,
                chain=chain,
                planned=planned,
                runbook=runbook,
                previous=_previous(planned, records, done),
                stored=next((record for record in records if record.stage.stage_index == planned.index), None),
                referenced_stage_id=None if planned.references is None else done[planned.references].stage_id,
            )
            outcome, _ = await self._stages.run(job, scope.stopping)
            done = [*done, outcome]

    async def _runbook(self, work: SessionWork, chain: ResolvedChain) -> str:
        """The alert's own runbook or the default. It is fetched once; that it could not be is told on the timeline."""
        session = work.session
        if session.runbook is not None:
            return session.runbook
        runbook = await self._dependencies.runbooks.fetch(session.runbook_url, default=chain.default_runbook)
        text = self._dependencies.mask(runbook.text)
        if session.runbook_url:
            opened = (self._warning(work, self._dependencies.mask(runbook.warning)),) if runbook.warning else ()
            await self._dependencies.journal.commit(Step(claim=work.claim, opened=opened, runbook=text))
        return text

    def _warning(self, work: SessionWork, text: str) -> TimelineEvent:
        now = self._dependencies.clock.now()
        return TimelineEvent(
            id=str(uuid4()),
            session_id=work.session.id,
            stage_id=None,
            execution_id=None,
            sequence_number=0,
            event_type=TimelineEventType.WARNING,
            status=TimelineStatus.COMPLETED,
            content=text,
            created_at=now,
            completed_at=now,
        )

    async def _finish(
        self, work: SessionWork, chain: ResolvedChain, finish: FinishSession, abandoned_stages: Sequence[AbandonedStage] = ()
    ) -> None:
        close = SessionClose(
            status=finish.status,
            completed_at=self._dependencies.clock.now(),
            final_analysis=finish.final_analysis,
            analysis_is_partial=finish.partial and finish.final_analysis is not None,
            executive_summary=finish.executive_summary,
            executive_summary_error=finish.executive_summary_error,
            error_message=finish.error,
        )
        judged = chain.scoring is not None and close.status is SessionStatus.COMPLETED
        score = _score_request(work.session.id, close) if judged else None
        await self._dependencies.journal.commit(
            Step(
                claim=work.claim,
                execution_changes=tuple(change for changes, _ in abandoned_stages for change in changes),
                stage_closes=tuple(stage_close for _, stage_close in abandoned_stages),
                session_close=close,
                score=score,
            )
        )
        log.info("session.finished", session_id=work.session.id, status=close.status.value)

    async def _end_early(self, work: SessionWork, chain: ResolvedChain, status: RunStatus, reason: str) -> None:
        """Close what is open and keep the best analysis there is."""
        records = await self._dependencies.history.told(work.session.id)
        stages = plan(chain)
        change = ExecutionChange(execution_id="", at=self._dependencies.clock.now(), error_message=reason)
        closing = [abandoned(record, change, status) for record in records if not record.stage.status.is_final]
        await self._finish(work, chain, cut_short(stages, finished_stages(stages, records), status, reason), closing)


def _score_request(session_id: str, close: SessionClose) -> SessionScore:
    """A judgement that is made when somebody has time; the session is finished without it."""
    return SessionScore(
        id=str(uuid4()), session_id=session_id, status=RunStatus.PENDING, requested_by="tarsy", created_at=close.completed_at
    )


def finished_stages(stages: Sequence[PlannedStage], records: Sequence[StageRecord]) -> list[StageOutcome]:
    """The outcomes of the stages that had ended before, read back."""
    done: list[StageOutcome] = []
    for planned, record in zip(stages, records, strict=False):
        if not record.stage.status.is_final:
            break
        results = [ExecutionResult(status=one.execution.status, final_analysis=one.conclusion) for one in record.executions]
        done.append(outcome_of(planned, record.stage.id, record.stage.status, results, record.stage.error_message))
    return done


def _previous(planned: PlannedStage, records: Sequence[StageRecord], done: Sequence[StageOutcome]) -> list[str]:
    """What each agent of a stage is told of the stages before, in the form its kind reads best."""
    earlier = [record for record in records if record.stage.stage_index < planned.index]
    told: list[str] = []
    for config in planned.agents:
        formatter = formatter_for(config.type, config.tool_calling)
        limit = context_limit(config.provider)
        if planned.stage_type is StageType.EXEC_SUMMARY:
            told.append(clip_bytes(best_analysis(done) or "", limit))
        elif planned.references is not None:
            told.append(formatter.format_stage_context(earlier[planned.references], limit=limit))
        else:
            told.append(formatter.format_previous_stages(earlier, limit=limit))
    return told
