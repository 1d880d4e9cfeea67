"""Ceilings of money and tokens: whatever a model does, the calls that were made cost no more, by a sum that knows nothing of the ledger."""

import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from math import ceil

import anyio
import anyio.lowlevel
from hypothesis import given, settings
from hypothesis import strategies as st

from support.agent_scenario import Scenario
from support.memory_run import MemoryRun, MemorySpending
from support.runaway import TRACK, Runaway, ScriptedTools, endless_tools, priced_chain, runaway_agent, with_ceiling
from tarsy.agent.budget.ledger import Ledger
from tarsy.agent.execution import ExecutionResult, StopState
from tarsy.agent.tool_turn import MAX_CALLS
from tarsy.domain.budget import Ceiling
from tarsy.domain.llm import Chunk, FinishChunk, FinishReason, GenerateInput, ResolvedProvider, TextChunk, ToolCallChunk
from tarsy.domain.run_input import CeilingMet
from tarsy.domain.status import RunStatus
from tarsy.domain.timeline import TimelineEventType
from tarsy.domain.usage import Price, TokenUsage
from tarsy.kit.clock import FixedClock


@dataclass(frozen=True)
class Act:
    """An answer: so many characters of text, and so many calls with so many characters of arguments."""

    text: int
    calls: int
    arguments: int = 20


