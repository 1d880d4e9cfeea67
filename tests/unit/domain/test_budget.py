"""Ceilings: no model passes one, and there is always enough left to conclude."""

from dataclasses import replace
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from tarsy.domain.budget import (
    CONCLUSION_INPUT,
    CONCLUSION_TOKENS,
    SHORTEST_ANSWER,
    Account,
    Ceiling,
    Exhausted,
    Fits,
    Limit,
    Spent,
    check_model_call,
    check_tool_call,
    estimate_conclusion,
    estimate_model_call,
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


@st.composite
def runaways(draw: st.DrawFn) -> list[tuple[float, float, int]]:
    """What a model does with each answer: how much of its cap it says, how much of its input was cached, how many tools it asks for."""
    share = st.floats(0, 1)
    return draw(st.lists(st.tuples(share, share, st.integers(0, 40)), max_size=40))


class Investigation:
    """Agents that work at the same time under the same ceilings; each asks before each call."""

    def __init__(self, ceilings: list[Ceiling], price: Price | None, agents: int) -> None:
        self.accounts: list[Account] = [Account(str(number), ceiling) for number, ceiling in enumerate(ceilings)]
        self.price = price
        self.conversations = [1_000] * agents
        self.kept = [Spent()] * agents
        self.concluded = [False] * agents

    def take(self, agent: int, described: float, cached: float, tools: int) -> None:
        """One answer of an agent and the tools it asks for; its conclusion when the next call does not fit."""
        if self.concluded[agent]:
            return
        decision = check_model_call(self._others(agent), self.conversations[agent], 8_000, self.price)
        if isinstance(decision, Exhausted):
            self.conclude(agent)
            return
        self.keep(agent, decision.kept)
        output = round(decision.output_tokens * described)
        given_ = self.conversations[agent]
        actual = spent_by_call(TokenUsage(given_, output, cached_tokens=round(given_ * cached)), self.price, 0.0)
        self.accounts = [one.reserve(decision.wanted).settle(decision.wanted, actual) for one in self.accounts]
        self.conversations[agent] += output
        for _ in range(tools):
            self.tool(agent)

    def tool(self, agent: int, result: int = 50) -> None:
        decision = check_tool_call(self._others(agent), estimate_conclusion(self.conversations[agent] + result, 0, self.price))
        if isinstance(decision, Fits):
            self.keep(agent, decision.kept)
            self.accounts = [one.settle(Spent(), decision.wanted) for one in self.accounts]
            self.conversations[agent] += result

    def keep(self, agent: int, kept: Spent) -> None:
        self.accounts = [one.reserve(kept) for one in self._others(agent)]
        self.kept[agent] = kept

    def _others(self, agent: int) -> list[Account]:
        """The accounts without what is kept for this agent's own conclusion."""
        return [one.settle(self.kept[agent], Spent()) for one in self.accounts]

    def conclude(self, agent: int) -> None:
        """An agent that has not made a single call has nothing to conclude."""
        if self.kept[agent] != Spent():
            spent = estimate_model_call(min(self.conversations[agent], CONCLUSION_INPUT), CONCLUSION_TOKENS, self.price)
            self.accounts = [one.settle(Spent(), spent) for one in self._others(agent)]
            self.kept[agent] = Spent()
        self.concluded[agent] = True


@given(st.lists(CEILINGS, min_size=1, max_size=3), PRICES, st.integers(1, 3), runaways())
def test_whatever_models_do_no_ceiling_is_passed_and_every_conclusion_fits(
    ceilings: list[Ceiling], price: Price | None, agents: int, answers: list[tuple[float, float, int]]
) -> None:
    run = Investigation(ceilings, price, agents)
    for number, answer in enumerate(answers):
        run.take(number % agents, *answer)
        assert [one.ceiling.exceeded_by(one.used) for one in run.accounts] == [None] * len(ceilings)
    for agent in range(agents):
        if not run.concluded[agent]:
            run.conclude(agent)
    assert [one.ceiling.exceeded_by(one.used) for one in run.accounts] == [None] * len(ceilings)


@given(CEILINGS, st.integers(0, 50_000), st.integers(1, 20_000), PRICES)
def test_the_cap_of_an_answer_is_as_long_as_the_ceiling_allows(ceiling: Ceiling, given_: int, longest: int, price: Price | None) -> None:
    account = Account("session", ceiling)
    decision = check_model_call([account], given_, longest, price)
    if isinstance(decision, Fits) and SHORTEST_ANSWER < decision.output_tokens < longest:
        more = decision.output_tokens + 2
        needed = estimate_model_call(given_, more, price) + estimate_conclusion(given_, more, price)
        assert ceiling.exceeded_by(needed) is not None


def test_a_call_under_way_counts_as_spent_until_it_has_told_what_it_used() -> None:
    account = Account("session", Ceiling(tokens=14_000))
    first = check_model_call([account], 4_000, 2_000, None)
    assert isinstance(first, Fits)
    reserved = account.reserve(first.wanted)
    assert isinstance(check_model_call([reserved], 4_000, 2_000, None), Exhausted)
    settled = reserved.settle(first.wanted, spent_by_call(TokenUsage(100, 10), None, 1.0))
    assert isinstance(check_model_call([settled], 4_000, 2_000, None), Fits)


def test_what_ends_an_investigation_is_told_in_plain_words() -> None:
    ceiling = Ceiling(usd=Decimal("0.5"), tokens=60_000, seconds=300, model_calls=3, tool_calls=5)
    assert [ceiling.describe(limit) for limit in Limit] == [
        "its ceiling of $0.50",
        "its ceiling of 60,000 tokens",
        "its ceiling of 300 s",
        "its ceiling of 3 model calls",
        "its ceiling of 5 tool calls",
    ]
    decision = check_model_call([Account("chain", replace(ceiling, model_calls=1))], 10, 500, None)
    assert decision == Exhausted("chain", Limit.MODEL_CALLS, "its ceiling of 1 model calls")


def test_a_special_ceiling_completes_a_general_one_and_a_sender_only_lowers() -> None:
    general, special = Ceiling(usd=Decimal(1), tokens=100), Ceiling(tokens=500, model_calls=3)
    assert special.over(general) == Ceiling(usd=Decimal(1), tokens=500, model_calls=3)
    requested = Ceiling(usd=Decimal(5), tokens=50, tool_calls=2)
    assert general.lowered(requested) == Ceiling(usd=Decimal(1), tokens=50, tool_calls=2)
