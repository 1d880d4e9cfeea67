"""The ceilings of one execution: every model call and every tool call is admitted here, and what it used is charged here.

A call that does not fit becomes an input of the run. A run that is continued or replayed stops at the same call, without a new estimate.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from types import TracebackType
from typing import Any, Self, assert_never
from uuid import uuid4

import anyio

from tarsy.agent.budget.ledger import AccountPath, Ledger
from tarsy.agent.budget.token_estimate import TokenEstimate
from tarsy.agent.ports import Prices
from tarsy.domain.budget import (
    CONCLUSION_INPUT,
    CONCLUSION_TOKENS,
    NOTHING,
    SHORTEST_ANSWER,
    Account,
    Exhausted,
    Fits,
    Limit,
    Reservation,
    Spent,
    affordable_input,
    check_model_call,
    check_single_model_call,
    check_tool_call,
    format_amount,
    longest_input,
    spent_by_call,
)
from tarsy.domain.conversation import ToolCall
from tarsy.domain.execution import ExecutionPlace
from tarsy.domain.history import CEILING
from tarsy.domain.interaction import SIDE_CALL_KINDS, LLMInteractionKind
from tarsy.domain.llm import ErrorChunk, ErrorCode, GenerateInput
from tarsy.domain.period_budget import BudgetWait, PeriodState
from tarsy.domain.run_input import AnyInput, CeilingMet, PlacedInput
from tarsy.domain.step import StoredRun
from tarsy.domain.usage import Price, TokenUsage

# The longest answer that is requested: a long analysis with its thinking. A longer one is cut, and continued like any cut answer.
LONGEST_ANSWER = 16_000
# A call that other processes' reservations leave no room for is tried again this often: they may use less than they reserved.
_ATTEMPTS = 20
_PAUSE_SECONDS = 0.5
# Enough for a thought and some tool calls: rather than with less, a call waits for reservations that will not be used up.
_USEFUL_ANSWER = 2_000
# So much of a result is shown in any case: the conclusion, which is cut to fit, needs something to rest on.
_LEAST_RESULT = 250
# Vendors do not charge for a call that they reject before its first chunk with one of these.
_FREE_ERRORS = frozenset(
    {
        ErrorCode.RATE_LIMITED,
        ErrorCode.PROVIDER_UNAVAILABLE,
        ErrorCode.CREDENTIALS,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.CONTEXT_TOO_LONG,
    }
)
# Accounts of parts of a session: meeting their ceilings does not end the session.
_PARTS = frozenset({"stage", "agent"})
_SUMMARY = "summary "
_RESULT = "result "
_ROOM = "room"
_CORRECTION = "correction"
_CONCLUSION = "conclusion"
_SUPPORT = "support"
_ABOUT_NO_TOOL_CALL = frozenset({_CORRECTION, _CONCLUSION, _ROOM, _SUPPORT})
# No conclusion follows these: they may use the time that is kept for it.
_CONCLUDING = frozenset(
    {LLMInteractionKind.FORCED_CONCLUSION, LLMInteractionKind.CORRECTION, LLMInteractionKind.SINGLE_SHOT, LLMInteractionKind.SUPPORT}
)


class CeilingMetError(Exception):
    """A call was not made because it did not fit under a ceiling.

    With `waits`, it may fit after that many seconds, or earlier if `budget` gets room: then nothing was decided for good.
    """

    def __init__(self, met: CeilingMet, waits: float | None = None, budget: BudgetWait | None = None) -> None:
        super().__init__(met.description)
        self.met = met
        self.waits = waits
        self.budget = budget


class AdmittedCall:
    """A model call that was admitted: its request, with an answer as long as the budget allows, and the reservation behind it.

    A context manager for the duration of the call. Without `charge`, the whole reservation counts as spent.
    """

    def __init__(
        self,
        ceilings: "Ceilings",
        request: GenerateInput,
        kind: LLMInteractionKind,
        reservation: Reservation | None = None,
        price: Price | None = None,
    ) -> None:
        self.request = request
        self._ceilings = ceilings
        self._reservation = reservation
        self._price = price
        self._used = reservation.wanted if reservation else NOTHING
        self._kind = kind
        self._began = ceilings.seconds
        # The account whose time ends before that of the call.
        self._short: Account | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        if self._reservation:
            self._ceilings.settle(self._reservation.wanted, self._used)

    async def mark_sent(self) -> None:
        """Record that the request is sent now.

        Raises:
            ClaimLostError: the work belongs to another worker now.
        """
        if self._reservation:
            await self._ceilings.mark_sent(self._reservation)

    def time_limit(self, seconds: float) -> float:
        """Return how long the call may take: `seconds`, or less if the ceilings leave less."""
        left = self._ceilings.time_left(concluding=self._kind in _CONCLUDING) if self._reservation else None
        if left is None or left[0] >= seconds:
            return seconds
        self._short = left[1]
        return max(left[0], 0.0)

    def timed_out(self, seconds: float) -> ErrorChunk:
        """Return the error of a call that was cut off after its time limit. A ceiling that cut it refuses the next call of its kind."""
        if self._short is None:
            return ErrorChunk(f"the model did not finish within {seconds:g} s", ErrorCode.TIMEOUT, retryable=True)
        met = self._ceilings.refuse_next(self._kind, self._short)
        return ErrorChunk(f"the answer was cut off after {seconds:.1f} s by {met.description}", ErrorCode.CEILING)

    def charge(self, usage: TokenUsage, error: ErrorCode | None, *, answered: bool, is_cut: bool = False) -> str | None:
        """Charge what the call used, by an estimate if it `is_cut`; return the id of the reservation that the stored call settles.

        None if nothing was reserved, or if the call reported no usage and may still be charged by the vendor.
        """
        if self._reservation is None:
            return None
        if error is None and not is_cut:
            self._ceilings.estimate.learn(self.request, usage)
            self._ceilings.note_duration(self._ceilings.seconds - self._began)
        if usage.input_tokens or usage.output_tokens:
            self._used = spent_by_call(usage, self._price)
        elif error in _FREE_ERRORS and not answered:
            self._used = Spent(model_calls=1)
        else:
            return None
        return self._reservation.id


class Ceilings:
    """The ceilings that the calls of one execution count under: reserves before a call, settles after it, and records which ceiling was met.

    With `is_live` false (the model is a recording), only recorded ceilings are met: a replay does not depend on what it would have cost.
    """

    def __init__(
        self,
        ledger: Ledger,
        place: ExecutionPlace,
        path: AccountPath,
        prices: Prices,
        *,
        recorded: Sequence[AnyInput] = (),
        is_live: bool = True,
    ) -> None:
        self._ledger = ledger
        self._place = place
        self._path = path
        self._prices = prices
        self._is_live = is_live
        self.estimate = TokenEstimate()
        # Ceilings that the recorded or continued run met, by turn and call.
        self._known = _met_before(recorded, place.track)
        self._unstored: list[AnyInput] = []
        self._shown: set[tuple[int, str]] = set()
        # The ids of tool calls that an interrupted run announced: they are counted among what it has spent.
        self.announced: frozenset[str] = frozenset()
        self._turn = 0
        # Of the newest call of the conversation: the price of its model, and the tokens of the messages that cannot be shortened.
        self._price: Price | None = None
        self._opening = 0
        # The ceiling that ends the execution.
        self.met: CeilingMet | None = None
        self._turn_of_end = -1
        # The kinds of model calls that are refused from now on, with the ceiling that was met. A tool call that meets one refuses iterations.
        self._refused: dict[LLMInteractionKind, CeilingMet] = {}

    def begin(self, stored: StoredRun, turn: int) -> None:
        """Restore the ceilings that an execution met before it was interrupted; its next model call has the number `turn`."""
        own = _met_before(stored.inputs, self._place.track)
        self._known |= own
        self._shown |= own.keys()
        self._turn = max(turn - 1, 0)
        for (met_at, about), met in own.items():
            if not about:
                self._end(met, met_at)
            elif about not in _ABOUT_NO_TOOL_CALL and not about.startswith((_SUMMARY, _RESULT)):
                self._refused[LLMInteractionKind.ITERATION] = met

    @contextmanager
    def releasing_kept(self) -> Generator[None]:
        """Release what is kept for the conclusion of the execution when it ends."""
        try:
            yield
        finally:
            self._ledger.close(self._path)

    def take_unstored(self) -> tuple[AnyInput, ...]:
        """Return the ceilings met since the last step, to be stored with the next."""
        taken, self._unstored = tuple(self._unstored), []
        return taken

    @property
    def is_unshown(self) -> bool:
        """Whether the ceiling that ends the execution is still to be shown on the timeline."""
        return self.met is not None and (self._turn_of_end, "") not in self._shown

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata of the timeline event of a conclusion: the ceiling that led to it."""
        return {CEILING: self.met.description} if self.met else {}

    @property
    def has_begun(self) -> bool:
        """Whether the execution has made a call, or may have: then something is kept for its conclusion."""
        return self._turn > 0 or self._ledger.called(self._path)

    @property
    def seconds(self) -> float:
        """The reading of the clock by which time ceilings are counted."""
        return self._ledger.clock.monotonic()

    @property
    def seconds_left(self) -> float | None:
        """The time until the execution has to conclude; None: no limit."""
        left = self.time_left()
        return max(left[0], 0.0) if left else None

    def time_left(self, *, concluding: bool = False) -> tuple[float, Account] | None:
        return self._ledger.seconds_left(self._path, concluding=concluding) if self._is_active else None

    def note_duration(self, seconds: float) -> None:
        """Take note of how long an answered call took: as much is kept for the conclusion."""
        self._ledger.longest_call = max(self._ledger.longest_call, seconds)

    def refuse_next(self, kind: LLMInteractionKind, account: Account) -> CeilingMet:
        """Refuse the next call of this kind, because the time of `account` is up."""
        self._refused[kind] = met = CeilingMet(
            "", account.name, Limit.SECONDS, account.ceiling.describe(Limit.SECONDS), "it cut off a call"
        )
        return met

    @property
    def _is_active(self) -> bool:
        return self._is_live and self._ledger.limits_anything

    async def admit(self, request: GenerateInput, kind: LLMInteractionKind) -> AdmittedCall:
        """Reserve what a model call may use.

        Where only reservations of calls under way leave no room in a period's budget, a shorter answer is requested, or the call waits a little.

        Raises:
            CeilingMetError: the call does not fit.
        """
        if kind not in SIDE_CALL_KINDS:
            self._turn, self._opening = request.turn, self.estimate.opening(request)
        about = _about(request, kind)
        if met := self._known.get((self._turn, about)):
            raise CeilingMetError(met)
        if not self._is_active:
            return AdmittedCall(self, request, kind)
        if met := self._refused.get(kind):
            raise CeilingMetError(replace(met, about=about))
        price = await self._prices.price(request.provider, self._ledger.clock.now(), self.estimate.tokens(request))
        self._price = self._price if kind in SIDE_CALL_KINDS else price
        refused: PeriodState | None = None
        for _ in range(_ATTEMPTS):
            fits = await self._fitting(request, kind, price, about, refused)
            place = self._place
            reservation = Reservation(
                id=str(uuid4()),
                claim=place.claim,
                stage_id=place.stage_id,
                execution_id=place.execution_id,
                wanted=fits.wanted,
                kept=fits.kept,
            )
            refused = await self._reserve(reservation, kind)
            if refused is None:
                # A limit that no ceiling needs is not sent.
                limit = fits.output_tokens if self._limits_output(price) else None
                return AdmittedCall(self, replace(request, max_output_tokens=limit), kind, reservation, price)
            shorter = self._decide(request, kind, price, refused.account(refused.used))
            if isinstance(shorter, Fits) and (shorter.output_tokens >= _USEFUL_ANSWER or self._ledger.has_begun):
                continue
            if isinstance(self._decide(request, kind, price, refused.account(refused.spent)), Exhausted) or not refused.reserved:
                break
            await anyio.sleep(_PAUSE_SECONDS)
        if refused is None:
            raise AssertionError("at least one attempt is made")
        raise self._period_met(refused, about, request, kind, price)

    def _limits_output(self, price: Price | None) -> bool:
        """Whether the length of an answer counts under any ceiling."""
        ceilings = [account.ceiling for account in self._ledger.accounts(self._path)]
        costs = price is not None and price.output > 0
        return any(one.tokens is not None for one in ceilings) or (
            costs and (bool(self._ledger.periods) or any(one.usd is not None for one in ceilings))
        )

    async def _fitting(
        self, request: GenerateInput, kind: LLMInteractionKind, price: Price | None, about: str, period: PeriodState | None
    ) -> Fits:
        while True:
            shorter = self._decide(request, kind, price, period.account(period.used)) if period else None
            decision = shorter if isinstance(shorter, Fits) else self._decide(request, kind, price)
            if isinstance(decision, Fits):
                return decision
            passing = decision.limit in {Limit.USD, Limit.TOKENS} and self._ledger.is_waiting_worth_it(self._path)
            if not passing:
                raise CeilingMetError(self._exhausted(decision, about, price))
            await self._ledger.until_freed()

    def _decide(
        self, request: GenerateInput, kind: LLMInteractionKind, price: Price | None, *periods: Account, longest: int = LONGEST_ANSWER
    ) -> Fits | Exhausted:
        tokens = self.estimate.tokens(request)
        accounts = [*self._ledger.accounts(self._path, concluding=kind in _CONCLUDING), *periods]
        match kind:
            case LLMInteractionKind.ITERATION:
                return check_model_call(accounts, tokens, longest, price, self.estimate.opening(request))
            case LLMInteractionKind.SUMMARIZATION:
                return check_single_model_call(accounts, tokens, longest, price, self._ledger.kept(self._path))
            case LLMInteractionKind.CORRECTION | LLMInteractionKind.SINGLE_SHOT | LLMInteractionKind.SUPPORT:
                return check_single_model_call(accounts, tokens, longest, price)
            case LLMInteractionKind.FORCED_CONCLUSION:
                # Under the budget of a period it has what was kept for it, and no more.
                is_of_period = self.met is not None and self.met.account not in {*_PARTS, "session"}
                return check_single_model_call(accounts, tokens, CONCLUSION_TOKENS if is_of_period else longest, price)
            case _:
                assert_never(kind)

    def _exhausted(self, decision: Exhausted, about: str, price: Price | None) -> CeilingMet:
        room = self.estimate.plain(max(affordable_input(self._ledger.accounts(self._path), price), 1))
        return CeilingMet(about, decision.account, decision.limit, decision.description, _used(decision.limit, decision.used), room)

    async def _reserve(self, reservation: Reservation, kind: LLMInteractionKind) -> PeriodState | None:
        """Reserve in the ledger first, so that no other call takes it meanwhile, then in the store; return the period that rejects it."""
        path, ledger = self._path, self._ledger
        before = ledger.kept(path)
        ledger.keep(path, reservation.kept)
        ledger.reserve(path, reservation.wanted)
        # A conclusion has what was kept for it, in the period too.
        periods = () if kind is LLMInteractionKind.FORCED_CONCLUSION and self.has_begun else ledger.periods
        refused: PeriodState | None = None
        stored = False
        try:
            refused = await ledger.store.reserve(reservation, periods)
            stored = refused is None
        finally:
            if not stored:
                ledger.keep(path, before)
                ledger.settle(path, reservation.wanted, NOTHING)
        return refused

    def _period_met(
        self, state: PeriodState, about: str, request: GenerateInput, kind: LLMInteractionKind, price: Price | None
    ) -> CeilingMetError:
        now, per = self._ledger.clock.now(), state.budget.per
        room = self.estimate.plain(max(CONCLUSION_INPUT, self._opening))
        met = CeilingMet(about, per, Limit.USD, state.budget.description, state.detail(), room)
        if self._ledger.has_begun or not self._ledger.may_wait:
            return CeilingMetError(met)
        over = max((per.end(now.date()) - now) / timedelta(seconds=1), 1.0)
        # The cheapest call that is worth making, with the conclusion after it.
        least = self._decide(request, kind, price, longest=_USEFUL_ANSWER)
        needs = least.wanted.usd + least.kept.usd if isinstance(least, Fits) else Decimal(0)
        return CeilingMetError(met, waits=over, budget=BudgetWait(state.budget.key, needs))

    async def mark_sent(self, reservation: Reservation) -> None:
        await self._ledger.store.mark_sent(reservation)

    def settle(self, reserved: Spent, used: Spent) -> None:
        """Replace what was reserved for a call by what it used."""
        self._ledger.settle(self._path, reserved, used)

    def refusal(self, call: ToolCall) -> CeilingMet | None:
        """Return why a tool call may not be made, or None after counting it. It needs no reservation: that it was announced is stored."""
        if met := self._known.get((self._turn, call.id)):
            self._refused[LLMInteractionKind.ITERATION] = met
            return self.record(met)
        if not self._is_live or call.id in self.announced:
            return None
        decision = check_tool_call(self._ledger.accounts(self._path), self._ledger.kept(self._path))
        if isinstance(decision, Fits):
            self._ledger.settle(self._path, NOTHING, decision.wanted)
            return None
        self._refused[LLMInteractionKind.ITERATION] = met = self._exhausted(decision, call.id, None)
        return self.record(met)

    def uncount_tool_call(self) -> None:
        """Take back the count of a tool call that was refused, or that waits."""
        if self._is_live:
            self._ledger.settle(self._path, NOTHING, Spent(tool_calls=-1))

    def result_room(self, call_id: str, tokens: int, conversation_tokens: Callable[[], int]) -> int | None:
        """Return how many of the tokens of a result may enter a conversation of that length so that the next call can be paid; None: all."""
        about = f"{_RESULT}{call_id}"
        if known := self._known.get((self._turn, about)):
            return self.record(known).room
        if not self._is_active:
            return None
        accounts = self._ledger.accounts(self._path)
        conversation = conversation_tokens()
        after = self.estimate.of_plain(conversation + tokens)
        decision = check_model_call(accounts, after, SHORTEST_ANSWER, self._price, self._opening)
        room = max(self.estimate.plain(longest_input(accounts, self._price, self._opening)) - conversation, _LEAST_RESULT)
        if isinstance(decision, Fits) or decision.limit not in {Limit.USD, Limit.TOKENS} or room >= tokens:
            return None
        return self.record(CeilingMet(about, decision.account, decision.limit, decision.description, "a result was shortened", room)).room

    def conclusion_room(self, turn: int, conversation: int) -> int | None:
        """Return to how many tokens a conversation of that length must be shortened so that its conclusion can be paid; None: it need not be."""
        self._turn = turn
        if known := self._known.get((turn, _ROOM)):
            return self.record(known).room
        if not self._is_active:
            return None
        accounts = self._ledger.accounts(self._path, concluding=True)
        decision = check_single_model_call(accounts, self.estimate.of_plain(conversation), CONCLUSION_TOKENS, self._price)
        if isinstance(decision, Fits) or decision.limit not in {Limit.USD, Limit.TOKENS}:
            return None
        return self.record(self._exhausted(decision, _ROOM, self._price)).room

    def record(self, met: CeilingMet) -> CeilingMet:
        """Make a ceiling that was met an input of the run."""
        self._unstored.append(PlacedInput(self._place.track, self._turn, met))
        if not met.about or (met.about == _CONCLUSION and self.met is None):
            self._end(met, self._turn)
        return met

    def _end(self, met: CeilingMet, turn: int) -> None:
        self.met, self._turn_of_end = met, turn
        if met.account not in _PARTS:
            self._ledger.ended = met


