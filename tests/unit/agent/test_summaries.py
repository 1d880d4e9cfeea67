"""What a model with a small window is given of a large result."""

from typing import Any

import pytest

from support.agent_scenario import PROVIDER, Scenario, agent, answers, calls, chain, fails, says, stage
from support.long_texts import lines_apart
from support.memory_run import MemoryRun
from tarsy.kit.text import estimate_tokens

TRACK = "0.look/1.Investigator"
WINDOW = 16_000
SMALL = PROVIDER.model_copy(update={"context_window": WINDOW})
RESULTS = {"plain": lines_apart(17_000), "dense": "".join(f"\u78c1\u76e4{line}" for line in lines_apart(15_000).splitlines(keepends=True))}


def _run(result: str, summary: Any) -> MemoryRun:
    answered = [says(TRACK, 0, calls("c0", "k8s.logs")), says(f"{TRACK}/summary/c0", 0, summary), says(TRACK, 1, "It is the disk.")]
    return MemoryRun(Scenario(chain(stage(agent(provider=SMALL))), answered, [answers(TRACK, "c0", "k8s.logs", result)]), TRACK)


@pytest.mark.parametrize("script", RESULTS)
async def test_the_summarising_model_gets_what_it_can_carry(script: str) -> None:
    run = _run(RESULTS[script], "All is well.")
    await run.go_on()
    asked = run.journal.llm[1].request["messages"]
    assert WINDOW // 4 < sum(estimate_tokens(message["content"]) for message in asked) < WINDOW * 3 // 4


@pytest.mark.parametrize("script", RESULTS)
@pytest.mark.parametrize("fails_to", [True, False], ids=["failed", "endless"])
async def test_whatever_comes_of_the_summary_a_result_takes_a_quarter_of_the_window_at_most(script: str, *, fails_to: bool) -> None:
    words = " ".join(f"{number}: {RESULTS[script][:4]}" for number in range(20_000))
    run = _run(RESULTS[script], fails("rate_limited", "429") if fails_to else words)
    await run.go_on()
    shown = run.journal.conversation()[3][2]
    assert "tarsy__read_result" in shown
    assert WINDOW // 8 < estimate_tokens(shown) < WINDOW // 4 + 200


async def test_each_call_of_a_turn_is_summarised_for_its_own_purpose() -> None:
    large = RESULTS["plain"]
    asked = ("Logs of both, please.", calls("c0", "k8s.logs", pod="web-1"), calls("c1", "k8s.logs", pod="web-2"))
    answered = [
        says(TRACK, 0, *asked),
        *(says(f"{TRACK}/summary/{call}", 0, "All is well.") for call in ("c0", "c1")),
        says(TRACK, 1, "Fine."),
    ]
    results = [answers(TRACK, call, "k8s.logs", large, f'{{"pod": "{pod}"}}') for call, pod in (("c0", "web-1"), ("c1", "web-2"))]
    run = MemoryRun(Scenario(chain(stage(agent(provider=SMALL))), answered, results), TRACK)
    await run.go_on()
    questions = [call.request["messages"][1]["content"] for call in run.journal.llm if call.kind == "summarization"]
    lines = [line for one in questions for line in one.splitlines() if line.startswith("This call:")]
    assert sorted(line.partition(" at ")[0] for line in lines) == [
        "This call: [A1] k8s.logs(pod=web-1)",
        "This call: [A2] k8s.logs(pod=web-2)",
    ]
