"""A tree of agents that dies after any step of any of them is continued to the same end: no stored answer is requested again, no stored call made again, no stored sub-agent sent again."""

from typing import Any

import pytest

from support.agent_scenario import Scenario, agent, answers, calls, chain, fails, says, stage
from support.memory_run import DiedError
from support.memory_tree import MemoryTree, TreeJournal
from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedOrchestrator
from tarsy.domain.tool import ToolCalling
from tarsy.kit.groups import single_errors
from tarsy.session.stage_runner import RanStage

LEAD = "0.look/1.Lead"
OUT = fails("provider_unavailable", "503", retryable=True)
VERDICT = "```verdict\noutcome: fault\nmechanism: full\nconfidence: high\nevidence: [A2.1]\n```"
ENDS = f'The disk is full [A2.1: "No space left on device"].\n{VERDICT}'


def sub_agent(name: str, **changes: Any) -> ResolvedAgentConfig:
    return agent(name, description=f"What {name} is for", **changes)


def lead(**changes: Any) -> ResolvedAgentConfig:
    return agent("Lead", mcp_servers=(), sub_agents=(sub_agent("PodAgent"), sub_agent("LogAgent", **changes)))


def sends(call_id: str, name: str, task: str, **more: Any) -> dict[str, Any]:
    return calls(call_id, "tarsy.run_agent", name=name, task=task, **more)


def scenario(*logs: Any, ends: Any = ENDS, config: ResolvedAgentConfig | None = None, top: tuple[Any, ...] | None = None) -> Scenario:
    """A lead that sends two agents at once, of which the second says `logs`."""
    first = top or (sends("a", "PodAgent", "Which pods restart?"), sends("b", "LogAgent", "What do they say?"))
    pods, second = f"{LEAD}/1.PodAgent", f"{LEAD}/2.LogAgent"
    return Scenario(
        chain(stage(config or lead())),
        [
            says(LEAD, 0, *first),
            says(pods, 0, calls("p", "k8s.pods")),
            says(pods, 1, 'web-1 restarts [A1.1: "web-1 CrashLoopBackOff"].'),
            *(says(second, turn, *(answered if isinstance(answered, tuple) else (answered,))) for turn, answered in enumerate(logs)),
            says(LEAD, 1, ends),
        ],
        [
            answers(pods, "p", "k8s.pods", "web-1 CrashLoopBackOff"),
            *(answers(second, call_id, "k8s.logs", "No space left on device") for call_id in ("l", "m", "react-3")),
        ],
    )


LOGS = (calls("l", "k8s.logs"), calls("m", "k8s.logs", previous=True))
REPORT = 'It cannot write [A2.1: "No space left on device"].'
SCENARIOS = {
    "two at once": scenario(LOGS, REPORT),
    "one in text": scenario(
        "Thought: Look.\nAction: k8s.logs\nAction Input: {}", f"Final Answer: {REPORT}", config=lead(tool_calling=ToolCalling.REACT)
    ),
    "one that corrects itself": scenario(LOGS, "It is the cat [A2.9].", REPORT),
    "one that fails": scenario(LOGS, fails("credentials", "401")),
    "one whose model is out for a while": scenario(LOGS, *(OUT for _ in range(4)), REPORT),
    "one that is refused": scenario(top=(sends("a", "PodAgent", "Which pods restart?"), sends("b", "Nobody", "Look."))),
    "one after the other": scenario(
        LOGS,
        REPORT,
        config=lead().model_copy(update={"orchestrator": ResolvedOrchestrator(max_concurrent_agents=1)}),
    ),
}


async def _until_death(tree: MemoryTree) -> None:
    with pytest.raises(DiedError), single_errors():
        await tree.go_on()


def outcome(ran: RanStage) -> object:
    """How a stage ended, and what its agents concluded."""
    results = [(result.status, result.final_analysis.strip()) for result in ran.results]
    return ran.close.status, ran.close.error_message, results


@pytest.mark.parametrize("apart", [3, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", SCENARIOS)
async def test_a_tree_of_agents_that_dies_after_any_step_is_continued_to_the_same_end(name: str, apart: int) -> None:
    whole = MemoryTree(SCENARIOS[name])
    expected = await whole.go_on()
    assert whole.journal.steps > 8
    for step in range(0, whole.journal.steps, apart):
        tree = MemoryTree(SCENARIOS[name], TreeJournal(dies_after=step))
        await _until_death(tree)
        tree.journal.dies_after = None
        ended = await tree.go_on()
        assert outcome(ended) == outcome(expected), f"died after {step} steps"
        assert tree.journal.contents() == whole.journal.contents(), f"died after {step} steps"
