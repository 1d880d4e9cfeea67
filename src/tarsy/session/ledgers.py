"""The ledger of each run: an investigation has its chain's ceiling as a whole, each question about it and its judgement one of their own."""

from collections.abc import Sequence
from typing import Any

from tarsy.agent.ceilings.ledger import SESSION, Ledger
from tarsy.config.resolve.resolved import ResolvedChain
from tarsy.domain.budget import NOTHING, UNLIMITED, Spent, SpentBy
from tarsy.domain.session import AlertSession
from tarsy.domain.work import Claimed
from tarsy.session.dependencies import Dependencies


async def session_ledger(dependencies: Dependencies, claimed: Claimed[AlertSession], chain: ResolvedChain) -> Ledger:
    """The ledger of an investigation, with what was used before in it. Time that it waited for its turn does not count."""
    ledger = await _ledger(dependencies, chain, claimed.noun)
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
