"""The ledger of one run of a session: the ceilings of the session and its parts, what they have spent, and what is reserved for calls under way.

Accounts form a tree (session, stage, agent, sub-agent): what is spent under one counts for all above it. A session runs in one process,
so its accounts are kept in memory; reservations are also stored before the call is made, so that they survive the process. Budgets of
all sessions together (per day or month) are decided by the store alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

import anyio

from tarsy.agent.ports import SpendingStore
from tarsy.config.resolve.resolved import ResolvedChain
from tarsy.domain.budget import NOTHING, UNLIMITED, Account, Ceiling, Spent, SpentBy
from tarsy.domain.period_budget import PeriodBudget
from tarsy.domain.run_input import CeilingMet
from tarsy.domain.session import AlertSession
from tarsy.kit.clock import Clock

# The time kept for the conclusion: that of the longest model call so far, and at least a quarter of the ceiling or 20 s, whichever is less.
_CONCLUSION_SHARE = 0.25
_CONCLUSION_SECONDS = 20.0
# A conclusion is requested only if at least this part of that minimum is left.
_LEAST_SHARE = 0.5

# The path of an account from the root: a session's has one part, an agent's three, a sub-agent's four.
AccountPath = tuple[str, ...]
SESSION: AccountPath = ("session",)


@dataclass(slots=True)
class _OpenAccount:
    name: str
    ceiling: Ceiling
    opened: float
    spent: Spent = NOTHING
    reserved: Spent = NOTHING


@dataclass(slots=True)
class Ledger:
    store: SpendingStore
    clock: Clock
    # The budgets of all sessions together that this session counts under.
    periods: Sequence[PeriodBudget] = ()
    # Spent by the executions of the session before this run.
    before: Sequence[SpentBy] = ()
    # Whether a session that does not fit waits for the next period instead of failing.
    may_wait: bool = True
    # The ceiling of the session, or of a period, once it was met.
    ended: CeilingMet | None = None
    # The longest model call of this run that was answered.
    longest_call: float = 0.0
    _entries: dict[AccountPath, _OpenAccount] = field(default_factory=dict[AccountPath, _OpenAccount])
    _kept: dict[AccountPath, Spent] = field(default_factory=dict[AccountPath, Spent])
    _freed: anyio.Event = field(default_factory=anyio.Event)

    def open(self, path: AccountPath, name: str, ceiling: Ceiling, spent: Spent = NOTHING) -> None:
        """Open the account of a part that begins, or continues after it had `spent` so much."""
        if path not in self._entries:
            self._entries[path] = _OpenAccount(name, ceiling, self.clock.monotonic(), spent)

    def open_stage(self, stage_id: str, ceiling: Ceiling) -> None:
        """Open the account of a stage. Its agents run concurrently: what they have spent is summed up, their time is that of the slowest."""
        before = [one.spent for one in self.before if one.stage_id == stage_id]
        spent = replace(sum(before, NOTHING), seconds=max((one.seconds for one in before), default=0.0))
        self.open((*SESSION, stage_id), "stage", ceiling, spent)

    def open_execution(self, within: AccountPath, execution_id: str, ceiling: Ceiling) -> AccountPath:
        """Open the account of an agent under that of its stage or its parent agent, and return its path."""
        path = (*within, execution_id)
        self.open(path, "agent", ceiling, self._spent_before(execution_id))
        return path

    def _spent_before(self, execution_id: str) -> Spent:
        """Return what an agent and its sub-agents have spent; their time passed within its own."""
        own = sum((one.spent for one in self.before if one.execution_id == execution_id), NOTHING)
        sent = [one.execution_id for one in self.before if one.parent_execution_id == execution_id]
        return sum((replace(self._spent_before(one), seconds=0.0) for one in sent), own)

    @property
    def limits_anything(self) -> bool:
        return bool(self.periods) or any(entry.ceiling != UNLIMITED for entry in self._entries.values())

    @property
    def has_begun(self) -> bool:
        """Whether a model call was made in this session."""
        return any(entry.spent.model_calls for entry in self._entries.values())

    def accounts(self, path: AccountPath, *, concluding: bool = False) -> list[Account]:
        """Return all accounts that a call under `path` counts in, without what is kept for the conclusion of that execution itself.

        For a call that is `concluding`, only the time without which it is not worth making is reserved.
        """
        accounts: list[Account] = []
        for above in (path[: length + 1] for length in range(len(path))):
            if (entry := self._entries.get(above)) is None:
                continue
            kept = sum((kept for other, kept in self._kept.items() if other != path and other[: len(above)] == above), NOTHING)
            elapsed = Spent(seconds=self.clock.monotonic() - entry.opened)
            least = min(_CONCLUSION_SECONDS, (entry.ceiling.seconds or 0.0) * _CONCLUSION_SHARE)
            conclusion = Spent(seconds=least * _LEAST_SHARE if concluding else max(least, self.longest_call))
            accounts.append(Account(entry.name, entry.ceiling, entry.spent + elapsed, entry.reserved + kept + conclusion))
        return accounts

    def seconds_left(self, path: AccountPath, *, concluding: bool = False) -> tuple[float, Account] | None:
        """Return how long a call may take, and under whose ceiling; None: no limit. One that is `concluding` may take all that is left."""
        left = [
            (account.ceiling.seconds - (account.spent if concluding else account.used).seconds, account)
            for account in self.accounts(path)
            if account.ceiling.seconds is not None
        ]
        return min(left, key=lambda one: one[0], default=None)

    def called(self, path: AccountPath) -> bool:
        """Whether a model call was made under an account."""
        return path in self._entries and self._entries[path].spent.model_calls > 0

    def kept(self, path: AccountPath) -> Spent:
        return self._kept.get(path, NOTHING)

    def keep(self, path: AccountPath, kept: Spent) -> None:
        """Keep what the conclusion of an execution will need, instead of what was kept before."""
        self._kept[path] = kept

    def reserve(self, path: AccountPath, wanted: Spent) -> None:
        for entry in self._above(path):
            entry.reserved += wanted

    def settle(self, path: AccountPath, wanted: Spent, used: Spent) -> None:
        """Replace what was reserved for a call by what it used."""
        for entry in self._above(path):
            entry.reserved -= wanted
            entry.spent += used
        self._freed.set()
        self._freed = anyio.Event()

    def close(self, path: AccountPath) -> None:
        """Release what was kept for the conclusion of an execution that has ended."""
        if self._kept.pop(path, None):
            self._freed.set()
            self._freed = anyio.Event()

    async def until_freed(self) -> None:
        """Wait until a call under way has ended."""
        await self._freed.wait()

    def is_waiting_worth_it(self, path: AccountPath) -> bool:
        """Whether other calls are under way under the same ceilings: they seldom use all that is reserved for them."""
        return any(entry.reserved != NOTHING for entry in self._above(path))

    def _above(self, path: AccountPath) -> list[_OpenAccount]:
        return [self._entries[of] for length in range(len(path)) if (of := path[: length + 1]) in self._entries]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledgers:
    """Opens the ledger of each run; `periods` are the budgets of all sessions together.

    An investigation has the ceiling of its chain as a whole; each question about it and each score has one of its own.
    """

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
        is_limited = any(part.budget != UNLIMITED for part in (chain, *chain.stages, *chain.agents))
        before = await self.store.spent(session.id) if periods or is_limited else ()
        return Ledger(self.store, self.clock, periods, before)


def _spent(spent: Sequence[SpentBy], chain: ResolvedChain, seconds_left: float | None) -> Spent:
    taken = 0.0 if seconds_left is None else max(chain.session_timeout - seconds_left, 0.0)
    return replace(sum((one.spent for one in spent), NOTHING), seconds=taken)


# The other half is the parent's: for more sub-agents, to read, and to conclude.
_SHARE = 2


def share_of(accounts: Sequence[Account], at_once: int) -> Ceiling:
    """Return the ceiling of a sub-agent: half of what is left under all of `accounts`, divided among as many as may run at once; time is not divided."""
    left = reduce(lambda least, account: least.lowered(account.remaining), accounts, UNLIMITED)
    parts = _SHARE * at_once
    return Ceiling(
        usd=None if left.usd is None else left.usd / parts,
        tokens=None if left.tokens is None else left.tokens // parts,
        seconds=None if left.seconds is None else left.seconds / _SHARE,
        model_calls=None if left.model_calls is None else left.model_calls // parts,
        tool_calls=None if left.tool_calls is None else left.tool_calls // parts,
    )
