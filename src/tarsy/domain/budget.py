"""Ceilings of investigations: what is spent and reserved under them, and whether the next call fits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from decimal import ROUND_DOWN, Decimal
from enum import StrEnum
from operator import add, sub
from typing import Any, Self

from tarsy.domain.claim import Claim
from tarsy.domain.usage import Price, TokenUsage, format_usd

_MILLION = Decimal(1_000_000)
# What a conclusion needs to say what was found and what was not.
CONCLUSION_TOKENS = 3_000
# What a conclusion is told at the most when there is no money for more: a longer conversation is shortened for it, down to its opening.
CONCLUSION_INPUT = 16_000
# An answer that may not be longer than this is not worth its input.
SHORTEST_ANSWER = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What was used, of everything that a ceiling can limit."""

    usd: Decimal = Decimal(0)
    tokens: int = 0
    seconds: float = 0.0
    model_calls: int = 0
    tool_calls: int = 0

    def __add__(self, other: "Spent") -> "Spent":
        return self._with(other, add)

    def __sub__(self, other: "Spent") -> "Spent":
        return self._with(other, sub)

    def _with(self, other: "Spent", how: Callable[[Any, Any], Any]) -> "Spent":
        return Spent(**{name: how(getattr(self, name), getattr(other, name)) for name in _NAMES})


_NAMES = tuple(field.name for field in fields(Spent))
NOTHING = Spent()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """How much may be used; None: as much as it takes."""

    usd: Decimal | None = None
    tokens: int | None = None
    seconds: float | None = None
    model_calls: int | None = None
    tool_calls: int | None = None

    def over(self, general: Self) -> "Ceiling":
        """A more special ceiling over a general one: what it does not say, the general one does."""
        return Ceiling(**{name: _first(getattr(self, name), getattr(general, name)) for name in _NAMES})

    def lowered(self, requested: "Ceiling") -> "Ceiling":
        """What a sender asks for may lower a ceiling, never raise it."""
        return Ceiling(**{name: _lower(getattr(self, name), getattr(requested, name)) for name in _NAMES})

    def exceeded_by(self, spent: Spent) -> "Limit | None":
        """The first limit that `spent` would pass."""
        return next((limit for limit in Limit if _passes(getattr(self, limit), getattr(spent, limit))), None)

    def describe(self, limit: "Limit") -> str:
        """The limit in words for people: `its ceiling of $0.50`."""
        value = getattr(self, limit)
        match limit:
            case Limit.USD:
                return f"its ceiling of {format_amount(value)}"
            case Limit.SECONDS:
                return f"its ceiling of {value:g} s"
            case Limit.TOKENS | Limit.MODEL_CALLS | Limit.TOOL_CALLS:
                return f"its ceiling of {value:,} {limit.replace('_', ' ')}"


UNLIMITED = Ceiling()


class Limit(StrEnum):
    USD = "usd"
    TOKENS = "tokens"
    SECONDS = "seconds"
    MODEL_CALLS = "model_calls"
    TOOL_CALLS = "tool_calls"


def format_amount(usd: Decimal) -> str:
    """An amount as a person would have written it: `$0.50`, and `$0.0025` where cents do not say it."""
    return f"${usd:.2f}" if usd == round(usd, 2) else format_usd(usd)


def _first(special: Any, general: Any) -> Any:
    return general if special is None else special


def _lower(own: Any, wish: Any) -> Any:
    known = [value for value in (own, wish) if value is not None]
    return min(known) if known else None


def _left(ceiling: Any, used: Any) -> Any:
    return None if ceiling is None else max(ceiling - used, type(used)(0))


def _passes(ceiling: "Decimal | float | None", amount: "Decimal | float") -> bool:
    return ceiling is not None and amount > ceiling


@dataclass(frozen=True, slots=True)
class Account:
    """A ceiling and what is used under it: of a session, a stage, an agent, a period. `reserved` is for calls under way."""

    name: str
    ceiling: Ceiling
    spent: Spent = Spent()
    reserved: Spent = Spent()

    @property
    def used(self) -> Spent:
        return self.spent + self.reserved

    @property
    def remaining(self) -> Ceiling:
        """What is left; never less than nothing."""
        return Ceiling(**{name: _left(getattr(self.ceiling, name), getattr(self.used, name)) for name in _NAMES})

    def reserve(self, wanted: Spent) -> "Account":
        return Account(self.name, self.ceiling, self.spent, self.reserved + wanted)

    def settle(self, reserved: Spent, actual: Spent) -> "Account":
        """A call has ended: what was kept for it is given back, and what it used is spent."""
        return Account(self.name, self.ceiling, self.spent + actual, self.reserved - reserved)


@dataclass(frozen=True, slots=True)
class Fits:
    """The call may be made, with an answer of at most `output_tokens`.

    `wanted` is to be reserved for it until it has ended. `kept` is to be reserved for the conclusion of the same execution, in the place of
    what was kept for it before: agents that work at the same time each need their own.
    """

    output_tokens: int
    wanted: Spent
    kept: Spent


@dataclass(frozen=True, slots=True)
class Exhausted:
    """The call does not fit: conclude now, with what is kept for that. `told` is for people."""

    account: str
    limit: Limit
    description: str


