"""An agent that is cut short at any step, played again, comes just as far and ends there in the same words."""

from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest

from support.agent_scenario import Scenario, agent, answers, calls, chain, says, stage, thinks
from support.long_texts import lines_apart
from support.memory_run import MemoryJournal, MemoryRun
from tarsy.agent.execution import StopReason, StopState
from tarsy.domain.run_input import CutShort, InputKind, input_fields, input_of
from tarsy.domain.status import RunStatus
from tarsy.domain.step import Step
from tarsy.domain.tool import ToolCalling

TRACK = "0.look/1.Investigator"
VERDICT = "```verdict\noutcome: fault\nmechanism: full\nconfidence: high\nevidence: [A1]\n```"
ACTION = "Thought: Look.\nAction: k8s.pods\nAction Input: {}"


def _scenario(*turns: Any, result: str = "web-1 Evicted", summary: str = "", **changes: Any) -> Scenario:
    answered = [says(TRACK, number, *(turn if isinstance(turn, tuple) else (turn,))) for number, turn in enumerate(turns)]
    answered += [says(f"{TRACK}/summary/{one}", 0, summary) for one in ("c0", "c1") if summary]
    results = [answers(TRACK, one, "k8s.pods", result) for one in ("c0", "c1", "c2", "react-3")]
    return Scenario(chain(stage(agent(**changes))), answered, results)


TWO_CALLS = (thinks("Both at once."), "I look.", calls("c0", "k8s.pods"), calls("c1", "k8s.pods", n=1))
SCENARIOS = {
    "words and tools": _scenario(TWO_CALLS, calls("c2", "k8s.pods", n=2), "It is the disk."),
    "a tool in text": _scenario(ACTION, "Final Answer: It is the disk.", tool_calling=ToolCalling.REACT),
    "a correction": _scenario(calls("c0", "k8s.pods"), f"The cat [A9].\n{VERDICT}", f'Evicted [A1: "web-1 Evicted"].\n{VERDICT}'),
    "a correction that looks something up": _scenario(
        calls("c0", "k8s.pods"), f"The cat [A9].\n{VERDICT}", calls("c1", "k8s.pods", n=1), f'Evicted [A2: "web-1 Evicted"].\n{VERDICT}'
    ),
    "summaries": _scenario(TWO_CALLS, "It is the disk.", result=lines_apart(1_200), summary="All alike."),
    "a forced conclusion": _scenario(calls("c0", "k8s.pods"), "It is the disk.", max_iterations=1),
}


@dataclass(slots=True)
class Cutting(MemoryJournal):
    """Stops the run once it has written `after` steps."""

    after: int | None = None
    stopping: StopState = field(default_factory=lambda: StopState(parent=StopState()))
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    def write(self, step: Step) -> None:
        MemoryJournal.write(self, step)
        if self.steps == self.after:
            self.end(CutShort(cancelled=False, reason="it did not end within 5 s"))

    def end(self, cut: CutShort) -> None:
        self.stopping.own_reason, self.stopping.timeout_message = (
            StopReason.CANCELLED if cut.cancelled else StopReason.TIMED_OUT,
            cut.reason,
        )
        self.scope.cancel()


async def _run(scenario: Scenario, journal: Cutting, **more: Any) -> Cutting:
    with journal.scope:
        await MemoryRun(scenario, TRACK, journal, end=journal.end, **more).run_until_stopped(journal.stopping)
    return journal


def _story(journal: Cutting) -> Any:
    return journal.status, journal.conversation(), journal.timeline(), journal.inputs


@pytest.mark.parametrize("name", SCENARIOS)
async def test_an_agent_that_was_cut_short_at_any_step_is_cut_short_there_again(name: str) -> None:
    scenario = SCENARIOS[name]
    whole = await _run(scenario, Cutting())
    assert whole.status is RunStatus.COMPLETED
    cuts: list[CutShort] = []
    for step in range(1, whole.steps):
        recorded = await _run(scenario, Cutting(after=step))
        assert recorded.status is RunStatus.TIMED_OUT
        cuts += [one.value for one in recorded.inputs.values() if isinstance(one.value, CutShort)]
        if not cuts[-1].begun:
            continue
        replayed = await _run(scenario, Cutting(), recorded_inputs=tuple(recorded.inputs.values()))
        assert _story(replayed) == _story(recorded), f"cut after {step} steps"
    assert len(cuts) == whole.steps - 1
    assert any(cut.unfinished for cut in cuts)


def test_where_an_agent_was_cut_short_is_read_as_it_was_stored() -> None:
    cut = CutShort(cancelled=True, waiting=("c1",), begun=True)
    assert input_of(InputKind.CUT_SHORT, "", input_fields(cut)) == cut
    with pytest.raises(ValueError, match="`waiting`"):
        input_of(InputKind.CUT_SHORT, "", {"cancelled": True})
