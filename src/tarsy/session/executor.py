"""SessionExecutor: runs the chain of a session from its stored state to its end."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import uuid4

import structlog

from tarsy.agent.budget.ledger import Ledgers
from tarsy.agent.budget.unpriced import limits_dollars, unpriced_models, unpriced_warning
from tarsy.agent.context_window import context_limit
from tarsy.agent.executive_summary import SummarySource, summary_source
from tarsy.agent.ports import Journal, Mask, Prices
from tarsy.agent.prompt.fence import Fence
from tarsy.agent.prompt.stage_context import formatter_for, judged_text
from tarsy.config.resolve.resolved import ResolvedChain, chain_of
from tarsy.domain.action import Action
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.conclusion import best_analysis, citation_counts, lack_content, partial_reason
from tarsy.domain.followup import SessionScore
from tarsy.domain.history import StageRecord, with_end
from tarsy.domain.session import AlertSession, SessionClose, SessionConclusion
from tarsy.domain.stage import StageClose, StageType
from tarsy.domain.status import RunStatus, SessionStatus, TimelineStatus
from tarsy.domain.step import Step
from tarsy.domain.timeline import TimelineEvent, TimelineEventType
from tarsy.domain.verdict import ceiling_sentence
from tarsy.domain.work import Claimed, Lane, Park, WorkRules
from tarsy.kit.clock import Clock
from tarsy.kit.text import clip_bytes, in_thread_if_long
from tarsy.session.agent_runner import StageJob, read_tool_of
from tarsy.session.plan import (
    FinishSession,
    PlannedStage,
    StageOutcome,
    actions_left_out,
    challenge_context,
    ended_by_ceiling,
    ended_early,
    next_step,
    plan,
    session_verdict,
    skipped_stages,
)
from tarsy.session.ports import History, ProgressReporter
from tarsy.session.run_scope import RunScope
from tarsy.session.runbook import RunbookSource
from tarsy.session.stage_runner import Closing, StageRunner, close_unfinished

log = structlog.get_logger(__name__)

INVESTIGATIONS = WorkRules(kind=INVESTIGATION, lane=Lane.INVESTIGATIONS, counts_as_session=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionExecutor:
    """The handler of investigations."""

    rules = INVESTIGATIONS

    stages: StageRunner
    journal: Journal
    history: History
    ledgers: Ledgers
    prices: Prices
    runbooks: RunbookSource
    progress: ProgressReporter
    mask: Mask
    clock: Clock

    async def run(self, claimed: Claimed[AlertSession], scope: RunScope) -> Park | None:
        """Run the session until it ends, has to wait, or is stopped; its end is stored here."""
        session = claimed.subject
        chain = chain_of(session.chain_snapshot)
        stages = plan(chain)
        records = () if claimed.is_new else await self.history.timelines(session.id)
        runbook = await self._runbook(claimed, chain)
        ledger = await self.ledgers.of_session(session, chain, claimed.seconds_left)
        done = finished_stages(stages, records)
        # The end of the last stage, stored with the next step.
        ended: tuple[StageClose, ...] = ()
        while True:
            planned = next_step(stages, done, skipped_stages(chain, stages, records, at_ceiling=bool(ledger.ended)))
            if isinstance(planned, FinishSession):
                finish = planned
                break
            self.progress.progress(session.id, stage_name=planned.name, stage_index=planned.index, stage_count=len(stages))
            if planned.stage_type is StageType.EXEC_SUMMARY and lack_content(records):
                finish = FinishSession(status=SessionStatus.COMPLETED)
                break
            remarks: tuple[TimelineEvent, ...] = ()
            if not records and (ledger.periods or limits_dollars(chain)):
                # Stored with the first stage, and so once: a ceiling in dollars may not be enforceable.
                models = await unpriced_models(chain, self.prices, self.clock.now())
                remarks = (self._warning(claimed, unpriced_warning(models)),) if models else ()
            source: SummarySource | None = None
            conclusion: SessionConclusion | None = None
            taken: Sequence[Action] = ()
            if planned.stage_type in {StageType.ACTION, StageType.EXEC_SUMMARY}:
                # People who are asked to approve an action read it.
                conclusion = _conclusion(records, partial_reason(records, with_tools=_has_tools(chain)))
                # With their approvals: they tell whether a call that has no result had begun.
                taken = await self.history.actions(session.id)
            if conclusion and planned.stage_type is StageType.EXEC_SUMMARY:
                analysis = clip_bytes(conclusion.final_analysis or "", context_limit(planned.agents[0].provider))
                source = summary_source(analysis, conclusion.verdict, conclusion.analysis_partial_reason, taken)
            referenced = _of_stage(planned.references, records)
            job = StageJob(
                claim=claimed.claim,
                session=session,
                chain=chain,
                ledger=ledger,
                planned=planned,
                runbook=runbook,
                previous=_previous(planned, records, taken, Fence(session.nonce)) if source is None else (source.text,),
                summary_source=source,
                conclusion=conclusion,
                stored=_of_stage(planned.index, records),
                referenced_stage_id=referenced.stage.id if referenced else None,
                remarks=remarks,
                ended=ended,
            )
            ran = await self.stages.run(job, scope.stopping)
            if isinstance(ran, Park):
                return ran
            ended = (ran.close,)
            records = with_end(await self.history.timelines(session.id), ran.close)
            done = finished_stages(stages, records)
            has_analysis = best_analysis(records) is not None
            if ledger.ended and (finish := ended_by_ceiling(stages, done, ledger.ended.description, has_analysis=has_analysis)):
                break
        await self._finish(claimed, chain, finish, records, Closing(stages=ended))
        return None

    async def end_early(self, claimed: Claimed[AlertSession], status: RunStatus) -> None:
        """End a session that was cancelled or timed out: close what is open."""
        chain = chain_of(claimed.subject.chain_snapshot)
        timed_out = f"the session did not end within {chain.session_timeout:g} s"
        reason = timed_out if status is RunStatus.TIMED_OUT else "cancelled"
        records = await self.history.timelines(claimed.subject.id)
        stages = plan(chain)
        closing = close_unfinished(records, status, reason=reason, at=self.clock.now())
        finish = ended_early(stages, finished_stages(stages, records), status, reason)
        await self._finish(claimed, chain, finish, records, closing)

    async def _runbook(self, claimed: Claimed[AlertSession], chain: ResolvedChain) -> str:
        """Return the alert's own runbook or the default. It is fetched once; a failure is shown on the timeline."""
        session = claimed.subject
        if session.runbook is not None:
            return session.runbook
        runbook = await self.runbooks.fetch(session.runbook_url, default=chain.default_runbook)
        text = await in_thread_if_long(self.mask, runbook.text)
        if session.runbook_url:
            opened = (self._warning(claimed, self.mask(runbook.warning)),) if runbook.warning else ()
            await self.journal.commit(Step(claim=claimed.claim, opened=opened, runbook=text))
        return text

    def _warning(self, claimed: Claimed[AlertSession], text: str) -> TimelineEvent:
        now = self.clock.now()
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
        """Store the end of the session: its analysis, its verdict, and a request to score it if the chain wants that."""
        session = claimed.subject
        if finish.ceiling:
            reason = ceiling_sentence(finish.ceiling)
        elif finish.partial:
            reason = f"The session ended before all its stages were done: {finish.error}"
        else:
            reason = partial_reason(records, with_tools=_has_tools(chain))
        found = _conclusion(records, reason)
        close = SessionClose(
            status=finish.status,
            completed_at=self.clock.now(),
            final_analysis=found.final_analysis,
            analysis_is_partial=found.analysis_is_partial,
            analysis_partial_reason=found.analysis_partial_reason,
            executive_summary=finish.executive_summary,
            executive_summary_error=finish.executive_summary_error,
            # A session that was cut short has no verdict.
            verdict=None if finish.partial else found.verdict,
            citations=found.citations,
            error_message=finish.error,
        )
        left_out: tuple[str, ...] = ()
        if close.status is SessionStatus.COMPLETED:
            left_out = actions_left_out(chain, {record.stage.stage_index for record in records}, close.verdict)
        score: SessionScore | None = None
        if chain.scoring is not None and close.status is SessionStatus.COMPLETED:
            # Scored when a worker has time; the session is finished without it.
            score = SessionScore(
                id=str(uuid4()), session_id=session.id, status=RunStatus.PENDING, requested_by="tarsy", created_at=close.completed_at
            )
        await self.journal.commit(
            Step(
                claim=claimed.claim,
                opened=tuple(self._warning(claimed, sentence) for sentence in left_out),
                execution_changes=closing.executions,
                stage_closes=closing.stages,
                session_close=close,
                score=score,
            )
        )
        log.info("session.finished", session_id=session.id, status=close.status.value)


