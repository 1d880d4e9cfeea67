"""Ceilings: no model passes one, and there is always enough left to conclude."""

from dataclasses import replace
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from tarsy.domain.budget import (
    SHORTEST_ANSWER,
    Account,
    Ceiling,
    Exhausted,
    Fits,
    Limit,
    Spent,
    check_model_call,
    estimate_conclusion,
    estimate_model_call,
    longest_input,
    spent_by_call,
)
from tarsy.domain.usage import Price, TokenUsage

PRICE = Price(Decimal(2), Decimal("0.2"), Decimal(10))
COUNTS = st.none() | st.integers(0, 400_000)
CEILINGS = st.builds(
    Ceiling,
    usd=st.none() | st.decimals(0, 2, places=4),
    tokens=COUNTS,
    model_calls=st.none() | st.integers(0, 30),
    tool_calls=st.none() | st.integers(0, 30),
)
PRICES = st.none() | st.just(PRICE)


@given(CEILINGS, st.integers(0, 50_000), st.integers(1, 20_000), PRICES)
def test_the_cap_of_an_answer_is_as_long_as_the_ceiling_allows(ceiling: Ceiling, given_: int, longest: int, price: Price | None) -> None:
    account = Account("session", ceiling)
    decision = check_model_call([account], given_, longest, price)
    if isinstance(decision, Fits) and SHORTEST_ANSWER < decision.output_tokens < longest:
        more = decision.output_tokens + 2
        needed = estimate_model_call(given_, more, price) + estimate_conclusion(given_, more, price)
        assert ceiling.exceeded_by(needed) is not None


@given(CEILINGS, st.integers(0, 30_000), PRICES)
def test_a_conversation_may_grow_as_long_as_the_next_call_fits_and_no_longer(ceiling: Ceiling, opening: int, price: Price | None) -> None:
    account = Account("session", replace(ceiling, model_calls=None))
    longest = longest_input([account], price, opening)
    if 0 <= longest < 10**8:
        assert isinstance(check_model_call([account], longest, SHORTEST_ANSWER, price, opening), Fits)
        assert isinstance(check_model_call([account], longest + 2, SHORTEST_ANSWER, price, opening), Exhausted)


def test_a_call_under_way_counts_as_spent_until_its_usage_is_known() -> None:
    account = Account("session", Ceiling(tokens=14_000))
    first = check_model_call([account], 4_000, 2_000, None)
    assert isinstance(first, Fits)
    reserved = replace(account, reserved=first.wanted)
    assert isinstance(check_model_call([reserved], 4_000, 2_000, None), Exhausted)
    settled = replace(account, spent=spent_by_call(TokenUsage(100, 10), None))
    assert isinstance(check_model_call([settled], 4_000, 2_000, None), Fits)


def test_what_ends_an_investigation_is_shown_in_plain_words() -> None:
    ceiling = Ceiling(usd=Decimal("0.5"), tokens=60_000, seconds=300, model_calls=3, tool_calls=5)
    assert [ceiling.describe(limit) for limit in Limit] == [
        "its ceiling of $0.50",
        "its ceiling of 60,000 tokens",
        "its ceiling of 300 s",
        "its ceiling of 3 model calls",
        "its ceiling of 5 tool calls",
    ]
    decision = check_model_call([Account("chain", replace(ceiling, model_calls=1))], 10, 500, None)
    assert decision == Exhausted("chain", Limit.MODEL_CALLS, "its ceiling of 1 model calls", Spent())


def test_a_special_ceiling_completes_a_general_one_and_a_sender_only_lowers() -> None:
    general, special = Ceiling(usd=Decimal(1), tokens=100), Ceiling(tokens=500, model_calls=3)
    assert special.over(general) == Ceiling(usd=Decimal(1), tokens=500, model_calls=3)
    requested = Ceiling(usd=Decimal(5), tokens=50, tool_calls=2)
    assert general.lowered(requested) == Ceiling(usd=Decimal(1), tokens=50, tool_calls=2)
