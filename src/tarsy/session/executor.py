"""SessionExecutor: walks a session's chain from wherever it stands to its end."""

from collections.abc import Sequence
from uuid import uuid4

import structlog

from tarsy.agent.budget.ledger import Ledger
from tarsy.agent.budget.unpriced import limits_dollars, told_in_session, unpriced_models
from tarsy.agent.context_window import context_limit
from tarsy.agent.execution import ExecutionResult
from tarsy.agent.prompt.fence import Fence
from tarsy.agent.prompt.stage_context import formatter_for, judged_text
from tarsy.config.resolve.resolved import ResolvedChain, chain_of
from tarsy.domain.citation import CitationCounts
from tarsy.domain.conclusion import best_analysis, ceiling_sentence, concluding_executions, conclusions_of, lack_content, partial_reason
from tarsy.domain.followup import SessionScore
from tarsy.domain.history import ExecutionRecord, StageRecord, with_end
from tarsy.domain.session import AlertSession, SessionClose
from tarsy.domain.stage import StageClose, StageType
from tarsy.domain.status import RunStatus, SessionStatus, TimelineStatus
from tarsy.domain.step import Step
from tarsy.domain.timeline import TimelineEvent, TimelineEventType
from tarsy.domain.work import Claimed, Park, RunEnd
from tarsy.kit.text import clip_bytes, in_thread_if_long
from tarsy.session.dependencies import INVESTIGATIONS, Dependencies, RunScope, session_ledger
from tarsy.session.plan import (
    FinishSession,
    PlannedStage,
    StageOutcome,
    concluded,
    cut_short,
    ended_by_ceiling,
    next_step,
    passed_over,
    plan,
    tempered,
    told_to,
)
from tarsy.session.stage_runner import Closing, StageJob, StageRunner, abandoned, outcome_of, read_back_of

log = structlog.get_logger(__name__)


class SessionExecutor:
    """The handler of investigations."""

    rules = INVESTIGATIONS

    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies
        self._stages = StageRunner(dependencies)

    async def run(self, claimed: Claimed[AlertSession], scope: RunScope) -> RunEnd | Park:
        """Run the session until it ends, has to wait, or is stopped. What must be written of its end is written here."""
        chain = chain_of(claimed.subject.chain_snapshot)
        walked = await self._walk(claimed, chain, plan(chain), scope)
        if isinstance(walked, Park):
            return walked
        await self._finish(claimed, chain, *walked)
        return RunEnd.WRITTEN

    async def end_early(self, claimed: Claimed[AlertSession], status: RunStatus) -> RunEnd:
        """Close what is open and keep the best analysis there is."""
        chain = chain_of(claimed.subject.chain_snapshot)
        timed_out = f"the session did not end within {chain.session_timeout:g} s"
        reason = timed_out if status is RunStatus.TIMED_OUT else "cancelled"
        records = await self._dependencies.history.told(claimed.subject.id)
        stages, now = plan(chain), self._dependencies.clock.now()
        closing = abandoned(records, status, reason=reason, at=now)
        analysis = best_analysis([conclusions_of(record) for record in records])
        finish = cut_short(stages, finished_stages(stages, records), status, reason, analysis)
        await self._finish(claimed, chain, finish, records, closing)
        return RunEnd.WRITTEN

    async def _walk(
        self, claimed: Claimed[AlertSession], chain: ResolvedChain, stages: Sequence[PlannedStage], scope: RunScope
    ) -> tuple[FinishSession, Sequence[StageRecord], Closing] | Park:
        """Run what is left of the chain; answers with how it ends, with all that its stages have told but a summary of it, and with what is to be closed."""
        records = () if claimed.is_new else await self._dependencies.history.told(claimed.subject.id)
        runbook = await self._runbook(claimed, chain)
        ledger = await session_ledger(self._dependencies, claimed, chain)
        done = finished_stages(stages, records)
        ended: tuple[StageClose, ...] = ()
        while True:
            step = next_step(stages, done, passed_over(chain, stages, records, at_ceiling=bool(ledger.ended)))
            if isinstance(step, FinishSession):
                return step, records, Closing(stages=ended)
            planned = step.planned
            self._dependencies.progress.progress(
                claimed.subject.id, stage_name=planned.name, stage_index=planned.index, stage_count=len(stages)
            )
            if planned.stage_type is StageType.EXEC_SUMMARY and lack_content(records):
                return FinishSession(status=SessionStatus.COMPLETED, final_analysis=concluded(done)), records, Closing(stages=ended)
            job = StageJob(
                claim=claimed.claim,
                session=claimed.subject,
                chain=chain,
                ledger=ledger,
                planned=planned,
                runbook=runbook,
                previous=_previous(
                    planned, records, done, partial_reason(records, with_tools=_has_tools(chain)), Fence(claimed.subject.nonce)
                ),
                stored=next((record for record in records if record.stage.stage_index == planned.index), None),
                referenced_stage_id=None if planned.references is None else done[planned.references].stage_id,
                remarks=() if records else await self._unpriced(claimed, chain, ledger),
                ended=ended,
            )
            ran = await self._stages.run(job, scope.stopping)
            if isinstance(ran, Park):
                return ran
            done, ended = [*done, ran.outcome], (ran.close,)
            # What a summary says is told to no other stage.
            if planned.stage_type is not StageType.EXEC_SUMMARY:
                records = with_end(await self._dependencies.history.told(claimed.subject.id), ran.close)
            if ledger.ended and (finish := ended_by_ceiling(stages, done, ledger.ended.description)):
                return finish, records, Closing(stages=ended)

    async def _runbook(self, claimed: Claimed[AlertSession], chain: ResolvedChain) -> str:
        """The alert's own runbook or the default. It is fetched once; that it could not be is told on the timeline."""
        session = claimed.subject
        if session.runbook is not None:
            return session.runbook
        runbook = await self._dependencies.runbooks.fetch(session.runbook_url, default=chain.default_runbook)
        text = await in_thread_if_long(self._dependencies.mask, runbook.text)
        if session.runbook_url:
            opened = (self._warning(claimed, self._dependencies.mask(runbook.warning)),) if runbook.warning else ()
            await self._dependencies.journal.commit(Step(claim=claimed.claim, opened=opened, runbook=text))
        return text

    async def _unpriced(self, claimed: Claimed[AlertSession], chain: ResolvedChain, ledger: Ledger) -> tuple[TimelineEvent, ...]:
        """That a ceiling in dollars cannot be kept; told with the beginning of the first stage, and so once."""
        if not (ledger.periods or limits_dollars(chain)):
            return ()
        models = await unpriced_models(chain, self._dependencies.prices, self._dependencies.clock.now())
        return (self._warning(claimed, told_in_session(models)),) if models else ()

    def _warning(self, claimed: Claimed[AlertSession], text: str) -> TimelineEvent:
        now = self._dependencies.clock.now()
        return TimelineEvent(
            id=str(uuid4()),
            session_id=claimed.subject.id,
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
        self,
        claimed: Claimed[AlertSession],
        chain: ResolvedChain,
        finish: FinishSession,
        records: Sequence[StageRecord],
        closing: Closing,
    ) -> None:
        reason = _partial_reason(records, chain, finish)
        concluding = concluding_executions(records) if finish.final_analysis is not None else ()
        close = SessionClose(
            status=finish.status,
            completed_at=self._dependencies.clock.now(),
            final_analysis=finish.final_analysis,
            analysis_is_partial=reason is not None,
            analysis_partial_reason=reason,
            executive_summary=finish.executive_summary,
            executive_summary_error=finish.executive_summary_error,
            # A run that was cut short has come to no verdict, and several agents to several.
            verdict=tempered(concluding[0].verdict, records) if len(concluding) == 1 and not finish.partial else None,
            citations=_counted(concluding),
            error_message=finish.error,
            alert_type=claimed.subject.alert_type,
        )
        judged = chain.scoring is not None and close.status is SessionStatus.COMPLETED
        score = _score_request(claimed.subject.id, close) if judged else None
        await self._dependencies.journal.commit(
            Step(
                claim=claimed.claim,
                execution_changes=closing.executions,
                stage_closes=closing.stages,
                session_close=close,
                score=score,
            )
        )
        log.info("session.finished", session_id=claimed.subject.id, status=close.status.value)


