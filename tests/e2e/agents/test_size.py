"""Results, alerts and conversations larger than a model can take."""

import re

import pytest

from support.agent_scenario import (
    PROVIDER,
    SERVER,
    SESSION_ID,
    SUMMARY,
    Scenario,
    agent,
    answers,
    calls,
    chain,
    conversation,
    fails,
    kinds,
    read_back,
    says,
    stage,
)
from support.long_texts import lines_apart
from support.queue_ground import LONG
from support.replaying import replayed
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.tool import ToolCalling

TRACK = "0.look/1.Investigator"
END = f"1.{SUMMARY}"
SMALL = PROVIDER.model_copy(update={"context_window": 16_000})


async def test_old_results_give_way_to_pointers_and_can_be_read_again(database_url: str) -> None:
    big = f"{lines_apart(440)}line 440: NEEDLE\n"
    turns = [says(TRACK, turn, calls(f"c{turn}", "k8s.logs", pod=str(turn))) for turn in range(6)]
    scenario = Scenario(
        chain(stage(agent(provider=SMALL, max_iterations=10))),
        [
            *turns,
            says(TRACK, 6, calls("again", "tarsy.read_result", id="A1", search="NEEDLE")),
            says(TRACK, 7, "Found it."),
            says(END, 0, "Found."),
        ],
        [answers(TRACK, f"c{turn}", "k8s.logs", f"pod {turn}\n{big}", f'{{"pod": "{turn}"}}') for turn in range(6)],
    )
    recording = await scenario.play(database_url)
    assert recording.outcome is not None
    assert recording.outcome.status == "completed"
    conversation = recording.outcome.conversations[TRACK]
    by_call = {message["tool_call_id"]: message["content"] for message in conversation if message["role"] == "tool"}
    assert 'tarsy__read_result, id "A1"' in by_call["c0"]
    assert "NEEDLE" not in by_call["c0"]
    assert "NEEDLE" in by_call["again"], "what was taken out is still there to be read"
    assert "NEEDLE" in by_call["c5"], "the newest result is whole"


async def test_old_observations_give_way_to_pointers_and_can_be_read_again(database_url: str) -> None:
    big = f"{lines_apart(440)}line 440: NEEDLE\n"
    turns = [says(TRACK, turn, f'Thought: Next.\nAction: k8s.logs\nAction Input: {{"pod": "{turn}"}}') for turn in range(6)]
    scenario = Scenario(
        chain(stage(agent(provider=SMALL, max_iterations=10, tool_calling=ToolCalling.REACT))),
        [
            *turns,
            says(TRACK, 6, "Thought: Again.\nAction: tarsy.read_result\nAction Input: id: A1\nsearch: NEEDLE"),
            says(TRACK, 7, "Thought: There.\nFinal Answer: Found it."),
            says(END, 0, "Found."),
        ],
        [answers(TRACK, f"react-{3 + 2 * turn}", "k8s.logs", f"pod {turn}\n{big}", f'{{"pod": "{turn}"}}') for turn in range(6)],
    )
    recording = await scenario.play(database_url)
    assert recording.outcome is not None
    assert recording.outcome.final_analysis == "Found it."
    observations = [content for role, content in conversation(recording.outcome, TRACK) if role == "user"]
    assert 'tarsy.read_result, id "A1"' in observations[0]
    assert "NEEDLE" not in observations[0]
    assert "NEEDLE" in observations[6], "what was taken out is still there to be read"
    assert "NEEDLE" in observations[5], "the newest result is whole"


async def test_a_huge_runbook_is_shown_in_part_and_can_be_read_whole(database_url: str) -> None:
    scenario = Scenario(
        chain(stage(agent(mcp_servers=())), default_runbook="x" * 400_000 + "NEEDLE"),
        [
            says(TRACK, 0, calls("a", "tarsy.read_result", id="RUNBOOK", search="NEEDLE")),
            says(TRACK, 1, "A needle."),
            says(END, 0, "Needle."),
        ],
        catalog=(),
    )
    recording = await scenario.play(database_url)
    assert recording.outcome is not None
    assert len(recording.outcome.conversations[TRACK][1]["content"]) < 100_000
    assert "NEEDLE" in recording.outcome.conversations[TRACK][3]["content"]


