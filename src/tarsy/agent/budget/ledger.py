"""The ledger of one run of a session: what it and its parts may use, have used, and have reserved for calls under way.

Accounts form a tree (session, stage, agent, an agent that it sends): what is used under one counts for all above it. A session runs in one
process, so its accounts are kept here; what must survive that process is in the book, before the call is made. What all sessions
together may use in a period is decided in the book alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import reduce

import anyio

from tarsy.agent.ports import SpendingBook
from tarsy.domain.budget import NOTHING, UNLIMITED, Account, Ceiling, Reservation, Spent, SpentBy
from tarsy.domain.period_budget import PeriodBudget, PeriodState
from tarsy.domain.run_input import CeilingMet
from tarsy.kit.clock import Clock

# Of a time ceiling, what is left to the conclusion: a tenth, and never more than a model needs to write it.
_CONCLUSION_SHARE = 0.1
_CONCLUSION_SECONDS = 30.0

# The way to an account from the top: a session's has one part, an agent's three, that of an agent it sends four.
AccountPath = tuple[str, ...]
SESSION: AccountPath = ("session",)


@dataclass(slots=True)
class _Entry:
    name: str
    ceiling: Ceiling
    opened: float
    spent: Spent = NOTHING
    reserved: Spent = NOTHING


@dataclass(slots=True)
class Ledger:
    book: SpendingBook
    clock: Clock
    # Those that count this session.
    periods: Sequence[PeriodBudget] = ()
    # What its executions had used before this run of it.
    before: Sequence[SpentBy] = ()
    # Whether it waits for the next period rather than not begin at all.
    may_wait: bool = True
    # The ceiling of the whole session, or of a period, once it was met.
    ended: CeilingMet | None = None
    _entries: dict[AccountPath, _Entry] = field(default_factory=dict[AccountPath, _Entry])
    _kept: dict[AccountPath, Spent] = field(default_factory=dict[AccountPath, Spent])
    _freed: anyio.Event = field(default_factory=anyio.Event)

    def open(self, path: AccountPath, name: str, ceiling: Ceiling, spent: Spent = NOTHING) -> None:
        """Open the account of a part that begins, or is continued after it had `spent` so much."""
        if path not in self._entries:
            self._entries[path] = _Entry(name, ceiling, self.clock.monotonic(), spent)

    def open_stage(self, stage_id: str, ceiling: Ceiling) -> None:
        """The account of a stage, whose agents work at the same time: what they have used is summed up, the time is that of the slowest."""
        before = [one.spent for one in self.before if one.stage_id == stage_id]
        spent = replace(sum(before, NOTHING), seconds=max((one.seconds for one in before), default=0.0))
        self.open((*SESSION, stage_id), "stage", ceiling, spent)

    def open_execution(self, within: AccountPath, execution_id: str, ceiling: Ceiling) -> AccountPath:
        """The account of an agent, under that of its stage or of the agent that sends it."""
        path = (*within, execution_id)
        self.open(path, "agent", ceiling, self._spent_before(execution_id))
        return path

    def _spent_before(self, execution_id: str) -> Spent:
        """By an agent and by those it had sent, whose time was its own."""
        own = sum((one.spent for one in self.before if one.execution_id == execution_id), NOTHING)
        sent = [one.execution_id for one in self.before if one.parent_execution_id == execution_id]
        return sum((replace(self._spent_before(one), seconds=0.0) for one in sent), own)

    @property
    def limits_anything(self) -> bool:
        return bool(self.periods) or any(entry.ceiling != UNLIMITED for entry in self._entries.values())

    @property
    def has_begun(self) -> bool:
        """Whether any model call was made in this session."""
        return any(entry.spent.model_calls for entry in self._entries.values())

    def accounts(self, path: AccountPath) -> list[Account]:
        """All accounts that a call under `path` is counted in, without what is kept for the conclusion of the execution itself."""
        return [self._account(path[: length + 1], path) for length in range(len(path)) if path[: length + 1] in self._entries]

    def _account(self, of: AccountPath, asking: AccountPath) -> Account:
        entry = self._entries[of]
        kept = sum((kept for path, kept in self._kept.items() if path != asking and path[: len(of)] == of), NOTHING)
        elapsed = Spent(seconds=self.clock.monotonic() - entry.opened)
        return Account(entry.name, entry.ceiling, entry.spent + elapsed, entry.reserved + kept + _time_to_conclude(entry.ceiling))

    def seconds_left(self, path: AccountPath) -> float | None:
        """The time a call may take; None: as long as it will."""
        left = [left for account in self.accounts(path) if (left := account.remaining.seconds) is not None]
        return min(left) if left else None

    def called(self, path: AccountPath) -> bool:
        """Whether any model call was made under an account."""
        return path in self._entries and self._entries[path].spent.model_calls > 0

    def kept(self, path: AccountPath) -> Spent:
        return self._kept.get(path, NOTHING)

    def keep(self, path: AccountPath, kept: Spent) -> None:
        """Set aside what the conclusion of an execution will need, in the place of what was set aside before."""
        self._kept[path] = kept

    def reserve(self, path: AccountPath, wanted: Spent) -> None:
        for entry in self._above(path):
            entry.reserved += wanted

    def settle(self, path: AccountPath, wanted: Spent, used: Spent) -> None:
        """A call has ended: what was reserved for it is free again, and what it used is spent."""
        for entry in self._above(path):
            entry.reserved -= wanted
            entry.spent += used
        self._freed.set()
        self._freed = anyio.Event()

    def close(self, path: AccountPath) -> None:
        """An execution has ended: it will not conclude any more."""
        if self._kept.pop(path, None):
            self._freed.set()
            self._freed = anyio.Event()

    async def until_freed(self) -> None:
        """Until a call that is under way has ended."""
        await self._freed.wait()

    def is_waiting_worth_it(self, path: AccountPath) -> bool:
        """Whether calls of others are under way under the same ceilings: what is reserved for them is seldom all used."""
        return any(entry.reserved != NOTHING for entry in self._above(path))

    def _above(self, path: AccountPath) -> list[_Entry]:
        return [self._entries[of] for length in range(len(path)) if (of := path[: length + 1]) in self._entries]


def _time_to_conclude(ceiling: Ceiling) -> Spent:
    return Spent(seconds=min(_CONCLUSION_SECONDS, ceiling.seconds * _CONCLUSION_SHARE)) if ceiling.seconds is not None else NOTHING


# The other half is the sender's: to send again, to read, and to conclude.
_SENT = 2


def share_of(accounts: Sequence[Account], at_once: int) -> Ceiling:
    """Half of what is left under all of `accounts`, divided among as many as may be out at once. Their time passes at the same time, and is not divided."""
    left = reduce(lambda least, account: least.lowered(account.remaining), accounts, UNLIMITED)
    parts = _SENT * at_once
    return Ceiling(
        usd=None if left.usd is None else left.usd / parts,
        tokens=None if left.tokens is None else left.tokens // parts,
        seconds=None if left.seconds is None else left.seconds / _SENT,
        model_calls=None if left.model_calls is None else left.model_calls // parts,
        tool_calls=None if left.tool_calls is None else left.tool_calls // parts,
    )


class MemoryBook:
    """Keeps what is reserved; nothing was used before."""

    def __init__(self) -> None:
        self.reserved: list[Reservation] = []

    async def spent(self, session_id: str) -> Sequence[SpentBy]:
        del session_id
        return ()

    async def is_critical(self, session_id: str) -> bool:
        del session_id
        return False

    async def reserve(self, reservation: Reservation, periods: Sequence[PeriodBudget]) -> PeriodState | None:
        needed = sum((one.wanted.usd for one in self.reserved), Decimal(0)) + reservation.wanted.usd + reservation.kept.usd
        for budget in periods:
            if needed > budget.usd:
                return PeriodState(budget=budget, spent=needed - reservation.wanted.usd - reservation.kept.usd)
        self.reserved.append(reservation)
        return None
