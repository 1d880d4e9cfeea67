"""Which of those that a budget held up may go on when there is room again."""

from decimal import Decimal

from tarsy.domain.period_budget import BudgetPeriod, BudgetWait, PeriodBudget, PeriodState, released

DAY = PeriodBudget(per=BudgetPeriod.DAY, usd=Decimal(10))
SHOP = PeriodBudget(per=BudgetPeriod.MONTH, usd=Decimal(5), chain="shop")
STATES = (PeriodState(budget=DAY, spent=Decimal(6), reserved=Decimal(1)), PeriodState(budget=SHOP, spent=Decimal(5)))


def held_up(name: str, budget: PeriodBudget, needs: int) -> tuple[str, BudgetWait]:
    return name, BudgetWait(budget.key, Decimal(needs))


def test_as_many_go_on_as_there_is_room_for_in_their_order() -> None:
    waiting = [held_up("first", DAY, 2), held_up("of the shop", SHOP, 1), held_up("large", DAY, 2), held_up("small, behind it", DAY, 1)]
    assert list(released(waiting, STATES)) == ["first"]


def test_a_budget_that_is_gone_holds_up_none_and_a_raised_one_is_the_same_budget() -> None:
    raised = PeriodState(budget=PeriodBudget(per=BudgetPeriod.DAY, usd=Decimal(11)), spent=Decimal(9))
    assert list(released([held_up("a", SHOP, 9), held_up("b", DAY, 2)], [raised])) == ["a", "b"]