def _partial_reason(records: Sequence[StageRecord], chain: ResolvedChain, finish: FinishSession) -> str | None:
    """Why the session's analysis is not what was asked for; None: it is, or there is none."""
    if finish.final_analysis is None:
        return None
    if finish.ceiling:
        return ceiling_sentence(finish.ceiling)
    if finish.partial:
        return f"The session ended before all its stages were done: {finish.error}"
    return partial_reason(records, with_tools=_has_tools(chain))


def _counted(concluding: Sequence[ExecutionRecord]) -> CitationCounts | None:
    """What the citations of all that became the analysis come to."""
    counts = [one.citations for one in concluding if one.citations]
    return sum(counts, CitationCounts()) if counts else None


def _score_request(session_id: str, close: SessionClose) -> SessionScore:
    """A judgement that is made when a worker has time; the session is finished without it."""
    return SessionScore(
        id=str(uuid4()), session_id=session_id, status=RunStatus.PENDING, requested_by="tarsy", created_at=close.completed_at
    )


def finished_stages(stages: Sequence[PlannedStage], records: Sequence[StageRecord]) -> list[StageOutcome]:
    """The outcomes of the stages that had ended before, read back."""
    done: list[StageOutcome] = []
    stored = {record.stage.stage_index: record for record in records}
    for planned in stages:
        record = stored.get(planned.index)
        if record is None and planned.part:
            # It was passed over, or is still to come: what follows it tells.
            continue
        if record is None or not record.stage.status.is_final:
            break
        results = [ExecutionResult(status=one.execution.status, final_analysis=one.conclusion) for one in record.executions]
        done.append(outcome_of(planned, record.stage.id, record.stage.status, results, record.stage.error_message))
    return done


def _has_tools(chain: ResolvedChain) -> bool:
    return any(agent.mcp_servers for stage in chain.stages for top in stage.agents for agent in top.tree)


def _previous(
    planned: PlannedStage, records: Sequence[StageRecord], done: Sequence[StageOutcome], partial: str | None, fence: Fence
) -> list[str]:
    """What each agent of a stage is told of the stages before, in the form its kind reads best; the summary also why it is `partial`."""
    earlier = [record for record in records if record.stage.stage_index < planned.index]
    told: list[str] = []
    for config in planned.agents:
        formatter = formatter_for(config.type, fence, read_back=read_back_of(config))
        limit = context_limit(config.provider)
        if planned.stage_type is StageType.EXEC_SUMMARY:
            remark = f"[This analysis is partial. {partial}]" if partial else ""
            concluding = concluding_executions(earlier)
            judged = concluding[0].verdict if len(concluding) == 1 else None
            told.append("\n\n".join(part for part in (remark, judged_text(judged), clip_bytes(concluded(done) or "", limit)) if part))
        elif (told_here := told_to(planned, earlier, formatter, limit)) is not None:
            told.append(told_here)
        elif planned.references is not None:
            told.append(formatter.format_stage_context(earlier[planned.references], limit=limit))
        else:
            told.append(formatter.format_previous_stages(earlier, limit=limit))
    return told
