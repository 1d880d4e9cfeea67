"""A budget on one line, as a person writes it."""

from decimal import Decimal

import pytest
from pydantic import ValidationError

from tarsy.config.schema.budget import BudgetConfig, parse_budget
from tarsy.domain.budget import Ceiling


@pytest.mark.parametrize(
    ("text", "ceiling"),
    [
        ("$0.20,5m", Ceiling(usd=Decimal("0.20"), seconds=300)),
        ("90s", Ceiling(seconds=90)),
        (" $2 , 1h30m ", Ceiling(usd=Decimal(2), seconds=5400)),
        ("50k tokens, 10 model calls, 20 tool calls", Ceiling(tokens=50_000, model_calls=10, tool_calls=20)),
    ],
)
def test_a_budget_is_read_from_one_line(text: str, ceiling: Ceiling) -> None:
    assert parse_budget(text).ceiling == ceiling


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0.20",
        "$",
        "five minutes",
        "$0.20;5m",
        "10 calls",
        "0 tool calls",
        "0s",
        "$1e400",
        "$" + "9" * 400,
        "9" * 5_000 + " tokens",
        "9" * 400 + "h",
    ],
)
def test_what_is_no_budget_is_refused_with_a_hint(text: str) -> None:
    with pytest.raises(ValueError, match=r"write \$0.20|greater than|longer than 0|less than|not a duration"):
        parse_budget(text)


@pytest.mark.parametrize(
    "limits", [{"usd": "1e400"}, {"usd": float("inf")}, {"tokens": 10**400}, {"time": float("inf")}, {"time": 10**5_000}]
)
def test_a_limit_that_fits_into_no_number_is_refused(limits: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        BudgetConfig.model_validate(limits)


@pytest.mark.parametrize(
    ("text", "reason"), [("1 model calls", "is not enough"), ("3k tokens", "do not suffice"), ("$0", "allow no model call")]
)
def test_a_budget_with_which_nothing_can_begin_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_budget(text)
