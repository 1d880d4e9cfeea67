"""Work on a finished session: answering a question about it, and judging it. Each is one more stage, with a claim of its own."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Generic, TypeVar

import structlog

from tarsy.agent.context_window import context_limit, side_limit
from tarsy.agent.execution import ExecutionResult
from tarsy.agent.prompt.builder import ChatExchange, ChatPrompt
from tarsy.agent.prompt.fence import Fence
from tarsy.agent.prompt.stage_context import record_formatter
from tarsy.agent.prompt.transcript import TrailView, tell_trail
from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedChain, chain_of
from tarsy.domain.evidence import question_prefix
from tarsy.domain.followup import NO_SCORE, ChatUserMessage, Judgement, parse_score
from tarsy.domain.history import StageRecord
from tarsy.domain.stage import StageClose, StageType
from tarsy.domain.status import RunStatus
from tarsy.domain.step import Step, WorkClose
from tarsy.domain.work import ChatWork, Claimed, Park, RunEnd, ScoreWork, WorkRules
from tarsy.kit.text import clip
from tarsy.session.dependencies import CHAT_ANSWERS, SCORINGS, Dependencies, RunScope, followup_ledger
from tarsy.session.plan import PlannedStage
from tarsy.session.stage_runner import StageJob, StageRunner, abandoned, read_back_of

log = structlog.get_logger(__name__)

# Characters told of each result that an earlier question led to: enough to know what it is, and to read it again.
_FOUND_BEFORE = 400

FollowUp = TypeVar("FollowUp", ChatWork, ScoreWork)


class _FollowUps(ABC, Generic[FollowUp]):
    """What both have in common. The database lets one of each run at a time per session, and no lock outlives its owner."""

    rules: ClassVar[WorkRules]
    stage_name: ClassVar[str]
    stage_type: ClassVar[StageType]

    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies
        self._stages = StageRunner(dependencies)

    async def run(self, claimed: Claimed[FollowUp], scope: RunScope) -> RunEnd | Park:
        chain = chain_of(claimed.subject.session.chain_snapshot)
        agent = self._agent(chain)
        if agent is None:
            return await self._close(claimed, RunStatus.FAILED, f"{self.stage_name} is not enabled for chain '{chain.chain_id}'")
        ran = await self._stages.run(await self._job(claimed, chain, agent), scope.stopping)
        return ran if isinstance(ran, Park) else await self._finish(claimed, ran.results[0], ran.close)

    async def end_early(self, claimed: Claimed[FollowUp], status: RunStatus) -> RunEnd:
        timeout = chain_of(claimed.subject.session.chain_snapshot).session_timeout
        reason = f"no answer within {timeout:g} s" if status is RunStatus.TIMED_OUT else "cancelled"
        now = self._dependencies.clock.now()
        records = await self._dependencies.history.stages(claimed.subject.session.id)
        closing = abandoned((one for one in records if one.stage.stage_type is self.stage_type), status, reason=reason, at=now)
        close = WorkClose(status=status, completed_at=now, error_message=reason)
        step = Step(claim=claimed.claim, execution_changes=closing.executions, stage_closes=closing.stages, work_close=close)
        await self._dependencies.journal.commit(step)
        return RunEnd.WRITTEN

    @abstractmethod
    def _agent(self, chain: ResolvedChain) -> ResolvedAgentConfig | None:
        """Who does it; None when the chain was configured without."""

    @abstractmethod
    def _stage_id(self, noun: FollowUp) -> str | None:
        """The stage a predecessor began."""

    @abstractmethod
    async def _prompt(
        self, noun: FollowUp, investigation: str, records: Sequence[StageRecord], agent: ResolvedAgentConfig
    ) -> ChatPrompt | None:
        """What the agent is asked, where a person asks."""

    @abstractmethod
    async def _finish(self, claimed: Claimed[FollowUp], result: ExecutionResult, stage: StageClose) -> RunEnd:
        """Write what the agent's end amounts to, and the end of its stage."""

    async def _job(self, claimed: Claimed[FollowUp], chain: ResolvedChain, agent: ResolvedAgentConfig) -> StageJob:
        session = claimed.subject.session
        records = await self._dependencies.history.told(session.id)
        stage_id = self._stage_id(claimed.subject)
        stored = next((record for record in records if record.stage.id == stage_id), None)
        index = stored.stage.stage_index if stored else max((record.stage.stage_index for record in records), default=-1) + 1
        formatter = record_formatter(Fence(session.nonce), read_back=read_back_of(agent))
        investigation = formatter.format_investigation(records, limit=context_limit(agent.provider))
        chat = await self._prompt(claimed.subject, investigation, records, agent)
        planned = PlannedStage(
            index=index,
            name=self.stage_name,
            stage_type=self.stage_type,
            agents=(agent,),
            evidence_prefixes=(question_prefix(chat.number),) if chat else (),
        )
        return StageJob(
            claim=claimed.claim,
            session=session,
            chain=chain,
            ledger=await followup_ledger(self._dependencies, claimed, chain, session, stage_id),
            planned=planned,
            runbook=session.runbook if session.runbook is not None else chain.default_runbook,
            previous=(investigation,),
            chat=chat,
            stored=stored,
        )

    async def _close(
        self,
        claimed: Claimed[FollowUp],
        status: RunStatus,
        error: str | None,
        judgement: Judgement | None = None,
        stages: tuple[StageClose, ...] = (),
    ) -> RunEnd:
        now = self._dependencies.clock.now()
        close = WorkClose(status=status, completed_at=now, error_message=error, judgement=judgement)
        await self._dependencies.journal.commit(Step(claim=claimed.claim, stage_closes=stages, work_close=close))
        log.info("followup.finished", kind=self.rules.kind, session_id=claimed.subject.session.id, status=status.value)
        return RunEnd.WRITTEN


