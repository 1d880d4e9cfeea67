"""Chains: stages in order, agents side by side, synthesis, and what failure leaves."""

import re

import pytest

from support.agent_scenario import SUMMARY, Scenario, agent, agrees_with_golden, answers, calls, chain, fails, says, stage
from tarsy.domain.recording import RecordedCall
from tarsy.domain.stage import SuccessPolicy
from tarsy.domain.tool import ToolCalling

MIDDLE = (agent("Left"), agent("Right"))


def three_stages(policy: SuccessPolicy) -> Scenario:
    return Scenario(
        chain(stage(agent("First"), name="one"), stage(*MIDDLE, name="two", policy=policy), stage(agent("Last"), name="three")),
        [
            says("0.one/1.First", 0, "First found a full disk."),
            says("1.two/1.Left", 0, "Left found old logs."),
            says("1.two/2.Right", 0, fails("credentials", "401")),
            *_rest(policy),
        ],
    )


def _rest(policy: SuccessPolicy) -> tuple[RecordedCall, ...]:
    if policy is SuccessPolicy.ALL:
        return ()
    return (
        says("2.two synthesis/1.SynthesisAgent", 0, "Old logs filled the disk."),
        says("3.three/1.Last", 0, "Rotate the logs."),
        says(f"4.{SUMMARY}", 0, "Rotate."),
    )


async def test_one_agent_of_a_parallel_stage_may_fail_when_any_success_counts(database_url: str) -> None:
    recording = await three_stages(SuccessPolicy.ANY).play(database_url)
    agrees_with_golden(recording, "three_stages_any")
    assert recording.outcome is not None
    assert recording.outcome.status == "completed"
    assert recording.outcome.final_analysis == "Rotate the logs."
    last = recording.outcome.conversations["3.three/1.Last"][1]["content"]
    assert "Old logs filled the disk." in last
    assert "First found a full disk." in last


async def test_one_failing_agent_ends_the_chain_when_all_must_succeed_but_its_finds_are_kept(database_url: str) -> None:
    recording = await three_stages(SuccessPolicy.ALL).play(database_url)
    agrees_with_golden(recording, "three_stages_all")
    assert recording.outcome is not None
    assert recording.outcome.status == "failed"
    assert recording.outcome.final_analysis == "Left found old logs."


async def test_replicas_run_the_same_agent_side_by_side(database_url: str) -> None:
    twins = (agent("Twin"), agent("Twin"))
    recording = await Scenario(
        chain(stage(*twins, name="two", replicas=True)),
        [
            says("0.two/1.Twin", 0, "It is the disk."),
            says("0.two/2.Twin", 0, "It is the network."),
            says("1.two synthesis/1.SynthesisAgent", 0, "The disk; the network is a symptom."),
            says(f"2.{SUMMARY}", 0, "Disk."),
        ],
    ).play(database_url)
    agrees_with_golden(recording, "replicas")
    assert recording.outcome is not None
    synthesis = recording.outcome.conversations["1.two synthesis/1.SynthesisAgent"][1]["content"]
    assert "It is the disk." in synthesis
    assert "It is the network." in synthesis
    assert recording.outcome.final_analysis == "The disk; the network is a symptom."


async def test_a_synthesis_without_words_takes_its_thoughts(database_url: str) -> None:
    recording = await Scenario(
        chain(stage(*MIDDLE, name="two")),
        [
            says("0.two/1.Left", 0, "A."),
            says("0.two/2.Right", 0, "B."),
            says("1.two synthesis/1.SynthesisAgent", 0, {"thinking": "A and B."}),
            says(f"2.{SUMMARY}", 0, "A and B."),
        ],
    ).play(database_url)
    agrees_with_golden(recording, "synthesis_of_thoughts")
    assert recording.outcome is not None
    assert recording.outcome.final_analysis == "A and B."


@pytest.mark.parametrize("broken", [1, 2])
async def test_an_exception_in_one_agent_never_harms_the_other(database_url: str, broken: int) -> None:
    """The recording lacks a call: the player answers with an error; a snapshot that names a missing server raises in one agent."""
    agents = tuple(
        agent(name, mcp_servers=("nowhere",) if index == broken else ("k8s",)) for index, name in enumerate(("Left", "Right"), start=1)
    )
    good = "Right" if broken == 1 else "Left"
    recording = await Scenario(
        chain(stage(*agents, name="two")),
        [
            says(f"0.two/{3 - broken}.{good}", 0, "It is the disk."),
            says("1.two synthesis/1.SynthesisAgent", 0, "The disk."),
            says(f"2.{SUMMARY}", 0, "Disk."),
        ],
    ).play(database_url)
    assert recording.outcome is not None
    assert recording.outcome.status == "completed"
    assert recording.outcome.final_analysis == "The disk."


async def test_two_agents_of_one_name_both_get_earlier_work_with_its_ids(database_url: str) -> None:
    twins = (agent("Twin"), agent("Twin", tool_calling=ToolCalling.REACT))
    recording = await Scenario(
        chain(stage(agent("First"), name="one"), stage(*twins, name="two")),
        [
            says("0.one/1.First", 0, calls("a", "k8s.pods")),
            says("0.one/1.First", 1, "The disk is full."),
            says("1.two/1.Twin", 0, "Old logs."),
            says("1.two/2.Twin", 0, "Final Answer: Old logs."),
            says("2.two synthesis/1.SynthesisAgent", 0, "Old logs."),
            says(f"3.{SUMMARY}", 0, "Logs."),
        ],
        [answers("0.one/1.First", "a", "k8s.pods", "web-1 Evicted")],
    ).play(database_url)
    assert recording.outcome is not None
    for number in (1, 2):
        reported = recording.outcome.conversations[f"1.two/{number}.Twin"][1]["content"]
        assert re.search(r"\[A1\] k8s\.pods\(\) at \S+Z\n<<<BEGIN TOOL RESULT \w+>>>\nweb-1 Evicted\n<<<END", reported)
