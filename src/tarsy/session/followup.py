"""Work on a finished session: answering a question about it, and judging it. Each is one more stage, with a claim of its own."""

from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from tarsy.agent.context.formatter import format_investigation
from tarsy.agent.context_window import context_limit, side_limit
from tarsy.agent.execution import ExecutionResult
from tarsy.agent.prompt.inputs import ChatExchange, ChatPrompt
from tarsy.agent.stopping import StopReason
from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedChain
from tarsy.domain.chat import ChatUserMessage
from tarsy.domain.execution import ExecutionChange
from tarsy.domain.history import StageRecord
from tarsy.domain.score import NO_SCORE, parse_score
from tarsy.domain.stage import StageType
from tarsy.domain.status import RunStatus
from tarsy.domain.step import Step, WorkClose
from tarsy.domain.work import ChatWork, ScoreWork
from tarsy.kit.text import clip
from tarsy.session.dependencies import Dependencies, RunScope
from tarsy.session.plan import PlannedStage
from tarsy.session.stage_runner import StageJob, StageRunner, abandoned

CHAT = "chat"
SCORING = "scoring"

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Followup:
    """What makes the two different."""

    name: str
    stage_type: StageType
    agent: ResolvedAgentConfig | None
    disabled: str
    # The stage a predecessor began.
    stage_id: str | None


class FollowupExecutor:
    """Runs chat answers and scorings. The database lets one of each run at a time per session, and no lock outlives its owner."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies
        self._stages = StageRunner(dependencies)

    async def answer(self, work: ChatWork, scope: RunScope) -> None:
        chain = ResolvedChain.model_validate(work.session.chain_snapshot)
        kind = _Followup(
            name=CHAT,
            stage_type=StageType.CHAT,
            agent=chain.chat,
            disabled=f"chat is not enabled for chain '{chain.chain_id}'",
            stage_id=work.question.stage_id,
        )
        await self._run(work, chain, kind, scope)

    async def score(self, work: ScoreWork, scope: RunScope) -> None:
        chain = ResolvedChain.model_validate(work.session.chain_snapshot)
        kind = _Followup(
            name=SCORING,
            stage_type=StageType.SCORING,
            agent=chain.scoring,
            disabled=f"scoring is not configured for chain '{chain.chain_id}'",
            stage_id=work.score.stage_id,
        )
        await self._run(work, chain, kind, scope)

    async def _run(self, work: ChatWork | ScoreWork, chain: ResolvedChain, kind: _Followup, scope: RunScope) -> None:
        if kind.agent is None:
            await self._close(work, RunStatus.FAILED, kind.disabled)
            return
        with self._dependencies.cancellations.registered(work.claim.id, lambda: scope.stop(StopReason.CANCELLED)):
            async with scope.limited(chain.session_timeout):
                job = await self._job(work, chain, kind, kind.agent)
                _, results = await self._stages.run(job, scope.stopping)
                await self._finish(work, results[0])
        match scope.stopped:
            case StopReason.CANCELLED:
                await self._end_early(work, RunStatus.CANCELLED, "cancelled")
            case StopReason.TIMED_OUT:
                await self._end_early(work, RunStatus.TIMED_OUT, f"no answer within {chain.session_timeout:g} s")
            case StopReason.HANDED_OVER | StopReason.LOST | None:
                return

    async def _job(self, work: ChatWork | ScoreWork, chain: ResolvedChain, kind: _Followup, agent: ResolvedAgentConfig) -> StageJob:
        records = await self._dependencies.history.told(work.session.id)
        stored = next((record for record in records if record.stage.id == kind.stage_id), None)
        index = stored.stage.stage_index if stored else max((record.stage.stage_index for record in records), default=-1) + 1
        investigation = format_investigation(records, limit=context_limit(agent.provider))
        questions = await self._dependencies.history.questions(work.session.id)
        return StageJob(
            claim=work.claim,
            session=work.session,
            chain=chain,
            planned=PlannedStage(index=index, name=kind.name, stage_type=kind.stage_type, agents=(agent,)),
            runbook=work.session.runbook if work.session.runbook is not None else chain.default_runbook,
            previous=(investigation,),
            chat=_chat_prompt(work, investigation, questions, records, side_limit(agent.provider)) if isinstance(work, ChatWork) else None,
            stored=stored,
        )

    async def _finish(self, work: ChatWork | ScoreWork, result: ExecutionResult) -> None:
        if isinstance(work, ChatWork) or result.status is not RunStatus.COMPLETED:
            await self._close(work, result.status, result.error)
            return
        score = parse_score(result.final_analysis)
        if score is None:
            await self._close(work, RunStatus.FAILED, NO_SCORE)
            return
        await self._dependencies.journal.commit(
            Step(
                claim=work.claim,
                work_close=WorkClose(
                    status=RunStatus.COMPLETED,
                    completed_at=self._dependencies.clock.now(),
                    total_score=score.total,
                    analysis=score.analysis,
                    missing_tools=score.missing_tools,
                ),
            )
        )

    async def _close(self, work: ChatWork | ScoreWork, status: RunStatus, error: str | None) -> None:
        close = WorkClose(status=status, completed_at=self._dependencies.clock.now(), error_message=error)
        await self._dependencies.journal.commit(Step(claim=work.claim, work_close=close))
        log.info("followup.finished", kind=work.claim.kind.value, session_id=work.session.id, status=status.value)

    async def _end_early(self, work: ChatWork | ScoreWork, status: RunStatus, reason: str) -> None:
        now = self._dependencies.clock.now()
        own = {StageType.CHAT} if isinstance(work, ChatWork) else {StageType.SCORING}
        records = await self._dependencies.history.stages(work.session.id)
        change = ExecutionChange(execution_id="", at=now, error_message=reason)
        closing = [
            abandoned(record, change, status) for record in records if record.stage.stage_type in own and not record.stage.status.is_final
        ]
        await self._dependencies.journal.commit(
            Step(
                claim=work.claim,
                execution_changes=tuple(change for changes, _ in closing for change in changes),
                stage_closes=tuple(close for _, close in closing),
                work_close=WorkClose(status=status, completed_at=now, error_message=reason),
            )
        )


def _chat_prompt(
    work: ChatWork, investigation: str, questions: Sequence[ChatUserMessage], records: Sequence[StageRecord], limit: int
) -> ChatPrompt:
    """The question with what was asked and answered before it, as far back as `limit` characters go."""
    answers = {record.stage.id: record.executions[0].conclusion for record in records if record.executions}
    history = tuple(
        ChatExchange(question.content, answers.get(question.stage_id or "", ""))
        for question in questions
        if question.id != work.question.id and question.status is RunStatus.COMPLETED
    )
    recent = newest_exchanges(history, limit)
    return ChatPrompt(question=work.question.content, investigation=investigation, history=recent, left_out=len(history) - len(recent))


def newest_exchanges(history: Sequence[ChatExchange], limit: int) -> tuple[ChatExchange, ...]:
    """The newest exchanges that fit into `limit` characters together; the newest always, cut if it must be."""
    kept: list[ChatExchange] = []
    room = limit
    for exchange in reversed(history):
        size = len(exchange.question) + len(exchange.answer)
        if size > room and kept:
            break
        kept.append(exchange if size <= room else ChatExchange(clip(exchange.question, room // 2), clip(exchange.answer, room // 2)))
        room -= size
    return tuple(reversed(kept))
