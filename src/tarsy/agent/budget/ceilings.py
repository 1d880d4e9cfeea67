"""The ceilings of one execution. Every model call and every tool call asks here first, and says afterwards what it used.

What does not fit is an input of the run: a run that is continued or replayed stops where it stopped before, and nothing is estimated again.
"""

from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, assert_never
from uuid import uuid4

import anyio

from tarsy.agent.budget.ledger import AccountPath, Ledger
from tarsy.agent.ports import Prices
from tarsy.domain.budget import (
    CONCLUSION_TOKENS,
    NOTHING,
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
    estimate_model_call,
    format_amount,
    spent_by_call,
)
from tarsy.domain.claim import Claim
from tarsy.domain.conversation import ToolCall
from tarsy.domain.history import CEILING
from tarsy.domain.interaction import LLMInteractionKind
from tarsy.domain.llm import ErrorCode, GenerateInput
from tarsy.domain.period_budget import BudgetWait, PeriodState
from tarsy.domain.run_input import AnyInput, CeilingMet, PlacedInput
from tarsy.domain.step import StoredRun
from tarsy.domain.usage import Price

if TYPE_CHECKING:
    from tarsy.agent.model_call import CompletedCall
from itertools import takewhile
from math import ceil

from tarsy.agent.context_window import tokens_of
from tarsy.domain.conversation import Role
from tarsy.domain.tool import ToolDefinition
from tarsy.domain.usage import TokenUsage
from tarsy.kit.text import estimate_tokens

# The longest answer that is asked for: a long analysis with its thoughts. What is longer is cut, and continued like any cut answer.
LONGEST_ANSWER = 16_000
# A period's ceiling may be free again when calls of other processes have told what they used: this often it is looked at again.
_LOOKS = 20
_LOOK_SECONDS = 0.5
# Enough for a thought and some tool calls: rather than with less, a call waits for what others have reserved and will not use.
_USEFUL_ANSWER = 2_000
# A vendor that refuses a call before its first word does not charge for it.
_FREE_ERRORS = frozenset(
    {
        ErrorCode.RATE_LIMITED,
        ErrorCode.PROVIDER_UNAVAILABLE,
        ErrorCode.CREDENTIALS,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.CONTEXT_TOO_LONG,
    }
)

Make = Callable[[GenerateInput, float], Awaitable["CompletedCall"]]


class CeilingMetError(Exception):
    """A call was not made because it did not fit. With `waits`, the seconds after which it may: nothing was decided for good.

    It may before that if there is room in `budget`.
    """

    def __init__(self, met: CeilingMet, waits: float | None = None, budget: BudgetWait | None = None) -> None:
        super().__init__(met.description)
        self.met = met
        self.waits = waits
        self.budget = budget


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionPlace:
    """Whose ceilings they are."""

    claim: Claim
    stage_id: str
    execution_id: str
    track: str
    path: AccountPath