def estimate_model_call(input_tokens: int, output_tokens: int, price: Price | None) -> Spent:
    """What a call will use at most. Input that may come from a cache is estimated at its full price; a model without a price costs tokens only."""
    usd = price.cost(TokenUsage(input_tokens=input_tokens, output_tokens=output_tokens)) if price else Decimal(0)
    return Spent(usd=usd, tokens=input_tokens + output_tokens, model_calls=1)


def spent_by_call(usage: TokenUsage, price: Price | None, seconds: float) -> Spent:
    """What a call has used."""
    usd = price.cost(usage) if price else Decimal(0)
    return Spent(usd=usd, tokens=usage.input_tokens + usage.output_tokens, seconds=seconds, model_calls=1)


def estimate_conclusion(input_tokens: int, answer_tokens: int, price: Price | None, opening: int = 0) -> Spent:
    """What the forced conclusion will use at most after a call that adds `answer_tokens` to the conversation, whose `opening` cannot be shortened."""
    told = min(input_tokens + answer_tokens, max(CONCLUSION_INPUT, opening))
    return estimate_model_call(told, CONCLUSION_TOKENS, price)


def check_model_call(
    accounts: Sequence[Account], input_tokens: int, longest: int, price: Price | None, opening: int = 0
) -> Fits | Exhausted:
    """Whether a call fits under every ceiling, with room for the conclusion after it, and how long its answer may be.

    What is kept for this execution's own conclusion is not part of what `accounts` have reserved.
    """
    longest = min([longest, *(_longest_answer(account, input_tokens, price, opening) for account in accounts)])
    output = max(longest, SHORTEST_ANSWER)
    kept = estimate_conclusion(input_tokens, output, price, opening)
    return _fitting(accounts, Fits(output, estimate_model_call(input_tokens, output, price), kept))


def check_single_model_call(
    accounts: Sequence[Account], input_tokens: int, longest: int, price: Price | None, kept: Spent = NOTHING
) -> Fits | Exhausted:
    """Whether a call fits that leads to no other: what is `kept` for the conclusion stays as it is."""
    fixed = estimate_model_call(input_tokens, 0, price) + kept
    each = price.output if price else None
    longest = min([longest, *(_room(account.ceiling, account.used + fixed, 1, each) for account in accounts)])
    output = max(longest, SHORTEST_ANSWER)
    return _fitting(accounts, Fits(output, estimate_model_call(input_tokens, output, price), kept))


def affordable_input(accounts: Sequence[Account], price: Price | None) -> int:
    """How many tokens a conclusion may be told; may be less than nothing."""
    answer = estimate_model_call(0, CONCLUSION_TOKENS, price)
    each = price.input if price else None
    return min((_room(account.ceiling, account.used + answer, 1, each) for account in accounts), default=10**9)


def check_tool_call(accounts: Sequence[Account], kept: Spent) -> Fits | Exhausted:
    """Whether a tool call fits beside the conclusion that is `kept`: however long its result is, the conclusion does not grow with it."""
    return _fitting(accounts, Fits(0, Spent(tool_calls=1), kept))


def _fitting(accounts: Sequence[Account], call: Fits) -> Fits | Exhausted:
    for account in accounts:
        if limit := account.ceiling.exceeded_by(account.used + call.wanted + call.kept):
            return Exhausted(account.name, limit, account.ceiling.describe(limit))
    return call


def _longest_answer(account: Account, input_tokens: int, price: Price | None, opening: int) -> int:
    """How many tokens of answer an account has room for beside the input and the conclusion; may be less than nothing."""
    told = max(CONCLUSION_INPUT, opening)
    call = account.used + estimate_model_call(input_tokens, 0, price)
    # As long as the conclusion is told all of it, each token is paid for twice: as output, and as input of the conclusion.
    twice = _room(
        account.ceiling, call + estimate_conclusion(input_tokens, 0, price, opening), 2, price.output + price.input if price else None
    )
    if input_tokens + twice <= told:
        return twice
    once = _room(account.ceiling, call + estimate_model_call(told, CONCLUSION_TOKENS, price), 1, price.output if price else None)
    return max(once, told - input_tokens) if twice >= told - input_tokens >= 0 else once


def _room(ceiling: Ceiling, fixed: Spent, times: int, each: Decimal | None) -> int:
    """How many tokens fit beside what is fixed, each of them counted so many times and at this price for a million."""
    room: list[int] = []
    if ceiling.tokens is not None:
        room.append((ceiling.tokens - fixed.tokens) // times)
    if ceiling.usd is not None and each:
        room.append(int(((ceiling.usd - fixed.usd) * _MILLION / each).to_integral_value(ROUND_DOWN)))
    return min(room, default=10**9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """What is set aside for a model call until it is known what it used, and for the conclusion of its execution until that has ended."""

    id: str
    claim: Claim
    stage_id: str
    execution_id: str
    wanted: Spent
    kept: Spent


@dataclass(frozen=True, slots=True)
class SpentBy:
    """What an execution has used, with what is reserved for calls that never told what they used."""

    stage_id: str
    execution_id: str
    spent: Spent
    # The agent that sent it, if one did.
    parent_execution_id: str | None = None
