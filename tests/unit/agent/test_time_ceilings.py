"""Ceilings of time: whatever time its model and its tools take, an agent ends within its ceiling and has an analysis, by code if need be."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.agent_scenario import Scenario
from support.memory_run import MemoryRun
from support.runaway import TRACK, Runaway, ScriptedTools, endless_tools, priced_chain, with_ceiling
from support.virtual_time import LoopClock, in_virtual_time
from tarsy.agent.execution import ExecutionResult, StopState
from tarsy.domain.budget import Ceiling
from tarsy.domain.conclusion import WRITTEN_BY_CODE
from tarsy.domain.history import CEILING
from tarsy.domain.interaction import LLMInteraction
from tarsy.domain.llm import Chunk, ErrorCode, GenerateInput, TextChunk
from tarsy.domain.status import RunStatus, TimelineStatus
from tarsy.domain.timeline import TimelineEvent, TimelineEventType

FOR_EVER = 1e6
FORTY_SECONDS = "its ceiling of 40 s"


@dataclass
class Slow(Runaway):
    """Takes so many `seconds` for each answer, and for its conclusion, of which the first words come at once."""

    seconds: Sequence[float] = (5.0,)
    conclusion: float = 5.0
    first_words: str = ""

    async def generate(self, request: GenerateInput) -> AsyncGenerator[Chunk]:
        if self.first_words and not request.tools:
            yield TextChunk(self.first_words)
        await anyio.sleep(self.seconds[len(self.requests) % len(self.seconds)] if request.tools else self.conclusion)
        async for chunk in super().generate(request):
            yield chunk


@dataclass
class Ended:
    result: ExecutionResult
    after: float
    events: Sequence[TimelineEvent]
    calls: Sequence[LLMInteraction]

    @property
    def analysis(self) -> TimelineEvent:
        shown = [one for one in self.events if one.event_type is TimelineEventType.FINAL_ANALYSIS]
        (found,) = (one for one in shown if one.status is TimelineStatus.COMPLETED)
        return found


def ended(model: Runaway, limit: float, tools: ScriptedTools | None = None) -> Ended:
    async def run() -> Ended:
        chain = with_ceiling(priced_chain(), Ceiling(seconds=limit))
        run = MemoryRun(Scenario(chain, [], llm=model), TRACK, tools=tools or ScriptedTools(), clock=LoopClock())
        result = await run.run_until_stopped(StopState())
        return Ended(result, anyio.current_time(), list(run.journal.events.values()), run.journal.llm)

    return in_virtual_time(run)


def test_a_model_that_needs_five_seconds_an_answer_concludes_within_forty() -> None:
    model = Slow(endless_tools)
    found = ended(model, 40)
    assert found.result.status is RunStatus.COMPLETED
    assert found.result.final_analysis == "The disk of node-1 is full."
    assert len(model.requests) > 5
    assert found.after <= 40
    assert found.analysis.metadata[CEILING] == FORTY_SECONDS


def test_a_conclusion_that_takes_too_long_is_replaced_by_what_was_seen() -> None:
    found = ended(Slow(endless_tools, conclusion=FOR_EVER, first_words="The disk of node-1 "), 40)
    assert found.result.status is RunStatus.COMPLETED
    assert found.after == pytest.approx(40)
    assert found.analysis.content == found.result.final_analysis
    assert found.analysis.content.startswith(f"The investigation was ended by {FORTY_SECONDS} before its model had concluded.")
    assert "## Beginning of the conclusion\n\nThe disk of node-1" in found.analysis.content
    assert "- [A2] k8s.logs(): 2: no space left on device" in found.analysis.content
    assert found.analysis.metadata[CEILING] == FORTY_SECONDS
    assert FORTY_SECONDS in str(found.analysis.metadata[WRITTEN_BY_CODE])
    errors = [one.content for one in found.events if one.event_type is TimelineEventType.ERROR]
    assert errors[-1] == f"the answer was cut off after 10.0 s by {FORTY_SECONDS}"
    assert all(FORTY_SECONDS in error for error in errors), "our own ceiling is no outage of the model"


def test_the_time_of_the_longest_answer_is_kept_for_the_conclusion() -> None:
    model = Slow(endless_tools, seconds=(12.0, 2.0), conclusion=11.0)
    found = ended(model, 40)
    assert WRITTEN_BY_CODE not in found.analysis.metadata
    assert found.after <= 40


def test_a_tool_that_does_not_answer_leaves_the_time_for_the_conclusion() -> None:
    found = ended(Slow(endless_tools), 40, ScriptedTools(seconds=FOR_EVER))
    assert found.result.final_analysis == "The disk of node-1 is full."
    assert found.after <= 40


def test_a_call_that_was_cut_off_is_stored_with_the_tokens_it_probably_used() -> None:
    found = ended(Slow(endless_tools, conclusion=FOR_EVER, first_words="The disk of node-1 is full. " * 40), 40)
    cut = found.calls[-1]
    assert cut.error_code == ErrorCode.CEILING
    assert cut.usage_estimated
    assert cut.usage.input_tokens > 100
    assert cut.usage.output_tokens > 200
    assert not found.calls[0].usage_estimated


TIMES = st.floats(1, 60) | st.just(FOR_EVER)


@given(st.floats(1, 60), st.lists(TIMES, min_size=1, max_size=6), TIMES, TIMES, st.sampled_from(["", "The disk "]))
def test_whatever_time_anything_takes_an_agent_ends_within_its_ceiling_and_has_an_analysis(
    limit: float, answers: list[float], conclusion: float, tool: float, first_words: str
) -> None:
    found = ended(Slow(endless_tools, seconds=answers, conclusion=conclusion, first_words=first_words), limit, ScriptedTools(tool))
    assert found.result.status is RunStatus.COMPLETED
    assert found.after <= limit * 1.001
    assert found.result.final_analysis