class Ceilings:
    """`is_live`: what a recording says next does not depend on what it would have cost, so ceilings of its run are only played."""

    def __init__(
        self, ledger: Ledger, place: ExecutionPlace, prices: Prices, *, recorded: Sequence[AnyInput] = (), is_live: bool = True
    ) -> None:
        self._ledger = ledger
        self._place = place
        self._prices = prices
        self._is_live = is_live
        self._estimate = Estimate()
        self._known = _met_before(recorded, place.track)
        self._noted: list[AnyInput] = []
        self._told: set[tuple[int, str]] = set()
        self._turn = 0
        # The ceiling that ends the execution.
        self.met: CeilingMet | None = None
        self._turn_of_end = -1
        self._of_tools: CeilingMet | None = None

    def begin(self, stored: StoredRun, turn: int) -> None:
        """Take up what an execution that is continued had met before its next model call, number `turn`."""
        own = _met_before(stored.inputs, self._place.track)
        self._known |= own
        self._told |= own.keys()
        self._turn = max(turn - 1, 0)
        for (met_at, about), met in own.items():
            if not about:
                self._end(met, met_at)
            elif about not in _SIDE_CALLS and not about.startswith(_SUMMARY):
                self._of_tools = met

    @contextmanager
    def until_ended(self) -> Generator[None]:
        """While the execution runs, there is something kept for its conclusion."""
        try:
            yield
        finally:
            self._ledger.close(self._place.path)

    def noted(self) -> tuple[AnyInput, ...]:
        """What was met since the last step, to be stored with the next."""
        noted, self._noted = tuple(self._noted), []
        return noted

    @property
    def is_new(self) -> bool:
        """Whether the end that was met is still to be told on the timeline."""
        return self.met is not None and (self._turn_of_end, "") not in self._told

    @property
    def mark(self) -> dict[str, Any]:
        """What the timeline entry of a conclusion says of what led to it."""
        return {CEILING: self.met.description} if self.met else {}

    @property
    def has_begun(self) -> bool:
        """Whether the execution has made a call, or may have: then there is something kept for its conclusion."""
        return self._turn > 0 or self._ledger.called(self._place.path)

    @property
    def seconds_left(self) -> float | None:
        return self._ledger.seconds_left(self._place.path) if self._is_active else None

    @property
    def _is_active(self) -> bool:
        return self._is_live and self._ledger.limits_anything

    async def metered(self, request: GenerateInput, kind: LLMInteractionKind, within: float, make: Make) -> "CompletedCall":
        """Make a model call if it fits, with an answer as long as there is money for, and note what it used.

        Raises:
            CeilingMetError: it does not fit.
        """
        if kind is not LLMInteractionKind.SUMMARIZATION:
            self._turn = request.turn
        about = _about(request, kind)
        if met := self._known.get((self._turn, about)):
            raise CeilingMetError(met)
        if not self._is_active:
            return await make(request, within)
        if self._of_tools and kind is LLMInteractionKind.ITERATION:
            raise CeilingMetError(replace(self._of_tools, about=about))
        price = await self._price(request)
        fits, reservation = await self._admitted(request, kind, price, about)
        capped = replace(request, max_output_tokens=fits.output_tokens if self._counts_words(price) else None)
        return await self._made(reservation, price, capped, make, within)

    async def _price(self, request: GenerateInput) -> Price | None:
        return await self._prices.price(request.provider, self._ledger.clock.now(), self._estimate.tokens(request))

    def _counts_words(self, price: Price | None) -> bool:
        """Whether the length of an answer matters to any ceiling: a limit that is not needed is not sent."""
        ceilings = [account.ceiling for account in self._ledger.accounts(self._place.path)]
        costs = price is not None and price.output > 0
        return any(one.tokens is not None for one in ceilings) or (
            costs and (bool(self._ledger.periods) or any(one.usd is not None for one in ceilings))
        )

    async def _admitted(
        self, request: GenerateInput, kind: LLMInteractionKind, price: Price | None, about: str
    ) -> tuple[Fits, Reservation]:
        """Reserve a call. Where only calls under way stand against it in a period, it makes do with a shorter answer, or waits a little."""
        refused: PeriodState | None = None
        for _ in range(_LOOKS):
            fits = await self._fitting(request, kind, price, about, refused)
            reservation = self._reservation(fits)
            refused = await self._reserve(reservation, kind)
            if refused is None:
                return fits, reservation
            shorter = self._decide(request, kind, price, refused.account(refused.used))
            if isinstance(shorter, Fits) and (shorter.output_tokens >= _USEFUL_ANSWER or self._ledger.has_begun):
                continue
            if isinstance(self._decide(request, kind, price, refused.account(refused.spent)), Exhausted) or not refused.reserved:
                break
            await anyio.sleep(_LOOK_SECONDS)
        if refused is None:
            raise AssertionError("it is looked at least once")
        raise self._period_met(refused, about, self._least(request, kind, price))

    async def _fitting(
        self, request: GenerateInput, kind: LLMInteractionKind, price: Price | None, about: str, period: PeriodState | None
    ) -> Fits:
        while True:
            shorter = self._decide(request, kind, price, period.account(period.used)) if period else None
            decision = shorter if isinstance(shorter, Fits) else self._decide(request, kind, price)
            if isinstance(decision, Fits):
                return decision
            passing = decision.limit in {Limit.USD, Limit.TOKENS} and self._ledger.is_waiting_worth_it(self._place.path)
            if not passing:
                raise CeilingMetError(self._exhausted(decision, about, price))
            await self._ledger.until_freed()

    def _least(self, request: GenerateInput, kind: LLMInteractionKind, price: Price | None) -> Decimal:
        """What a call costs at the least that is worth making, with the conclusion after it."""
        decision = self._decide(request, kind, price, longest=_USEFUL_ANSWER)
        return decision.wanted.usd + decision.kept.usd if isinstance(decision, Fits) else Decimal(0)

    def _decide(
        self, request: GenerateInput, kind: LLMInteractionKind, price: Price | None, *periods: Account, longest: int = LONGEST_ANSWER
    ) -> Fits | Exhausted:
        path, tokens = self._place.path, self._estimate.tokens(request)
        accounts = [*self._ledger.accounts(path), *periods]
        match kind:
            case LLMInteractionKind.ITERATION:
                return check_model_call(accounts, tokens, longest, price, self._estimate.opening(request))
            case LLMInteractionKind.SUMMARIZATION:
                return check_single_model_call(accounts, tokens, longest, price, self._ledger.kept(path))
            case LLMInteractionKind.CORRECTION | LLMInteractionKind.SINGLE_SHOT:
                return check_single_model_call(accounts, tokens, longest, price)
            case LLMInteractionKind.FORCED_CONCLUSION:
                decision = check_single_model_call(accounts, tokens, longest, price)
                # Room was kept for it. It may be told a little more than was estimated, which is no reason to say nothing.
                last = Fits(CONCLUSION_TOKENS, estimate_model_call(tokens, CONCLUSION_TOKENS, price), NOTHING)
                return last if isinstance(decision, Exhausted) and self.has_begun else decision
            case _:
                assert_never(kind)

    def _exhausted(self, decision: Exhausted, about: str, price: Price | None) -> CeilingMet:
        accounts = self._ledger.accounts(self._place.path)
        used = next(account for account in accounts if account.name == decision.account).used
        room = max(affordable_input(accounts, price), 1)
        return CeilingMet(
            about, decision.account, decision.limit, decision.description, _used(decision.limit, used), self._estimate.as_counted(room)
        )

    def _reservation(self, fits: Fits) -> Reservation:
        place = self._place
        return Reservation(
            id=str(uuid4()),
            claim=place.claim,
            stage_id=place.stage_id,
            execution_id=place.execution_id,
            wanted=fits.wanted,
            kept=fits.kept,
        )

    async def _reserve(self, reservation: Reservation, kind: LLMInteractionKind) -> PeriodState | None:
        """Set aside what a call will use, in the accounts first, so that no other call takes it meanwhile."""
        path, ledger = self._place.path, self._ledger
        before = ledger.kept(path)
        ledger.keep(path, reservation.kept)
        ledger.reserve(path, reservation.wanted)
        # A conclusion has what was kept for it, in the period too.
        periods = () if kind is LLMInteractionKind.FORCED_CONCLUSION and self.has_begun else ledger.periods
        refused: PeriodState | None = None
        written_down = False
        try:
            refused = await ledger.book.reserve(reservation, periods)
            written_down = refused is None
        finally:
            if not written_down:
                ledger.keep(path, before)
                ledger.settle(path, reservation.wanted, NOTHING)
        return refused

    def _period_met(self, state: PeriodState, about: str, needs: Decimal) -> CeilingMetError:
        now, per = self._ledger.clock.now(), state.budget.per
        met = CeilingMet(about, per, Limit.USD, state.budget.description, state.detail(), 0)
        if self._ledger.has_begun or not self._ledger.may_wait:
            return CeilingMetError(met)
        over = max((per.end(now.date()) - now) / timedelta(seconds=1), 1.0)
        return CeilingMetError(met, waits=over, budget=BudgetWait(state.budget.key, needs))

    async def _made(
        self, reservation: Reservation, price: Price | None, request: GenerateInput, make: Make, within: float
    ) -> "CompletedCall":
        path, wanted = self._place.path, reservation.wanted
        left = self._ledger.seconds_left(path)
        used = wanted
        try:
            call = await make(request, within if left is None else min(within, max(left, 1.0)))
            known = _known_use(call, price)
            used = wanted if known is None else known
        finally:
            self._ledger.settle(path, wanted, used)
        self._estimate.learn(request, call.answer.usage)
        return call if known is None else replace(call, interaction=replace(call.interaction, settles=reservation.id))

    def refusal(self, call: ToolCall) -> CeilingMet | None:
        """Why a tool call may not be made; None: it may, and is counted. That it was announced is stored: it needs no reservation."""
        if met := self._known.get((self._turn, call.id)):
            self._of_tools = met
            return self.note(met)
        if not self._is_active:
            return None
        path = self._place.path
        decision = check_tool_call(self._ledger.accounts(path), self._ledger.kept(path))
        if isinstance(decision, Fits):
            self._ledger.settle(path, NOTHING, decision.wanted)
            return None
        self._of_tools = self._exhausted(decision, call.id, None)
        return self.note(self._of_tools)

    def note(self, met: CeilingMet) -> CeilingMet:
        """Keep what was met as an input of the run."""
        self._noted.append(PlacedInput(self._place.track, self._turn, met))
        if not met.about:
            self._end(met, self._turn)
        return met

    def _end(self, met: CeilingMet, turn: int) -> None:
        self.met, self._turn_of_end = met, turn
        if met.account not in _PARTS:
            self._ledger.ended = met


