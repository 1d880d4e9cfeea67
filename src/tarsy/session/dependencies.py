"""Everything that runs of sessions, chats and scorings share, and the scope in which one of them lives."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio

from tarsy.agent.ceilings.ledger import SpendingBook
from tarsy.agent.ports import ChangeLog, LiveText, LLMClient, Mask, Prices, ResultStore, RunJournal, SkillTexts, ToolServers
from tarsy.agent.stopping import Stopping, StopReason
from tarsy.domain.period_budget import PeriodBudget
from tarsy.domain.run_input import AnyInput
from tarsy.domain.work import Parking
from tarsy.kit.clock import Clock
from tarsy.kit.groups import single_errors
from tarsy.kit.turnstile import Turnstile
from tarsy.session.cancellation import Cancellations
from tarsy.session.elsewhere import Elsewhere
from tarsy.session.ports import History, Progress
from tarsy.session.runbook import RunbookSource


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
    # Where model calls of this process take turns when they end.
    turnstile: Turnstile = field(default_factory=Turnstile)

    def place_of(self, session_id: str) -> Elsewhere:
        """When a session takes place: now, unless it is known to be elsewhere."""
        return self.elsewhere.get(session_id) or Elsewhere(clock=self.clock, recorded_inputs=self.recorded_inputs)


class RunScope:
    """A run that can be told to stop, and why."""

    def __init__(self, stopping: Stopping | None = None) -> None:
        self.stopping = stopping or Stopping()
        # What the run waits for, when it was stopped to be parked.
        self.parking: Parking | None = None
        self._scope = anyio.CancelScope()

    def stop(self, reason: StopReason) -> None:
        """Stop the run; the first reason given stands."""
        if self.stopping.own is None:
            self.stopping.own = reason
        self._scope.cancel()

    def park(self, parking: Parking) -> None:
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
