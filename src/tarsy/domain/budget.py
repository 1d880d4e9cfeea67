"""Ceilings of investigations: the amounts spent and reserved under them, and whether the next call fits.

A call is made only if its estimate fits under every ceiling together with the conclusion that must follow it, so that an agent that runs out
of budget can still conclude.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from decimal import ROUND_DOWN, Decimal
from enum import StrEnum
from typing import Any, Self

from tarsy.domain.claim import Claim
from tarsy.domain.usage import Price, TokenUsage, format_usd

_MILLION = Decimal(1_000_000)
# Output tokens kept for a conclusion: enough to state what was found and what was not.
CONCLUSION_TOKENS = 3_000
# Input tokens kept for a conclusion: a longer conversation is shortened for it, down to its opening.
CONCLUSION_INPUT = 16_000
# A call whose answer could not be longer than this is not worth its input.
SHORTEST_ANSWER = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Amounts of everything that a ceiling can limit."""

    usd: Decimal = Decimal(0)
    tokens: int = 0
    seconds: float = 0.0
    model_calls: int = 0
    tool_calls: int = 0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(**{name: getattr(self, name) + getattr(other, name) for name in _NAMES})

    def __sub__(self, other: "Spent") -> "Spent":
        return Spent(**{name: getattr(self, name) - getattr(other, name) for name in _NAMES})


_NAMES = tuple(field.name for field in fields(Spent))
NOTHING = Spent()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """The upper limit of each amount; None: no limit."""

    usd: Decimal | None = None
    tokens: int | None = None
    seconds: float | None = None
    model_calls: int | None = None
    tool_calls: int | None = None

    def over(self, general: Self) -> "Ceiling":
        """Return this ceiling with the limits of `general` where it sets none itself."""
        own = {name: value for name in _NAMES if (value := getattr(self, name)) is not None}
        return replace(general, **own)

    def lowered(self, requested: "Ceiling") -> "Ceiling":
        """Return the lower of both limits for each amount: a sender may lower a ceiling, never raise it."""
        pairs = {name: (getattr(self, name), getattr(requested, name)) for name in _NAMES}
        return Ceiling(**{name: min((limit for limit in pair if limit is not None), default=None) for name, pair in pairs.items()})

    def exceeded_by(self, spent: Spent) -> "Limit | None":
        """Return the first limit that `spent` would exceed."""
        for limit in Limit:
            most = getattr(self, limit)
            if most is not None and getattr(spent, limit) > most:
                return limit
        return None

    def describe(self, limit: "Limit") -> str:
        """Describe a limit for people: `its ceiling of $0.50`."""
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
    """Format an amount as a person would write it: `$0.50`, and `$0.0025` where it is no whole number of cents."""
    return f"${usd:.2f}" if usd == round(usd, 2) else format_usd(usd)


@dataclass(frozen=True, slots=True)
class Account:
    """The ceiling of a session, stage, agent or period, and the amounts used under it. `reserved` is for calls in progress."""

    name: str
    ceiling: Ceiling
    spent: Spent = Spent()
    reserved: Spent = Spent()

    @property
    def used(self) -> Spent:
        return self.spent + self.reserved

    @property
    def remaining(self) -> Ceiling:
        """Return the remaining amount of each limit, 0 where it is exceeded."""
        left: dict[str, Any] = {}
        for name in _NAMES:
            most, used = getattr(self.ceiling, name), getattr(self.used, name)
            left[name] = None if most is None else max(most - used, type(used)(0))
        return Ceiling(**left)


@dataclass(frozen=True, slots=True)
class Fits:
    """The call may be made, with an answer of at most `output_tokens`.

    The caller reserves `wanted` until the call has ended, and `kept` for the conclusion of the execution, in place of the amount it kept
    before. Each of several concurrent agents needs its own.
    """

    output_tokens: int
    wanted: Spent
    kept: Spent


@dataclass(frozen=True, slots=True)
class Exhausted:
    """The call does not fit: the agent concludes now, with the amount kept for that. `description` is for people."""

    account: str
    limit: Limit
    description: str
    # What the account has spent and reserved.
    used: Spent


def estimate_model_call(input_tokens: int, output_tokens: int, price: Price | None) -> Spent:
    """Return the most that a call can use. All input counts at its full price, cached or not; a model without a price uses tokens only."""
    usd = price.cost(TokenUsage(input_tokens=input_tokens, output_tokens=output_tokens)) if price else Decimal(0)
    return Spent(usd=usd, tokens=input_tokens + output_tokens, model_calls=1)


def spent_by_call(usage: TokenUsage, price: Price | None) -> Spent:
    """Return what a finished call has used, besides its time, which passes in the account."""
    usd = price.cost(usage) if price else Decimal(0)
    return Spent(usd=usd, tokens=usage.input_tokens + usage.output_tokens, model_calls=1)


def estimate_conclusion(input_tokens: int, answer_tokens: int, price: Price | None, opening: int = 0) -> Spent:
    """Return the most that a forced conclusion can use after a call that adds `answer_tokens` to the conversation.

    `opening` is the size of the first messages, which cannot be shortened.
    """
    conversation = min(input_tokens + answer_tokens, max(CONCLUSION_INPUT, opening))
    return estimate_model_call(conversation, CONCLUSION_TOKENS, price)