@dataclass
class Vendor(Runaway):
    """A model that acts as scripted, over and over, as far as the cap of the request lets it; it bills `density` tokens for four characters."""

    acts: tuple[Act, ...] = (Act(200, 1),)
    density: float = 1.0
    # Whether its answers contain their usage.
    reports: bool = True
    billed: list[TokenUsage] = field(default_factory=list[TokenUsage])

    async def generate(self, request: GenerateInput) -> AsyncGenerator[Chunk]:
        act, number = self.acts[len(self.requests) % len(self.acts)], len(self.requests)
        self.requests.append(request)
        cap = 10**9 if request.max_output_tokens is None else int(request.max_output_tokens * 4 / self.density)
        # Without tools, it says as much as it may.
        wanted = act.text if request.tools else min(cap, 40_000)
        text = "".join(f"Word {number}.{place} of many. " for place in range(wanted // 15 + 1))[: min(wanted, cap)]
        left, calls = cap - len(text), list[Chunk]()
        for place in range(act.calls if request.tools else 0):
            arguments = f'{{"since": "{number}.{place}.{"x" * act.arguments}"}}'
            left -= len(arguments) + 20
            if left < 0:
                break
            calls.append(ToolCallChunk(f"c{number}-{place}", "k8s.logs", arguments))
        written = len(text) + sum(len(call.arguments) + 20 for call in calls if isinstance(call, ToolCallChunk))
        usage = TokenUsage(self._input(request), ceil(written / 4 * self.density), 0)
        self.billed.append(usage)
        # Other agents call their models meanwhile.
        await anyio.lowlevel.checkpoint()
        for chunk in (*([TextChunk(text)] if text else []), *calls, *([usage] if self.reports else [])):
            yield chunk
        if left < 0:
            yield FinishChunk(FinishReason.LENGTH)

    def _input(self, request: GenerateInput) -> int:
        sizes = [len(one.content) + sum(len(call.name) + len(call.arguments) for call in one.tool_calls) + 20 for one in request.messages]
        tools = sum(len(f"{tool.name}{tool.description}{tool.parameters_schema}") for tool in request.tools)
        return ceil((sum(sizes) + tools) / 4 * self.density)


@dataclass
class OnePrice:
    all: Price

    async def price(self, provider: ResolvedProvider, at: datetime, input_tokens: int) -> Price | None:
        del provider, at, input_tokens
        return self.all


def ended(
    model: Vendor, ceiling: Ceiling, price: Price, tools: ScriptedTools, alert: str = "The disk of node-1 is full."
) -> tuple[ExecutionResult, MemoryRun]:
    async def go() -> tuple[ExecutionResult, MemoryRun]:
        agent = runaway_agent().model_copy(update={"max_iterations": 12})
        chain = with_ceiling(priced_chain(agent), ceiling)
        run = MemoryRun(Scenario(chain, [], llm=model, alert=alert), TRACK, tools=tools, prices=OnePrice(price))
        return await run.run_until_stopped(StopState()), run

    return anyio.run(go)


def bill(model: Vendor, price: Price) -> Decimal:
    return sum((one.input_tokens * price.input + one.output_tokens * price.output for one in model.billed), Decimal(0)) / 1_000_000


PRICE = Price(Decimal(10), Decimal(10), Decimal(50))
RATES = st.integers(1, 100).map(Decimal)
PRICES = st.builds(Price, RATES, st.just(Decimal(0)), RATES)
ACTS = st.builds(Act, st.integers(0, 30_000), st.integers(0, 200), st.integers(0, 3_000))
CEILINGS = st.builds(Ceiling, usd=st.decimals("0.01", 2, places=2)) | st.builds(Ceiling, tokens=st.integers(1_000, 200_000))


# Each example is a whole investigation.
@settings(max_examples=settings().max_examples // 4)
@given(CEILINGS, PRICES, st.lists(ACTS, min_size=1, max_size=4), st.floats(0.5, 1.6), st.sampled_from([0, 500, 30_000, 150_000]))
def test_whatever_a_model_does_it_is_billed_no_more_than_its_ceiling(
    ceiling: Ceiling, price: Price, acts: list[Act], density: float, characters: int
) -> None:
    model = Vendor(endless_tools, acts=tuple(acts), density=density)
    result, _ = ended(model, ceiling, price, ScriptedTools(characters=characters))
    if ceiling.usd is not None:
        assert bill(model, price) <= ceiling.usd
    if ceiling.tokens is not None:
        assert sum(one.input_tokens + one.output_tokens for one in model.billed) <= ceiling.tokens
    assert result.status is RunStatus.COMPLETED or not model.billed
    assert result.final_analysis or not model.billed


@settings(max_examples=settings().max_examples // 7)
@given(CEILINGS, PRICES, st.lists(st.lists(ACTS, min_size=1, max_size=2), min_size=2, max_size=3), st.floats(0.5, 1.6))
def test_agents_that_work_at_the_same_time_are_billed_no_more_than_their_ceiling_together(
    ceiling: Ceiling, price: Price, acts: list[list[Act]], density: float
) -> None:
    models = [Vendor(endless_tools, acts=tuple(one), density=density) for one in acts]

    async def go() -> None:
        ledger = Ledger(MemorySpending(), FixedClock())
        async with anyio.create_task_group() as agents:
            for number, model in enumerate(models):
                chain = with_ceiling(priced_chain(runaway_agent().model_copy(update={"max_iterations": 6})), ceiling)
                scenario, tools, prices = Scenario(chain, [], llm=model), ScriptedTools(characters=500), OnePrice(price)
                run = MemoryRun(scenario, TRACK, tools=tools, prices=prices, ledger=ledger, name=f"agent-{number}")
                agents.start_soon(run.run_until_stopped, StopState())

    anyio.run(go)
    if ceiling.usd is not None:
        assert sum(bill(model, price) for model in models) <= ceiling.usd
    if ceiling.tokens is not None:
        assert sum(one.input_tokens + one.output_tokens for model in models for one in model.billed) <= ceiling.tokens


def test_of_a_thousand_calls_in_one_answer_fifty_are_made_and_the_model_is_informed() -> None:
    tools, model = ScriptedTools(), Vendor(endless_tools, acts=(Act(0, 1_000, 0),))
    _, run = ended(model, Ceiling(usd=Decimal("0.5")), PRICE, tools)
    assert bill(model, PRICE) <= Decimal("0.5")
    asked = sum(1 for one in model.requests if one.tools)
    assert tools.made <= MAX_CALLS * asked
    notes = [one.content for one in model.requests[1].messages if re.match(r"Of your \d{3,4} calls only 50 were made", one.content)]
    assert len(notes) == 1
    warnings = [one.content for one in run.journal.events.values() if one.event_type is TimelineEventType.WARNING]
    assert any(re.match(r"The model made [\d,]+ calls in one answer, of which 50 were made", one) for one in warnings)


def test_a_huge_result_enters_as_far_as_the_next_call_can_be_paid() -> None:
    model = Vendor(endless_tools)
    result, run = ended(model, Ceiling(usd=Decimal("0.5")), PRICE, ScriptedTools(characters=200_000))
    assert bill(model, PRICE) <= Decimal("0.5")
    assert sum(1 for one in model.requests if one.tools) > 1, "the next call was paid"
    assert result.status is RunStatus.COMPLETED
    assert any("Cut: you see the first" in message.body.content for message in run.journal.messages.values())
    shortened = [one.value for one in run.journal.inputs.values() if isinstance(one.value, CeilingMet) and one.value.about == "result c0-0"]
    assert [one.description for one in shortened] == ["its ceiling of $0.50"]


def test_what_was_kept_for_the_conclusion_pays_for_it() -> None:
    # More than the conclusion's input: its conversation is cut.
    model = Vendor(endless_tools, acts=(Act(2_000, 3),))
    result, _ = ended(model, Ceiling(usd=Decimal(1)), PRICE, ScriptedTools(characters=20_000))
    assert bill(model, PRICE) <= 1
    assert not model.requests[-1].tools
    assert (result.final_analysis or "").startswith("Word "), "the model wrote it, not code"


def test_a_ceiling_that_the_first_call_nearly_uses_up_holds_before_the_model_has_counted_anything() -> None:
    called = list[bool]()
    for tokens in range(20_000, 140_000, 20_000):
        model = Vendor(endless_tools, density=1.6)
        ended(model, Ceiling(tokens=tokens), PRICE, ScriptedTools(), alert="The disk of node-1 is full. " * 4_000)
        assert sum(one.input_tokens + one.output_tokens for one in model.billed) <= tokens
        called.append(bool(model.billed))
    assert {*called} == {True, False}, "some ceilings are too low for a single call"


def test_answers_as_long_as_they_may_be_are_paid_for_whatever_is_left() -> None:
    for cents in range(3, 40, 3):
        ceiling, model = Ceiling(usd=Decimal(cents) / 100), Vendor(endless_tools, acts=(Act(30_000, 1),))
        ended(model, ceiling, PRICE, ScriptedTools())
        assert bill(model, PRICE) <= Decimal(cents) / 100


def test_calls_of_a_vendor_that_never_tells_what_it_bills_count_with_what_was_reserved() -> None:
    model = Vendor(endless_tools, reports=False)
    ended(model, Ceiling(tokens=20_000), PRICE, ScriptedTools(characters=4_000))
    assert len(model.billed) > 1
    assert sum(one.input_tokens + one.output_tokens for one in model.billed) <= 20_000
