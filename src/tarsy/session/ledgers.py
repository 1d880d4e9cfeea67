"""The ledger of each run: an investigation has the ceiling of its chain as a whole; each question about it and each score has one of its own."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tarsy.agent.budget.ledger import SESSION, Ledger
from tarsy.agent.ports import SpendingStore
from tarsy.config.resolve.resolved import ResolvedChain
from tarsy.domain.budget import NOTHING, UNLIMITED, Spent, SpentBy
from tarsy.domain.period_budget import PeriodBudget
from tarsy.domain.session import AlertSession
from tarsy.kit.clock import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledgers:
    """Opens ledgers; `periods` are the budgets of all sessions together."""

    store: SpendingStore
    clock: Clock
    periods: Sequence[PeriodBudget] = ()

    async def of_session(self, session: AlertSession, chain: ResolvedChain, seconds_left: float | None) -> Ledger:
        """Return the ledger of an investigation, with what it used before this run. Time in the queue does not count."""
        ledger = await self._ledger(chain, session)
        ledger.open(SESSION, "session", chain.budget, _spent(ledger.before, chain, seconds_left))
        return ledger

    async def of_followup(self, session: AlertSession, chain: ResolvedChain, seconds_left: float | None, stage_id: str | None) -> Ledger:
        """Return the ledger of a question or a score; `stage_id` is its stage, if an interrupted run began it."""
        ledger = await self._ledger(chain, session)
        # The person who asked sees the refusal, and may ask again.
        ledger.may_wait = False
        own = [one for one in ledger.before if one.stage_id == stage_id]
        ledger.open(SESSION, "session", chain.budget, _spent(own, chain, seconds_left))
        return ledger

    async def _ledger(self, chain: ResolvedChain, session: AlertSession) -> Ledger:
        periods = [one for one in self.periods if one.covers(session.chain_id, session.alert_type)]
        if periods and await self.store.is_critical(session.id):
            periods = []
        agents = [agent for stage in chain.stages for agent in (*stage.agents, *((stage.synthesis,) if stage.synthesis else ()))]
        others = [one for one in (chain.executive_summary, chain.chat, chain.scoring) if one]
        is_limited = any(part.budget != UNLIMITED for part in (chain, *chain.stages, *agents, *others))
        before = await self.store.spent(session.id) if periods or is_limited else ()
        return Ledger(self.store, self.clock, periods, before)


def _spent(spent: Sequence[SpentBy], chain: ResolvedChain, seconds_left: float | None) -> Spent:
    taken = 0.0 if seconds_left is None else max(chain.session_timeout - seconds_left, 0.0)
    return replace(sum((one.spent for one in spent), NOTHING), seconds=taken)