class ChatAnswers(_FollowUps[ChatWork]):
    """The handler of questions about a finished session."""

    rules = CHAT_ANSWERS
    stage_name = "chat"
    stage_type = StageType.CHAT

    def _agent(self, chain: ResolvedChain) -> ResolvedAgentConfig | None:
        return chain.chat

    def _stage_id(self, noun: ChatWork) -> str | None:
        return noun.question.stage_id

    async def _prompt(
        self, noun: ChatWork, investigation: str, records: Sequence[StageRecord], agent: ResolvedAgentConfig
    ) -> ChatPrompt | None:
        questions = await self._dependencies.history.questions(noun.session.id)
        number = next(place for place, question in enumerate(questions, start=1) if question.id == noun.question.id)
        view = TrailView(fence=Fence(noun.session.nonce), result_limit=_FOUND_BEFORE, read_back=read_back_of(agent))
        history = _exchanges(questions[: number - 1], records, view)
        recent = newest_exchanges(history, side_limit(agent.provider))
        return ChatPrompt(
            number=number,
            question=noun.question.content,
            investigation=investigation,
            history=recent,
            left_out=len(history) - len(recent),
        )

    async def _finish(self, claimed: Claimed[ChatWork], result: ExecutionResult, stage: StageClose) -> RunEnd:
        return await self._close(claimed, result.status, result.error, stages=(stage,))


class Scorings(_FollowUps[ScoreWork]):
    """The handler of judgements of a finished session."""

    rules = SCORINGS
    stage_name = "scoring"
    stage_type = StageType.SCORING

    def _agent(self, chain: ResolvedChain) -> ResolvedAgentConfig | None:
        return chain.scoring

    def _stage_id(self, noun: ScoreWork) -> str | None:
        return noun.score.stage_id

    async def _prompt(
        self, noun: ScoreWork, investigation: str, records: Sequence[StageRecord], agent: ResolvedAgentConfig
    ) -> ChatPrompt | None:
        del noun, investigation, records, agent  # the judge reads the investigation, and is asked nothing
        return None

    async def _finish(self, claimed: Claimed[ScoreWork], result: ExecutionResult, stage: StageClose) -> RunEnd:
        if result.status is not RunStatus.COMPLETED:
            return await self._close(claimed, result.status, result.error, stages=(stage,))
        judgement = parse_score(result.final_analysis)
        if judgement is None:
            return await self._close(claimed, RunStatus.FAILED, NO_SCORE, stages=(stage,))
        return await self._close(claimed, RunStatus.COMPLETED, None, judgement, (stage,))


def _exchanges(questions: Sequence[ChatUserMessage], records: Sequence[StageRecord], view: TrailView) -> list[ChatExchange]:
    """The questions that were answered, with what was found to answer them."""
    answers = {record.stage.id: record.executions[0] for record in records if record.executions}
    return [
        ChatExchange(question.content, answer.conclusion, number, tell_trail(answer.events, view))
        for number, question in enumerate(questions, start=1)
        if question.status is RunStatus.COMPLETED and (answer := answers.get(question.stage_id or ""))
    ]


def newest_exchanges(history: Sequence[ChatExchange], limit: int) -> tuple[ChatExchange, ...]:
    """The newest exchanges that fit into `limit` characters together; the newest always, cut if it must be."""
    kept: list[ChatExchange] = []
    room = limit
    for exchange in reversed(history):
        size = len(exchange.question) + len(exchange.answer) + len(exchange.found)
        if size > room and kept:
            break
        kept.append(exchange if size <= room else _shortened(exchange, room))
        room -= size
    return tuple(reversed(kept))


def _shortened(exchange: ChatExchange, room: int) -> ChatExchange:
    return ChatExchange(clip(exchange.question, room // 2), clip(exchange.answer, room // 2), exchange.number)