async def test_a_model_that_finds_the_conversation_too_long_gets_a_shorter_one(database_url: str) -> None:
    big = lines_apart(2_500)
    scenario = Scenario(
        chain(stage(agent(max_iterations=10))),
        [
            says(TRACK, 0, calls("c0", "k8s.logs")),
            says(TRACK, 1, calls("c1", "k8s.logs", pod="b")),
            says(TRACK, 2, calls("c2", "k8s.logs", pod="c")),
            says(TRACK, 3, calls("c3", "k8s.logs", pod="d")),
            says(TRACK, 4, calls("c4", "k8s.logs", pod="e")),
            says(TRACK, 5, fails("context_too_long", "400: too many tokens")),
            says(TRACK, 6, "It is the disk."),
            says(END, 0, "Disk."),
        ],
        [answers(TRACK, f"c{turn}", "k8s.logs", big) for turn in range(5)],
    )
    unsummarised = scenario.chain.model_copy(
        update={
            "mcp_servers": {"k8s": SERVER.model_copy(update={"summarization": SERVER.summarization.model_copy(update={"enabled": False})})}
        }
    )
    recording = await Scenario(unsummarised, scenario.calls, scenario.tools).play(database_url)
    assert recording.outcome is not None
    assert recording.outcome.status == "completed"
    contents = [message["content"] for message in recording.outcome.conversations[TRACK] if message["role"] == "tool"]
    assert "tarsy__read_result" in contents[0]


async def test_a_model_with_a_far_smaller_window_than_anybody_knew_still_concludes(database_url: str) -> None:
    """No result is large enough for a pointer: the oldest turns themselves give way."""
    found_too_long = fails("context_too_long", "400: at most 8192 tokens")
    words = " ".join(f"I look at pod {number}." for number in range(60))
    investigations = [says(TRACK, turn, f"Step {turn}. {words}", calls(f"c{turn}", "k8s.pods", n=turn)) for turn in range(34)]
    investigations[30] = says(TRACK, 30, found_too_long)
    scenario = Scenario(
        chain(stage(agent(max_iterations=34))),
        [*investigations, says(TRACK, 34, found_too_long), says(TRACK, 35, "It is the disk."), says(END, 0, "Disk.")],
        [answers(TRACK, f"c{turn}", "k8s.pods", "web-1 Running") for turn in range(34)],
    )
    async with scenario.running(database_url) as running:
        await running.pool.run_waiting(INVESTIGATION)
        sent = [call.message_count for call in (await running.services.repositories.interactions.trace(SESSION_ID)).llm]
        recording = await read_back(running)
    assert recording.outcome is not None
    assert recording.outcome.final_analysis == "It is the disk."
    assert max(sent[31:34]) < sent[30] / 2, "what was learned is remembered"
    assert sent[35] < sent[34], "a conclusion that was too long is asked for again, shorter"


async def test_a_request_that_cannot_get_shorter_ends_the_agent(database_url: str) -> None:
    scenario = Scenario(chain(stage(agent())), [says(TRACK, 0, fails("context_too_long", "400: at most 100 tokens"))])
    recording = await scenario.play(database_url)
    assert recording.outcome is not None
    assert recording.outcome.status == "failed"
    assert len(recording.calls) == 1, "the same again would be refused again"


async def test_a_large_result_is_summarised_and_the_original_kept(database_url: str) -> None:
    big = lines_apart(4_000) + "NEEDLE"
    scenario = Scenario(
        chain(stage(agent())),
        [
            says(TRACK, 0, "Logs, please.", calls("c0", "k8s.logs")),
            says(f"{TRACK}/summary/c0", 0, "Nothing unusual but a needle."),
            says(TRACK, 1, "It is a needle."),
            says(END, 0, "Needle."),
        ],
        [answers(TRACK, "c0", "k8s.logs", big)],
    )
    recording = await scenario.play(database_url)
    assert recording.outcome is not None
    assert [kind for kind, _ in kinds(recording.outcome, TRACK)] == [
        "llm_response",
        "llm_tool_call",
        "tool_result",
        "mcp_tool_summary",
        "final_analysis",
    ]
    shown = next(message["content"] for message in recording.outcome.conversations[TRACK] if message["role"] == "tool")
    assert "Nothing unusual but a needle." in shown
    assert "[Summary of a result of" in shown.rpartition("<<<END TOOL RESULT")[2], "what we say of it stands outside the fence"
    assert 'tarsy__read_result, id "A1"' in shown
    assert recording.tools[0].content.endswith("NEEDLE")
    asked = next(call for call in recording.outcome.timeline if call["event_type"] == "mcp_tool_summary")
    assert asked["metadata"]["evidence_id"] == "A1"


