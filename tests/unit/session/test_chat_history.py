"""How much of a conversation so far a question carries along."""

from hypothesis import given
from hypothesis import strategies as st

from tarsy.agent.prompt.builder import ChatExchange
from tarsy.session.followup import newest_exchanges

EXCHANGES = st.lists(st.builds(ChatExchange, st.text(min_size=1, max_size=50), st.text(max_size=50), st.just(1)), max_size=12)


@given(EXCHANGES, st.integers(100, 400))
def test_the_newest_exchanges_that_fit_are_kept_whole_and_in_order(history: list[ChatExchange], limit: int) -> None:
    kept = newest_exchanges(history, limit)
    assert kept == tuple(history[len(history) - len(kept) :])
    sizes = [len(exchange.question) + len(exchange.answer) for exchange in history]
    assert sum(sizes[len(history) - len(kept) :]) <= limit
    if len(kept) < len(history):
        assert sum(sizes[len(history) - len(kept) - 1 :]) > limit, "one more would not have fitted"


def test_the_newest_is_kept_even_if_it_must_be_cut() -> None:
    (kept,) = newest_exchanges([ChatExchange("old", "old", 1), ChatExchange("q" * 1_000, "a" * 1_000, 2)], 100)
    assert kept.question.startswith("q" * 50)
    assert "characters omitted" in kept.answer