_PARTS = frozenset({"stage", "agent"})
_SUMMARY = "summary "
_SIDE_CALLS = frozenset({"correction", "conclusion"})


def _about(request: GenerateInput, kind: LLMInteractionKind) -> str:
    match kind:
        case LLMInteractionKind.ITERATION | LLMInteractionKind.SINGLE_SHOT:
            return ""
        case LLMInteractionKind.CORRECTION:
            return "correction"
        case LLMInteractionKind.FORCED_CONCLUSION:
            return "conclusion"
        case LLMInteractionKind.SUMMARIZATION:
            return f"{_SUMMARY}{request.track.rpartition('/')[2]}"
        case _:
            assert_never(kind)


def _met_before(inputs: Sequence[AnyInput], track: str) -> dict[tuple[int, str], CeilingMet]:
    return {(one.turn, one.value.about): one.value for one in inputs if one.track == track and isinstance(one.value, CeilingMet)}


def _known_use(call: "CompletedCall", price: Price | None) -> Spent | None:
    """What a call used; None when it did not say, though it may be charged."""
    answer = call.answer
    if answer.usage.input_tokens or answer.usage.output_tokens:
        return spent_by_call(answer.usage, price, 0.0)
    refused = answer.error is not None and answer.error.code in _FREE_ERRORS and call.interaction.first_chunk_ms is None
    return Spent(model_calls=1) if refused else None


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


