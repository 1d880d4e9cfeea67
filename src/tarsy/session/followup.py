"""Work on a finished session: answering a question about it, and scoring it. Each is one more stage, with a claim of its own."""

from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from tarsy.agent.budget.ledger import Ledgers
from tarsy.agent.context_window import context_limit, side_limit
from tarsy.agent.ports import Journal
from tarsy.agent.prompt.builder import ChatExchange, ChatPrompt
from tarsy.agent.prompt.fence import Fence
from tarsy.agent.prompt.stage_context import ContextFormatter
from tarsy.agent.prompt.transcript import transcript
from tarsy.config.resolve.resolved import ResolvedAgentConfig, chain_of
from tarsy.domain.claim import CHAT_ANSWER, SCORING
from tarsy.domain.evidence import question_prefix
from tarsy.domain.followup import NO_SCORE, Judgement, parse_score
from tarsy.domain.history import StageRecord
from tarsy.domain.stage import StageClose, StageType
from tarsy.domain.status import RunStatus
from tarsy.domain.step import Step, WorkClose
from tarsy.domain.work import ChatWork, Claimed, Lane, Park, ScoreWork, WorkRules
from tarsy.kit.clock import Clock
from tarsy.kit.text import clip
from tarsy.session.agent_runner import StageJob, read_tool_of
from tarsy.session.plan import PlannedStage
from tarsy.session.ports import History
from tarsy.session.run_scope import RunScope
from tarsy.session.stage_runner import StageRunner, close_unfinished

log = structlog.get_logger(__name__)

# Characters of each result that an earlier question led to: enough to recognise it, and to read it again.
_FOUND_BEFORE = 400

CHAT_ANSWERS = WorkRules(kind=CHAT_ANSWER, lane=Lane.FOLLOW_UPS, begins_apart_from=frozenset({SCORING}))
SCORES = WorkRules(kind=SCORING, lane=Lane.FOLLOW_UPS, begins_apart_from=frozenset({CHAT_ANSWER}))