def finished_stages(stages: Sequence[PlannedStage], records: Sequence[StageRecord]) -> list[StageOutcome]:
    """Return the outcomes of the stages that have ended."""
    done: list[StageOutcome] = []
    stored = {record.stage.stage_index: record for record in records}
    for planned in stages:
        record = stored.get(planned.index)
        if record is None and planned.is_optional:
            # It was passed over, or is still to come: the stages after it show which.
            continue
        if record is None or not record.stage.status.is_final:
            break
        concluded = (one.conclusion for one in record.executions if one.execution.status is RunStatus.COMPLETED)
        outcome = StageOutcome(planned, record.stage.status, next(concluded, ""), record.stage.error_message)
        done.append(outcome)
    return done


def _of_stage(index: int | None, records: Sequence[StageRecord]) -> StageRecord | None:
    return next((record for record in records if record.stage.stage_index == index), None)


def _has_tools(chain: ResolvedChain) -> bool:
    return any(agent.mcp_servers for stage in chain.investigating for top in stage.agents for agent in top.tree)


def _conclusion(records: Sequence[StageRecord], partial: str | None) -> SessionConclusion:
    """Return what a session has found; `partial` is why its analysis, if it has one, is partial."""
    analysis = best_analysis(records)
    return SessionConclusion(
        final_analysis=analysis,
        analysis_is_partial=analysis is not None and partial is not None,
        analysis_partial_reason=None if analysis is None else partial,
        verdict=session_verdict(records),
        citations=citation_counts(records),
    )


def _previous(planned: PlannedStage, records: Sequence[StageRecord], taken: Sequence[Action], fence: Fence) -> list[str]:
    """Return what each agent of a stage reads of the stages before, in the form for its type."""
    earlier = [record for record in records if record.stage.stage_index < planned.index]
    texts: list[str] = []
    for config in planned.agents:
        formatter = formatter_for(config.type, fence, read_tool=read_tool_of(config))
        limit = context_limit(config.provider)
        if planned.part:
            texts.append(challenge_context(planned.part, earlier, formatter, limit))
        elif planned.stage_type is StageType.ACTION:
            # With the confidence that code computed, and what earlier actions did.
            judged = session_verdict(earlier)
            verdict = fence.wrap("VERDICT", judged_text(judged)) if judged else ""
            done = "\n".join(f"- {one}" for one in taken)
            found = formatter.format_previous_stages(earlier, limit=limit)
            texts.append("\n\n".join(part for part in (found, verdict, done and fence.wrap("ACTIONS", done)) if part))
        elif referenced := _of_stage(planned.references, earlier):
            texts.append(formatter.format_stage_context(referenced, limit=limit))
        else:
            texts.append(formatter.format_previous_stages(earlier, limit=limit))
    return texts