# Before a model has counted for us: logs and JSON, and vendors' own words around the tools, take up to so much more than four bytes a token.
_CAUTION = 1.8
# And after it has: the new part of a conversation may be denser than the old one.
_MARGIN = 1.1


def tokens_of_tools(tools: tuple[ToolDefinition, ...]) -> int:
    return sum(estimate_tokens(f"{tool.name}{tool.description}{tool.parameters_schema}") for tool in tools)


def plain_tokens(request: GenerateInput) -> int:
    """By the length of its texts alone."""
    return sum(map(tokens_of, request.messages)) + tokens_of_tools(request.tools)


class Estimate:
    """Learns from each call how dense the conversation is."""

    def __init__(self) -> None:
        self._density = _CAUTION

    def tokens(self, request: GenerateInput) -> int:
        return ceil(plain_tokens(request) * self._density)

    def opening(self, request: GenerateInput) -> int:
        """What of a conversation cannot be shortened: all before the first answer."""
        first = takewhile(lambda message: message.role is not Role.ASSISTANT, request.messages)
        return ceil(sum(map(tokens_of, first)) * self._density)

    def as_counted(self, tokens: int) -> int:
        """So many tokens of the model, in those by which conversations are shortened."""
        return int(tokens / self._density)

    def learn(self, request: GenerateInput, usage: TokenUsage) -> None:
        if usage.input_tokens:
            self._density = max(usage.input_tokens / plain_tokens(request), 0.25) * _MARGIN