FollowUp = ChatWork | ScoreWork


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowUps:
    """The handler of questions about a finished session, or of its scores. The database lets one of each kind run at a time per session."""

    rules: WorkRules
    stages: StageRunner
    journal: Journal
    history: History
    ledgers: Ledgers
    clock: Clock

    async def run(self, claimed: Claimed[FollowUp], scope: RunScope) -> Park | None:
        work, session = claimed.subject, claimed.subject.session
        chain = chain_of(session.chain_snapshot)
        match work:
            case ChatWork():
                agent, stage_id = chain.chat, work.question.stage_id
            case ScoreWork():
                agent, stage_id = chain.scoring, work.score.stage_id
        stage_type = _stage_type(work)
        if agent is None:
            return await self._close(claimed, RunStatus.FAILED, f"{stage_type} is not enabled for chain '{chain.chain_id}'")
        records = await self.history.timelines(session.id)
        stored = next((record for record in records if record.stage.id == stage_id), None)
        index = stored.stage.stage_index if stored else max((record.stage.stage_index for record in records), default=-1) + 1
        fence, read_tool = Fence(session.nonce), read_tool_of(agent)
        formatter = ContextFormatter(fence=fence, with_transcript=True, judges=True, read_tool=read_tool)
        investigation = formatter.format_investigation(records, limit=context_limit(agent.provider))
        chat = await self._chat_prompt(work, investigation, records, agent) if isinstance(work, ChatWork) else None
        planned = PlannedStage(
            index=index,
            name=stage_type.value,
            stage_type=stage_type,
            agents=(agent,),
            evidence_prefixes=(question_prefix(chat.number),) if chat else (),
        )
        job = StageJob(
            claim=claimed.claim,
            session=session,
            chain=chain,
            ledger=await self.ledgers.of_followup(session, chain, claimed.seconds_left, stage_id),
            planned=planned,
            runbook=session.runbook if session.runbook is not None else chain.default_runbook,
            previous=(investigation,),
            chat=chat,
            stored=stored,
        )
        ran = await self.stages.run(job, scope.stopping)
        if isinstance(ran, Park):
            return ran
        (result,) = ran.results
        if isinstance(work, ChatWork) or result.status is not RunStatus.COMPLETED:
            return await self._close(claimed, result.status, result.error, stages=(ran.close,))
        judgement = parse_score(result.final_analysis)
        if judgement is None:
            return await self._close(claimed, RunStatus.FAILED, NO_SCORE, stages=(ran.close,))
        return await self._close(claimed, RunStatus.COMPLETED, None, judgement, (ran.close,))

    async def end_early(self, claimed: Claimed[FollowUp], status: RunStatus) -> None:
        """End a question or a score that was cancelled or timed out."""
        work, now = claimed.subject, self.clock.now()
        timeout = chain_of(work.session.chain_snapshot).session_timeout
        reason = f"no answer within {timeout:g} s" if status is RunStatus.TIMED_OUT else "cancelled"
        records = await self.history.stages(work.session.id)
        own = [one for one in records if one.stage.stage_type is _stage_type(work)]
        closing = close_unfinished(own, status, reason=reason, at=now)
        close = WorkClose(status=status, completed_at=now, error_message=reason)
        step = Step(claim=claimed.claim, execution_changes=closing.executions, stage_closes=closing.stages, work_close=close)
        await self.journal.commit(step)

    async def _chat_prompt(
        self, work: ChatWork, investigation: str, records: Sequence[StageRecord], agent: ResolvedAgentConfig
    ) -> ChatPrompt:
        """Return the question, and the questions and answers before it."""
        questions = await self.history.questions(work.session.id)
        number = next(place for place, question in enumerate(questions, start=1) if question.id == work.question.id)
        fence, read_tool = Fence(work.session.nonce), read_tool_of(agent)
        answers = {record.stage.id: record.executions[0] for record in records if record.executions}
        history = [
            ChatExchange(
                question.content,
                answer.conclusion,
                place,
                transcript(answer.events, fence, result_limit=_FOUND_BEFORE, read_tool=read_tool),
            )
            for place, question in enumerate(questions[: number - 1], start=1)
            if question.status is RunStatus.COMPLETED and (answer := answers.get(question.stage_id or ""))
        ]
        recent = newest_exchanges(history, side_limit(agent.provider))
        return ChatPrompt(
            number=number,
            question=work.question.content,
            investigation=investigation,
            history=recent,
            left_out=len(history) - len(recent),
        )

    async def _close(
        self,
        claimed: Claimed[FollowUp],
        status: RunStatus,
        error: str | None,
        judgement: Judgement | None = None,
        stages: tuple[StageClose, ...] = (),
    ) -> None:
        close = WorkClose(status=status, completed_at=self.clock.now(), error_message=error, judgement=judgement)
        await self.journal.commit(Step(claim=claimed.claim, stage_closes=stages, work_close=close))
        log.info("followup.finished", kind=self.rules.kind, session_id=claimed.subject.session.id, status=status.value)


def _stage_type(work: FollowUp) -> StageType:
    return StageType.CHAT if isinstance(work, ChatWork) else StageType.SCORING


def newest_exchanges(history: Sequence[ChatExchange], limit: int) -> tuple[ChatExchange, ...]:
    """Return the newest exchanges that fit into `limit` characters together.

    The newest one is always kept: if it does not fit, its question and answer are cut, and the results that led to the answer left out.
    """
    kept: list[ChatExchange] = []
    room = limit
    for exchange in reversed(history):
        size = len(exchange.question) + len(exchange.answer) + len(exchange.found)
        if size > room and kept:
            break
        half = room // 2
        kept.append(exchange if size <= room else ChatExchange(clip(exchange.question, half), clip(exchange.answer, half), exchange.number))
        room -= size
    return tuple(reversed(kept))