def check_model_call(
    accounts: Sequence[Account], input_tokens: int, longest: int, price: Price | None, opening: int = 0
) -> Fits | Exhausted:
    """Decide whether a call fits under every ceiling together with the conclusion after it, and how long its answer may be.

    The reservations of `accounts` must not include the amount kept for this execution's own conclusion.
    """
    longest = min([longest, *(_longest_answer(account, input_tokens, price, opening) for account in accounts)])
    output = max(longest, SHORTEST_ANSWER)
    kept = estimate_conclusion(input_tokens, output, price, opening)
    return _fitting(accounts, Fits(output, estimate_model_call(input_tokens, output, price), kept))


def check_single_model_call(
    accounts: Sequence[Account], input_tokens: int, longest: int, price: Price | None, kept: Spent = NOTHING
) -> Fits | Exhausted:
    """Decide whether a call fits that adds nothing to the conversation: the amount `kept` for the conclusion stays the same."""
    fixed = estimate_model_call(input_tokens, 0, price) + kept
    each = price.output if price else None
    longest = min([longest, *(_room(account.ceiling, account.used + fixed, 1, each) for account in accounts)])
    output = max(longest, SHORTEST_ANSWER)
    return _fitting(accounts, Fits(output, estimate_model_call(input_tokens, output, price), kept))


def affordable_input(accounts: Sequence[Account], price: Price | None) -> int:
    """Return how many input tokens a conclusion may have; may be negative."""
    answer = estimate_model_call(0, CONCLUSION_TOKENS, price)
    each = price.input if price else None
    return min((_room(account.ceiling, account.used + answer, 1, each) for account in accounts), default=10**9)


def longest_input(accounts: Sequence[Account], price: Price | None, opening: int = 0) -> int:
    """Return how many input tokens the next call may have so that it fits with a short answer and its conclusion; may be negative."""
    return min((_longest_input(account, price, opening) for account in accounts), default=10**9)


def _longest_input(account: Account, price: Price | None, opening: int) -> int:
    most = max(CONCLUSION_INPUT, opening)
    call, each = account.used + estimate_model_call(0, SHORTEST_ANSWER, price), price.input if price else Decimal(0)
    # As long as the whole conversation fits into the conclusion's input, its tokens count twice.
    twice = _room(account.ceiling, call + estimate_model_call(SHORTEST_ANSWER, CONCLUSION_TOKENS, price), 2, 2 * each)
    if twice + SHORTEST_ANSWER <= most:
        return twice
    return max(_room(account.ceiling, call + estimate_model_call(most, CONCLUSION_TOKENS, price), 1, each), most - SHORTEST_ANSWER)


def check_tool_call(accounts: Sequence[Account], kept: Spent) -> Fits | Exhausted:
    """Decide whether a tool call fits beside the amount `kept` for the conclusion, which does not grow with the tool's result."""
    return _fitting(accounts, Fits(0, Spent(tool_calls=1), kept))


def _fitting(accounts: Sequence[Account], call: Fits) -> Fits | Exhausted:
    for account in accounts:
        if limit := account.ceiling.exceeded_by(account.used + call.wanted + call.kept):
            return Exhausted(account.name, limit, account.ceiling.describe(limit), account.used)
    return call


def _longest_answer(account: Account, input_tokens: int, price: Price | None, opening: int) -> int:
    """Return how many answer tokens an account has room for beside the input and the conclusion; may be negative."""
    most_input = max(CONCLUSION_INPUT, opening)
    call = account.used + estimate_model_call(input_tokens, 0, price)
    # While the whole conversation fits into the conclusion's input, an answer token counts twice: as output, and as input of the conclusion.
    twice = _room(
        account.ceiling, call + estimate_conclusion(input_tokens, 0, price, opening), 2, price.output + price.input if price else None
    )
    if input_tokens + twice <= most_input:
        return twice
    once = _room(account.ceiling, call + estimate_model_call(most_input, CONCLUSION_TOKENS, price), 1, price.output if price else None)
    return max(once, most_input - input_tokens) if twice >= most_input - input_tokens >= 0 else once


def _room(ceiling: Ceiling, fixed: Spent, times: int, each: Decimal | None) -> int:
    """Return how many tokens fit under a ceiling beside `fixed`, if each counts `times` times and a million of them cost `each`."""
    room: list[int] = []
    if ceiling.tokens is not None:
        room.append((ceiling.tokens - fixed.tokens) // times)
    if ceiling.usd is not None and each:
        room.append(int(((ceiling.usd - fixed.usd) * _MILLION / each).to_integral_value(ROUND_DOWN)))
    return min(room, default=10**9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """An amount reserved for a model call until its use is known (`wanted`), and for the conclusion of its execution until that ends (`kept`)."""

    id: str
    claim: Claim
    stage_id: str
    execution_id: str
    wanted: Spent
    kept: Spent


@dataclass(frozen=True, slots=True)
class SpentBy:
    """What an execution has used, including the reservations of calls whose use was never reported."""

    stage_id: str
    execution_id: str
    spent: Spent
    # The execution that dispatched this one, if any.
    parent_execution_id: str | None = None
