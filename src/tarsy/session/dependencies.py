"""Everything that runs of sessions, chats and scorings share, and the scope in which one of them lives."""

from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import anyio

from tarsy.agent.budget.ledger import SESSION, Ledger
from tarsy.agent.execution import Stopping, StopReason
from tarsy.agent.ports import ChangeLog, LiveText, LLMClient, Mask, Prices, ResultStore, RunJournal, SkillTexts, SpendingBook, ToolServers
from tarsy.config.resolve.resolved import ResolvedChain
from tarsy.domain.budget import NOTHING, UNLIMITED, Spent, SpentBy
from tarsy.domain.claim import CHAT_ANSWER, INVESTIGATION, SCORING
from tarsy.domain.followup import ChatUserMessage
from tarsy.domain.history import StageRecord
from tarsy.domain.period_budget import PeriodBudget
from tarsy.domain.run_input import AnyInput
from tarsy.domain.session import AlertSession
from tarsy.domain.work import Claimed, Lane, Park, WorkRules
from tarsy.kit.clock import Clock
from tarsy.kit.groups import single_errors
from tarsy.session.runbook import RunbookSource


class History(Protocol):
    """Reads back stages, executions and what they said."""

    async def stages(self, session_id: str) -> Sequence[StageRecord]:
        """All stages and their executions in order, without what they said."""
        ...

    async def told(self, session_id: str) -> Sequence[StageRecord]:
        """The same with each execution's timeline."""
        ...

    async def questions(self, session_id: str) -> Sequence[ChatUserMessage]:
        """Every question asked about a session, oldest first."""
        ...


class Progress(Protocol):
    """Tells the session list how far a session is; never waits."""

    def progress(self, session_id: str, *, stage_name: str, stage_index: int, stage_count: int) -> None: ...


Stop = Callable[[], None]


class Cancellations:
    """A cancel request is a hint that may reach every process; the one that runs the thing acts on it."""

    def __init__(self) -> None:
        self._stops: dict[str, Stop] = {}

    @contextmanager
    def registered(self, name: str, stop: Stop) -> Generator[None]:
        self._stops[name] = stop
        try:
            yield
        finally:
            # A run that has taken the same thing up again meanwhile stays known.
            if self._stops.get(name) is stop:
                del self._stops[name]

    def cancel(self, name: str) -> bool:
        """Stop what is known under `name`; false when it does not run here."""
        stop = self._stops.get(name)
        if stop is None:
            return False
        stop()
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    """What the agents of such a session are told the time by, and what reached them when they were recorded."""

    clock: Clock
    recorded_inputs: Sequence[AnyInput] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """The tools of the trade, given by the wiring."""

    journal: RunJournal
    history: History
    llm: LLMClient
    tools: ToolServers
    results: ResultStore
    prices: Prices
    book: SpendingBook
    changes: ChangeLog
    skills: SkillTexts
    live: LiveText
    progress: Progress
    runbooks: RunbookSource
    mask: Mask
    clock: Clock
    # What all sessions together may cost in a time.
    period_budgets: Sequence[PeriodBudget] = ()
    # What reached the runs of a recording that is replayed.
    recorded_inputs: Sequence[AnyInput] = ()
    # Sessions that do not take place here and now, by id.
    elsewhere: Mapping[str, Elsewhere] = field(default_factory=dict[str, Elsewhere])
    cancellations: Cancellations

    def place_of(self, session_id: str) -> Elsewhere:
        """When a session takes place: now, unless it is known to be elsewhere."""
        return self.elsewhere.get(session_id) or Elsewhere(clock=self.clock, recorded_inputs=self.recorded_inputs)


