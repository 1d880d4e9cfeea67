"""The accounts of a session: what is used under one counts for all above it."""

from decimal import Decimal

from support.memory_run import MemorySpending
from tarsy.agent.budget.ceilings import Ceilings
from tarsy.agent.budget.ledger import SESSION, Ledger
from tarsy.config.schema.budget import CostEstimationConfig
from tarsy.domain.budget import Ceiling, Spent, SpentBy
from tarsy.domain.claim import INVESTIGATION, Claim
from tarsy.domain.conversation import ToolCall
from tarsy.domain.execution import ExecutionPlace
from tarsy.kit.clock import FixedClock
from tarsy.llm.prices import PriceList

DOLLAR = Spent(usd=Decimal(1), model_calls=1)


def ledger(*before: SpentBy) -> Ledger:
    made = Ledger(MemorySpending(), FixedClock(), before=before)
    made.open(SESSION, "session", Ceiling(usd=Decimal(8)), sum((one.spent for one in before), Spent()))
    made.open_stage("stage", Ceiling())
    return made


def left(of: Ledger, path: tuple[str, ...]) -> list[Decimal | None]:
    return [account.remaining.usd for account in of.accounts(path)]


def test_what_an_agent_that_was_sent_uses_counts_for_all_above_it() -> None:
    book = ledger()
    parent = book.open_execution((*SESSION, "stage"), "parent", Ceiling(usd=Decimal(4)))
    first = book.open_execution(parent, "first", Ceiling())
    second = book.open_execution(parent, "second", Ceiling(usd=Decimal(1)))
    book.settle(first, Spent(), DOLLAR)
    # Of the session, the stage, the agent, and the one itself.
    assert left(book, second) == [Decimal(7), None, Decimal(3), Decimal(1)]
    assert left(book, parent) == [Decimal(7), None, Decimal(3)]


def test_an_agent_that_is_continued_has_spent_what_those_it_had_sent_did() -> None:
    book = ledger(SpentBy("stage", "parent", DOLLAR), SpentBy("stage", "child", DOLLAR, "parent"))
    parent = book.open_execution((*SESSION, "stage"), "parent", Ceiling(usd=Decimal(4)))
    assert left(book, parent) == [Decimal(6), None, Decimal(2)]


def test_what_is_kept_for_the_conclusion_of_one_is_not_for_the_others() -> None:
    book = ledger()
    one = book.open_execution((*SESSION, "stage"), "one", Ceiling())
    other = book.open_execution((*SESSION, "stage"), "other", Ceiling())
    book.keep(one, DOLLAR)
    assert (left(book, one)[0], left(book, other)[0]) == (Decimal(8), Decimal(7))
    book.close(one)
    assert left(book, other)[0] == Decimal(8)


def test_the_ceiling_of_an_agent_that_was_sent_is_described_with_its_own_use() -> None:
    book = ledger()
    parent = book.open_execution((*SESSION, "stage"), "parent", Ceiling())
    sent = book.open_execution(parent, "sent", Ceiling(tool_calls=2))
    book.settle(parent, Spent(), Spent(tool_calls=7))
    claim = Claim(INVESTIGATION, "work", "session", "token", "session")
    place = ExecutionPlace(claim=claim, stage_id="stage", execution_id="sent", track="0.look/1.Lead/1.Digger")
    ceilings = Ceilings(book, place, sent, PriceList(CostEstimationConfig(), {}))
    refusals = [ceilings.refusal(ToolCall(f"call-{number}", "k8s.logs", "{}")) for number in range(3)]
    assert refusals[:2] == [None, None]
    assert refusals[2] is not None
    assert (refusals[2].description, refusals[2].detail) == ("its ceiling of 2 tool calls", "2 were made")