def _about(request: GenerateInput, kind: LLMInteractionKind) -> str:
    match kind:
        case LLMInteractionKind.ITERATION | LLMInteractionKind.SINGLE_SHOT:
            return ""
        case LLMInteractionKind.CORRECTION:
            return _CORRECTION
        case LLMInteractionKind.SUPPORT:
            return _SUPPORT
        case LLMInteractionKind.FORCED_CONCLUSION:
            return _CONCLUSION
        case LLMInteractionKind.SUMMARIZATION:
            return f"{_SUMMARY}{request.track.rpartition('/')[2]}"
        case _:
            assert_never(kind)


def _met_before(inputs: Sequence[AnyInput], track: str) -> dict[tuple[int, str], CeilingMet]:
    return {(one.turn, one.value.about): one.value for one in inputs if one.track == track and isinstance(one.value, CeilingMet)}


def _used(limit: Limit, used: Spent) -> str:
    match limit:
        case Limit.USD:
            return f"{format_amount(round(used.usd, 4))} is spent or reserved"
        case Limit.TOKENS:
            return f"{used.tokens:,} tokens are used or reserved"
        case Limit.SECONDS:
            return "what is left is for the conclusion"
        case Limit.MODEL_CALLS:
            return f"{used.model_calls} were made, and the conclusion is one more"
        case Limit.TOOL_CALLS:
            return f"{used.tool_calls} were made"
        case _:
            assert_never(limit)