class RunScope:
    """A run that can be told to stop, and why."""

    def __init__(self, stopping: Stopping | None = None) -> None:
        self.stopping = stopping or Stopping()
        # What the run waits for, when it was stopped to be parked.
        self.parking: Park | None = None
        self._scope = anyio.CancelScope()

    def stop(self, reason: StopReason) -> None:
        """Stop the run; the first reason given stands."""
        if self.stopping.own is None:
            self.stopping.own = reason
        self._scope.cancel()

    def park(self, parking: Park) -> None:
        """Stop the run until what it waits for has happened."""
        if self.stopping.own is None:
            self.parking = parking
        self.stop(StopReason.PARKED)

    @property
    def stopped(self) -> StopReason | None:
        """Why the run was cut short, once it was."""
        return self.stopping.own if self._scope.cancelled_caught else None

    @asynccontextmanager
    async def limited(self, seconds: float | None) -> AsyncGenerator[None]:
        """The time and place for the run: it ends when it is done, told to, or out of time."""

        async def time_limit(seconds: float) -> None:
            await anyio.sleep(max(seconds, 0))
            self.stop(StopReason.TIMED_OUT)

        with self._scope, single_errors():
            async with anyio.create_task_group() as tasks:
                if seconds is not None:
                    tasks.start_soon(time_limit, seconds, name="time limit")
                yield
                tasks.cancel_scope.cancel()


INVESTIGATIONS = WorkRules(kind=INVESTIGATION, lane=Lane.INVESTIGATIONS, counts_as_session=True)
CHAT_ANSWERS = WorkRules(kind=CHAT_ANSWER, lane=Lane.FOLLOW_UPS, begins_apart_from=frozenset({SCORING}))
SCORINGS = WorkRules(kind=SCORING, lane=Lane.FOLLOW_UPS, begins_apart_from=frozenset({CHAT_ANSWER}))


async def session_ledger(dependencies: Dependencies, claimed: Claimed[AlertSession], chain: ResolvedChain) -> Ledger:
    """The ledger of an investigation, with what was used before in it. Time that it waited for its turn does not count."""
    ledger = await _ledger(dependencies, chain, claimed.subject)
    taken = 0.0 if claimed.seconds_left is None else max(chain.session_timeout - claimed.seconds_left, 0.0)
    ledger.open(SESSION, "session", chain.budget, _together(ledger.before, taken))
    return ledger


async def followup_ledger(
    dependencies: Dependencies, claimed: Claimed[Any], chain: ResolvedChain, session: AlertSession, stage_id: str | None
) -> Ledger:
    """The ledger of a question or a judgement, whose stage may have been begun before."""
    ledger = await _ledger(dependencies, chain, session)
    taken = 0.0 if claimed.seconds_left is None else max(chain.session_timeout - claimed.seconds_left, 0.0)
    # The person who asked is told, and may ask again.
    ledger.may_wait = False
    own = [one for one in ledger.before if one.stage_id == stage_id]
    ledger.open(SESSION, "session", chain.budget, _together(own, taken))
    return ledger


async def _ledger(dependencies: Dependencies, chain: ResolvedChain, session: AlertSession) -> Ledger:
    book = dependencies.book
    periods = [one for one in dependencies.period_budgets if one.covers(session.chain_id, session.alert_type)]
    if periods and await book.is_critical(session.id):
        periods = []
    before = await book.spent(session.id) if periods or _is_limited(chain) else ()
    return Ledger(book, dependencies.clock, periods, before)


def _is_limited(chain: ResolvedChain) -> bool:
    agents = [agent for stage in chain.stages for agent in (*stage.agents, *((stage.synthesis,) if stage.synthesis else ()))]
    others = [one for one in (chain.executive_summary, chain.chat, chain.scoring) if one]
    return any(part.budget != UNLIMITED for part in (chain, *chain.stages, *agents, *others))


def _together(spent: Sequence[SpentBy], seconds: float) -> Spent:
    used = sum((one.spent for one in spent), NOTHING)
    return Spent(usd=used.usd, tokens=used.tokens, seconds=seconds, model_calls=used.model_calls, tool_calls=used.tool_calls)
