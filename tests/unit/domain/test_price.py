"""What a call costs, and what several cost together."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from tarsy.domain.usage import FREE, Price, Spending, TokenUsage

PRICE = Price(input=Decimal(2), cached_input=Decimal("0.2"), output=Decimal(10))
COUNTS = st.integers(0, 10**9)
AMOUNTS = st.none() | st.decimals(0, 10**6, places=6)


def test_fresh_input_cached_input_and_output_each_have_their_price() -> None:
    usage = TokenUsage(input_tokens=1_000_000, cached_tokens=400_000, output_tokens=100_000, thinking_tokens=90_000)
    assert PRICE.cost(usage) == Decimal("1.2") + Decimal("0.08") + Decimal(1)
    assert FREE.cost(usage) == 0


@given(COUNTS, COUNTS, COUNTS)
def test_no_usage_that_a_vendor_reports_makes_a_call_cost_less_than_nothing(given_: int, cached: int, made: int) -> None:
    assert PRICE.cost(TokenUsage(input_tokens=given_, cached_tokens=cached, output_tokens=made)) >= 0


@given(st.lists(st.builds(Spending, AMOUNTS, st.integers(0, 5), st.integers(0, 5)), max_size=8))
def test_a_sum_is_exact_and_says_how_many_calls_it_misses(parts: list[Spending]) -> None:
    total = sum(parts, Spending())
    known = [part.usd for part in parts if part.usd is not None]
    unpriced, estimated = sum(part.unpriced_calls for part in parts), sum(part.estimated_calls for part in parts)
    assert total == Spending(sum(known, Decimal(0)) if known else None, unpriced, estimated)


def test_spending_is_shown_in_plain_words() -> None:
    reported = [Spending(), Spending(Decimal(0)), Spending(Decimal("0.01234")), Spending(Decimal("12.5"), 1), Spending(None, 2)]
    assert [str(one) for one in reported] == ["", "$0.00", "$0.0123", "$12.50 and 1 call of unknown price", "2 calls of unknown price"]
    assert str(Spending(Decimal("0.5"), 1, 2)) == "≈ $0.5000 and 1 call of unknown price"