async def test_a_result_that_repeats_itself_is_folded_and_no_model_is_asked(database_url: str) -> None:
    big = "".join(f"10:{second // 60:02}:{second % 60:02} connection refused by db-1\n" for second in range(2_000)) + "NEEDLE"
    scenario = Scenario(
        chain(stage(agent())),
        [says(TRACK, 0, calls("c0", "k8s.logs")), says(TRACK, 1, "It is a needle."), says(END, 0, "Needle.")],
        [answers(TRACK, "c0", "k8s.logs", big)],
    )
    recording = await scenario.play(database_url)
    assert recording.outcome is not None
    shown = next(message["content"] for message in recording.outcome.conversations[TRACK] if message["role"] == "tool")
    assert "10:00:00 connection refused by db-1\n[1999 more lines like this one are folded; the last: 10:33:19 connection" in shown
    assert "NEEDLE" in shown
    assert len(shown) < 1_000
    assert len(recording.calls) == 3


async def test_what_a_summarising_model_cannot_be_given_is_the_middle_and_both_are_informed(database_url: str) -> None:
    big = f"OLDEST\n{lines_apart(15_000)}NEWEST"
    scenario = Scenario(
        chain(stage(agent(provider=SMALL))),
        [
            says(TRACK, 0, calls("c0", "k8s.logs", pod="web-1")),
            says(f"{TRACK}/summary/c0", 0, "All is well."),
            says(TRACK, 1, "Nothing."),
            says(END, 0, "Nothing."),
        ],
        [answers(TRACK, "c0", "k8s.logs", big, '{"pod": "web-1"}')],
    )
    async with scenario.running(database_url) as running:
        await running.pool.run_waiting(INVESTIGATION)
        trace = await running.services.repositories.interactions.trace(SESSION_ID)
        summary = next(call for call in trace.llm if call.kind == "summarization")
        asked = (await running.services.repositories.interactions.llm_call(SESSION_ID, summary.id)).conversation[1].body.content
        recording = await read_back(running)
    assert recording.outcome is not None
    assert ("OLDEST" in asked, "NEWEST" in asked, "characters from the middle are left out here" in asked) == (True, True, True)
    assert "This call: [A1] k8s.logs(pod=web-1) at " in asked
    shown = next(message["content"] for message in recording.outcome.conversations[TRACK] if message["role"] == "tool")
    offset = re.search(r"made by a model that read the first (\d+) and the last \d+ characters, not what lies between", shown)
    assert offset
    assert f'tarsy__read_result, id "A1"; what was left out begins at offset {offset[1]}.' in shown


async def test_a_summary_that_fails_leaves_the_beginning_the_end_and_a_notice(database_url: str) -> None:
    scenario = Scenario(
        chain(stage(agent())),
        [
            says(TRACK, 0, calls("c0", "k8s.logs")),
            says(f"{TRACK}/summary/c0", 0, fails("rate_limited", "429")),
            says(TRACK, 1, "It is the disk."),
            says(END, 0, "Disk."),
        ],
        [answers(TRACK, "c0", "k8s.logs", f"OLDEST\n{lines_apart(4_000)}NEWEST")],
    )
    recording = await scenario.play(database_url)
    assert recording.outcome is not None
    assert recording.outcome.status == "completed"
    shown = next(message["content"] for message in recording.outcome.conversations[TRACK] if message["role"] == "tool")
    assert ("OLDEST" in shown, "NEWEST" in shown) == (True, True)
    assert re.search(r"\[Cut: you see the first \d+ and the last \d+ characters of \d+; what lies between", shown)
    assert "tarsy__read_result" in shown


async def test_a_huge_alert_is_shown_in_part_and_can_be_read_whole(database_url: str) -> None:
    alert = "x" * 900_000 + "NEEDLE"
    scenario = Scenario(
        chain(stage(agent())),
        [
            says(TRACK, 0, calls("a", "tarsy.read_result", id="ALERT", search="NEEDLE")),
            says(TRACK, 1, "A needle."),
            says(END, 0, "Needle."),
        ],
        alert=alert,
        extra_tracks=(TRACK,),
    )
    recording = await scenario.play(database_url)
    assert recording.outcome is not None
    assert len(recording.outcome.conversations[TRACK][1]["content"]) < 200_000
    assert "NEEDLE" in recording.outcome.conversations[TRACK][3]["content"]


