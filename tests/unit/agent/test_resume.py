"""An agent that dies after any step is continued to the same end: same words, same tools, same judgement."""

from typing import Any

import pytest

from e2e.agents.scenario import OTHER, Scenario, agent, answers, calls, chain, fails, fallback, says, stage, thinks
from tarsy.agent.execution import ExecutionResult
from tarsy.domain.agent import ToolCalling
from tarsy.kit.groups import single_errors
from unit.agent.memory_run import DiedError, MemoryJournal, MemoryRun

TRACK = "0.look/1.Investigator"
LOOP = "Let me check the pods again. " * 400


def _native(*turns: Any, timeouts: tuple[str, ...] = (), **changes: Any) -> Scenario:
    """A scenario whose tools always give the same; calls in `timeouts` get no answer."""
    asked = ("c0", "c1", "c2", "c3", "c4", "d0", "call_0", "call-5-1")
    results = [answers(TRACK, call_id, "k8s.pods", f"{call_id} Running") for call_id in asked if call_id not in timeouts]
    results += [answers(TRACK, call_id, "k8s.pods", "no answer", is_error=True, is_timeout=True) for call_id in timeouts]
    said = [says(TRACK, number, *(turn if isinstance(turn, tuple) else (turn,))) for number, turn in enumerate(turns)]
    return Scenario(chain(stage(agent(max_iterations=9, **changes))), said, results)


def _react(*turns: str) -> Scenario:
    said = [says(TRACK, number, turn) for number, turn in enumerate(turns)]
    results = [answers(TRACK, f"react-{place}", "k8s.pods", "web-1 Running") for place in range(3, 30)]
    return Scenario(chain(stage(agent(max_iterations=9, tool_calling=ToolCalling.REACT))), said, results)


def _call(number: int) -> dict[str, Any]:
    return calls(f"c{number}", "k8s.pods", namespace="shop")


ACTION = "Thought: Attempt.\nAction: k8s.pods\nAction Input: {}"
TIMEOUT = fails("timeout", "nothing came")

SCENARIOS = {
    "the same call again and again": _native(*(_call(number) for number in range(5)), "Unknown."),
    "the same call until the nudge helps": _native(*(_call(number) for number in range(3)), "It is the disk."),
    "the same call in text": _react(*(ACTION for _ in range(5)), "Thought: Well.\nFinal Answer: Unknown."),
    "malformed again and again": _react(*("Let me see." for _ in range(5)), "Unknown."),
    "a loop twice": _native(LOOP, LOOP, "Unknown."),
    "a loop twice in text": _react(f"Thought: {LOOP}", f"Thought: {LOOP}", "Final Answer: Unknown."),
    "an error after the nudge": _native(
        *(_call(number) for number in range(3)), fails("rate_limited", "429", retryable=True), "It is the disk."
    ),
    "ids that begin anew with every answer": _native(calls("call_0", "k8s.pods", n=0), calls("call_0", "k8s.pods", n=1), "It is the disk."),
    "several tools": _native((thinks("Hm."), "Both.", _call(0), calls("d0", "k8s.pods", all=True)), "It is the disk."),
    "two timeouts of the model": _native(TIMEOUT, TIMEOUT),
    "two timeouts of tools": _native(_call(0), _call(1), timeouts=("c0", "c1")),
    "a timeout of the model and one of a tool": _native(TIMEOUT, _call(1), timeouts=("c1",)),
    "a timeout of a tool and one of the model": _native(_call(0), TIMEOUT, timeouts=("c0",)),
    "timeouts apart from each other": _native(_call(0), _call(1), TIMEOUT, "It is the disk.", timeouts=("c0",)),
    "another model after two timeouts": _native(TIMEOUT, TIMEOUT, _call(2), "It is the disk.", fallback_providers=(fallback(OTHER),)),
    "another model after a wrong key": _native(
        fails("credentials", "401"), _call(1), "It is the disk.", fallback_providers=(fallback(OTHER),)
    ),
}


async def _until_death(run: MemoryRun) -> ExecutionResult | None:
    try:
        with single_errors():
            return await run.go_on()
    except DiedError:
        return None


def _told(result: ExecutionResult) -> tuple[Any, ...]:
    return (result.status, result.final_analysis, result.error, result.usage)


@pytest.mark.parametrize("name", SCENARIOS)
async def test_an_agent_that_dies_after_any_step_is_continued_to_the_same_end(name: str) -> None:
    scenario = SCENARIOS[name]
    whole = MemoryRun(scenario, TRACK)
    expected = await whole.go_on()
    assert whole.journal.steps > 3
    for step in range(whole.journal.steps):
        run = MemoryRun(scenario, TRACK, MemoryJournal(dies_after=step))
        assert await _until_death(run) is None, f"it should have died after {step} steps"
        run.journal.dies_after = None
        assert _told(await run.go_on()) == _told(expected), f"died after {step} steps"
        assert run.journal.conversation() == whole.journal.conversation(), f"died after {step} steps"
        assert [call.turn for call in run.journal.llm] == [call.turn for call in whole.journal.llm]
        shown = run.journal.timeline()
        assert [event for event in whole.journal.timeline() if event not in shown] == [], f"died after {step} steps"