async def test_hundreds_of_iterations_and_calls_stay_within_the_window(database_url: str) -> None:
    # `make chaos` takes three hundred.
    iterations, per_turn = (300, 7) if LONG else (23, 9)
    turns = [
        says(TRACK, turn, *(calls(f"c{turn}-{n}", "k8s.logs", pod=f"{turn}-{n}") for n in range(per_turn))) for turn in range(iterations)
    ]
    scenario = Scenario(
        chain(stage(agent(max_iterations=iterations + 1, provider=SMALL)), session_timeout=300.0),
        [*turns, says(TRACK, iterations, "Done."), says(END, 0, "Done.")],
        [
            answers(TRACK, f"c{turn}-{n}", "k8s.logs", f"result {turn} {n} " * 20, f'{{"pod": "{turn}-{n}"}}')
            for turn in range(iterations)
            for n in range(per_turn)
        ],
    )
    async with scenario.running(database_url) as running:
        await running.pool.run_waiting(INVESTIGATION)
        sent = [call.message_count for call in (await running.services.repositories.interactions.trace(SESSION_ID)).llm]
        recording = await read_back(running)
    assert recording.outcome is not None
    assert recording.outcome.status == "completed"
    assert max(sent) < 200, "what is sent does not grow with the length of the session"
    assert len(recording.tools) == iterations * per_turn
    counts = [call.turn for call in recording.calls if call.track == TRACK]
    assert counts == list(range(iterations + 1))


async def test_a_long_list_is_folded_below_every_limit_and_what_is_rare_is_quoted_from_it(database_url: str) -> None:
    rows = [f"shop   cart-{n:04x}   1/1   Running   0   5d" for n in range(200)]
    sick = "shop   cart-sick   0/1   CrashLoopBackOff   7   5d"
    listed = "\n".join(("NS     NAME   READY   STATUS   RESTARTS   AGE", *rows[:90], sick, *rows[90:]))
    scenario = Scenario(
        chain(stage(agent())),
        [says(TRACK, 0, calls("c0", "k8s.pods")), says(TRACK, 1, f'Sick [A1: "{sick}"].'), says(END, 0, "Sick.")],
        [answers(TRACK, "c0", "k8s.pods", listed)],
    )
    async with scenario.running(database_url) as running:
        await running.pool.run_waiting(INVESTIGATION)
        session = await running.services.repositories.sessions.get(SESSION_ID)
        recording = await read_back(running)
    assert recording.outcome is not None
    shown = next(message["content"] for message in recording.outcome.conversations[TRACK] if message["role"] == "tool")
    assert len(shown) < len(listed) / 2
    assert f"\n{sick}\n" in shown
    assert "[Folded: what repeats is shown once with its count" in shown.rpartition("<<<END TOOL RESULT")[2]
    assert recording.tools[0].content == listed, "the whole result is kept"
    assert session.citations is not None
    assert session.citations.verified == 1
    assert await replayed(database_url, recording) == []


@pytest.mark.parametrize("react", [False, True])
async def test_an_equal_result_of_a_later_turn_is_not_sent_again(database_url: str, *, react: bool) -> None:
    text = "\n".join(f"node-{n} is Ready, and its kubelet is of the version {'abcdefgh'[n % 8] * n}" for n in range(20))
    act = 'Thought: Look.\nAction: k8s.pods\nAction Input: {"n": 0}'
    turns = [says(TRACK, n, act if react else calls(f"c{n}", "k8s.pods", n=0)) for n in range(2)]
    last = "Final Answer: Fine." if react else "Fine."
    ids = ("react-3", "react-5") if react else ("c0", "c1")
    scenario = Scenario(
        chain(stage(agent(tool_calling=ToolCalling.REACT if react else ToolCalling.NATIVE))),
        [*turns, says(TRACK, 2, last), says(END, 0, "Fine.")],
        [answers(TRACK, name, "k8s.pods", text, '{"n": 0}') for name in ids],
    )
    recording = await scenario.play(database_url)
    assert recording.outcome is not None
    results = [message["content"] for message in recording.outcome.conversations[TRACK] if "] k8s.pods(n=0) at " in message["content"]]
    assert text in results[0]
    assert results[1].endswith("\n[The same as A1, character for character.]")
    assert recording.tools[1].content == text
    assert await replayed(database_url, recording) == []
