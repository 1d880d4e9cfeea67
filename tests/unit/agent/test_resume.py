"""An agent that dies after any step is continued to the same end: same words, same tools, same judgement."""

from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import anyio
import pytest

from support.agent_scenario import OTHER, PROVIDER, Scenario, agent, answers, calls, chain, fails, fallback, says, stage, thinks
from support.long_texts import lines_apart
from support.memory_run import DiedError, MemoryJournal, MemoryRun
from tarsy.agent.execution import ExecutionResult, StopReason, StopState
from tarsy.config.resolve.resolved import ResolvedJudge
from tarsy.domain.conversation import ToolCall
from tarsy.domain.llm import Chunk, GenerateInput, LLMBackend, LLMHealth
from tarsy.domain.recording import Recording
from tarsy.domain.run_input import PlacedInput, ReadAt, place_of
from tarsy.domain.status import RunStatus
from tarsy.domain.tool import ToolCalling, ToolCatalog, ToolDefinition, ToolResult
from tarsy.kit.clock import FixedClock
from tarsy.kit.groups import single_errors
from tarsy.llm.in_process import in_process_client

TRACK = "0.look/1.Investigator"
LOOP = "Let me check the pods again. " * 400
SMALL = PROVIDER.model_copy(update={"context_window": 16_000})
# Summarised before it is shown, and (cut) too large for two to stay in a small window. In one line, which is folded fastest.
LARGE = lines_apart(1_200).replace("\n", " ")
MEDIUM = lines_apart(600).replace("\n", " ")


def _native(*turns: Any, timeouts: tuple[str, ...] = (), result: str = "Running", summary: Any = None, **changes: Any) -> Scenario:
    """A scenario whose tools always give the same; calls in `timeouts` get no answer."""
    asked = ("c0", "c1", "c2", "c3", "c4", "d0", "call_0", "call-5-1")
    results = [answers(TRACK, call_id, "k8s.pods", f"{call_id} {result}") for call_id in asked if call_id not in timeouts]
    results += [answers(TRACK, call_id, "k8s.pods", "no answer", is_error=True, is_timeout=True) for call_id in timeouts]
    answered = [says(TRACK, number, *(turn if isinstance(turn, tuple) else (turn,))) for number, turn in enumerate(turns)]
    answered += [says(f"{TRACK}/summary/{call_id}", 0, summary) for call_id in asked if summary]
    limited: dict[str, Any] = {"max_iterations": 9, **changes}
    return Scenario(chain(stage(agent(**limited))), answered, results)


def _react(*turns: Any, result: str = "web-1 Running", summary: Any = None, **changes: Any) -> Scenario:
    answered = [says(TRACK, number, *(turn if isinstance(turn, tuple) else (turn,))) for number, turn in enumerate(turns)]
    answered += [says(f"{TRACK}/summary/react-3", 0, summary)] if summary else []
    results = [answers(TRACK, f"react-{place}", "k8s.pods", result) for place in range(3, 30)]
    limited: dict[str, Any] = {"max_iterations": 9, **changes}
    return Scenario(chain(stage(agent(tool_calling=ToolCalling.REACT, **limited))), answered, results)


def _call(number: int) -> dict[str, Any]:
    return calls(f"c{number}", "k8s.pods", namespace="shop")


ACTION = "Thought: Attempt.\nAction: k8s.pods\nAction Input: {}"
OUT = fails("provider_unavailable", "503", retryable=True)
TIMEOUT = fails("timeout", "nothing came", retryable=True)

VERDICT = "```verdict\noutcome: fault\nmechanism: full\nconfidence: high\nevidence: [A1]\n```"
CITED = f'It is the disk [A1: "c0 Running"], says the log.\n{VERDICT}'

DRAFT = f'## Why\n\n- A pod runs [A1: "c0 Running"].\n- It is the cat [A1: "meow"].\n\n{"It is well known. " * 9}'
PATCH = '1: Another pod runs [A2: "c1 Running"].'
PATCHED = DRAFT.replace('It is the cat [A1: "meow"].', 'Another pod runs [A2: "c1 Running"].').strip()

FULL = _native(
    _call(0), f'## Why\n\nIt is the disk [A1: "a disk that is full"].\n\n{VERDICT}', result="on a disk that is full", judge=ResolvedJudge()
)

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
    "another try after a wait for a slow model": _native(TIMEOUT, TIMEOUT, TIMEOUT, _call(3), "It is the disk."),
    "another try after a wait for a model that is out": _native(*(OUT for _ in range(9)), _call(9), "It is the disk.", max_iterations=2),
    "another try after a wait for the last word": _native(_call(0), *(OUT for _ in range(5)), "It is the disk.", max_iterations=1),
    "another try after a wait for the last model": _native(
        *(OUT for _ in range(6)), _call(6), "It is the disk.", fallback_providers=(fallback(OTHER),)
    ),
    "a model that stays out": _native(*(OUT for _ in range(12))),
    "a model that stays out for the last word": _native(_call(0), *(OUT for _ in range(12)), max_iterations=1),
    "a model that comes back to say that the key is wrong": _native(*(OUT for _ in range(4)), fails("credentials", "401")),
    "two timeouts of tools": _native(_call(0), _call(1), timeouts=("c0", "c1")),
    "a timeout of the model and one of a tool": _native(TIMEOUT, _call(1), timeouts=("c1",)),
    "a timeout of a tool and one of the model": _native(_call(0), TIMEOUT, timeouts=("c0",)),
    "timeouts apart from each other": _native(_call(0), _call(1), TIMEOUT, "It is the disk.", timeouts=("c0",)),
    "another model after two timeouts": _native(TIMEOUT, TIMEOUT, _call(2), "It is the disk.", fallback_providers=(fallback(OTHER),)),
    "another model after a wrong key": _native(
        fails("credentials", "401"), _call(1), "It is the disk.", fallback_providers=(fallback(OTHER),)
    ),
    "another model for the last word": _native(
        fails("credentials", "401"), "It is the disk.", fallback_providers=(fallback(OTHER),), max_iterations=1
    ),
    "the same model by another way": _native(
        fails("invalid_request", "400"),
        _call(1),
        "It is the disk.",
        fallback_providers=(fallback(PROVIDER),),
        llm_backend=LLMBackend.NATIVE_GEMINI,
    ),
    "half a character": _native(("A \ud83d", calls("c0", "k8s.pods", name="\ud83d")), "It is the \ud83d\udcbe, or \ud83d."),
    "a large result": _native((_call(0), calls("d0", "k8s.pods", all=True)), "It is the disk.", result=LARGE, summary="All is well."),
    "a large result in text": _react(ACTION, "Final Answer: It is the disk.", result=LARGE, summary="All is well."),
    "a large result for another model": _native(
        fails("credentials", "401"),
        _call(0),
        "It is the disk.",
        result=LARGE,
        summary="All is well.",
        fallback_providers=(fallback(OTHER),),
    ),
    "a large result that cannot be summarised": _native(_call(0), "It is the disk.", result=LARGE, summary=fails("rate_limited", "429")),
    "more than the window holds": _native(
        *(calls(f"c{number}", "k8s.pods", n=number) for number in range(5)),
        calls("d0", "k8s.pods", n=5),
        "It is the disk.",
        result=MEDIUM,
        provider=SMALL,
    ),
    "more than the window holds in text": _react(
        *(f'Thought: {number}.\nAction: k8s.pods\nAction Input: {{"n": {number}}}' for number in range(6)),
        "Final Answer: It is the disk.",
        result=MEDIUM,
        provider=SMALL,
    ),
    "a draft that is corrected": _native(_call(0), f"It is the cat [A1: 'meow'].\n{VERDICT}", CITED),
    "a draft whose correction looks something up": _native(
        _call(0), f"It is the cat [A1: 'meow'].\n{VERDICT}", _call(1), f'It is the disk [A2: "c1 Running"], says the log.\n{VERDICT}'
    ),
    "a draft whose correction looks up one thing after the other": _native(
        _call(0), f"It is the cat [A1: 'meow'].\n{VERDICT}", _call(1), _call(2)
    ),
    "a last draft whose correction looks something up": _native(_call(0), DRAFT, _call(1), PATCH, max_iterations=2),
    "a draft whose correction looks something up in vain": _native(
        _call(0), DRAFT, _call(1), LOOP, TIMEOUT, '1: The pod runs [A1: "c0 Running"].', timeouts=("c1",)
    ),
    "a draft in text that is corrected": _react(ACTION, "Final Answer: It is the cat.", f"Thought: Well.\nFinal Answer: {CITED}"),
    "a forced draft in text that looks like a call": _react(ACTION, ACTION, f"Thought: Well.\nFinal Answer: {CITED}", max_iterations=1),
    "a draft in text whose rest looks like a call": _react(
        ACTION, ("Final Answer: It is the cat. Do:\n", {"finish": "length"}), ACTION, f"Thought: Well.\nFinal Answer: {CITED}"
    ),
    "a forced draft that is corrected": _native(_call(0), "It is the cat.", CITED, max_iterations=1),
    "a draft that is judged": replace(FULL, calls=[*FULL.calls, says(f"{TRACK}/support", 2, thinks("Hm."), "1: supports\n2: unrelated")]),
    "a draft whose correction fails": _native(_call(0), "It is the disk, or the cat.", OUT),
    "a draft whose correction is no better": _native(_call(0), f"It is the disk. {'Really. ' * 20}", "No."),
    "more than the model would take": _native(
        *(calls(f"c{number}", "k8s.pods", n=number) for number in range(4)),
        fails("context_too_long", "400"),
        "It is the disk.",
        result=MEDIUM,
        max_iterations=5,
    ),
}


async def _until_death(run: MemoryRun) -> ExecutionResult | None:
    try:
        with single_errors():
            return await run.go_on()
    except DiedError:
        return None


def _reported(result: ExecutionResult) -> tuple[Any, ...]:
    return (result.status, result.final_analysis, result.error)


@pytest.mark.parametrize("apart", [2, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", SCENARIOS)
async def test_an_agent_that_dies_after_any_step_is_continued_to_the_same_end(name: str, apart: int) -> None:
    scenario = SCENARIOS[name]
    whole = MemoryRun(scenario, TRACK)
    expected = await whole.go_on()
    assert whole.journal.steps > 3
    for step in range(0, whole.journal.steps, apart):
        run = MemoryRun(scenario, TRACK, MemoryJournal(dies_after=step))
        assert await _until_death(run) is None, f"it should have died after {step} steps"
        run.journal.dies_after = None
        assert _reported(await run.go_on()) == _reported(expected), f"died after {step} steps"
        assert run.journal.conversation() == whole.journal.conversation(), f"died after {step} steps"
        assert _asked(run) == _asked(whole), f"died after {step} steps"
        assert sorted(run.journal.timeline()) == sorted(whole.journal.timeline()), f"died after {step} steps"
        assert run.journal.citations == whole.journal.citations, f"died after {step} steps"


def _asked(run: MemoryRun) -> list[tuple[str, int, str, str]]:
    """Every question to a model: which, to whom, and what it was."""
    return sorted((call.track, call.turn, call.provider, call.request_hash) for call in run.journal.llm)


class LastFirst:
    """Two tools, of which the second answers first."""

    def __init__(self) -> None:
        self._answered = anyio.Event()

    async def list_tools(self) -> ToolCatalog:
        return ToolCatalog((ToolDefinition("k8s.pods", "List pods.", {"type": "object"}, read_only=True),))

    async def execute(self, call: ToolCall, on_output: Callable[[str], None]) -> ToolResult:
        del on_output
        if call.id == "c0":
            await self._answered.wait()
        self._answered.set()
        return ToolResult(call=call, content=f"{call.id} Running", started_at=datetime(2026, 1, 1, tzinfo=UTC))


async def test_results_that_came_before_and_after_a_death_are_sent_in_the_order_of_their_calls() -> None:
    scenario = _native((_call(0), _call(1), _call(2)), "It is the disk.")
    whole = MemoryRun(scenario, TRACK, tools=LastFirst())
    await whole.go_on()
    for step in range(whole.journal.steps):
        run = MemoryRun(scenario, TRACK, MemoryJournal(dies_after=step), tools=LastFirst())
        await _until_death(run)
        run.journal.dies_after = None
        await run.go_on()
        assert _asked(run) == _asked(whole), f"died after {step} steps"


@pytest.mark.parametrize("name", [name for name in SCENARIOS if name.startswith(("another", "the same model", "more", "half", "a large"))])
async def test_what_can_be_mended_does_not_end_an_investigation(name: str) -> None:
    result = await MemoryRun(SCENARIOS[name], TRACK).go_on()
    assert (result.status, result.final_analysis[:9]) == (RunStatus.COMPLETED, "It is the")


@pytest.mark.parametrize(
    ("turns", "analysis"),
    [
        ((PATCH,), PATCHED),
        (("", PATCH), PATCHED),
        ((LOOP, PATCH), PATCHED),
        (((PATCH[:20], {"finish": "length"}), PATCH[20:]), PATCHED),
        ((fails("credentials", "401"),), DRAFT.strip()),
        ((TIMEOUT, TIMEOUT, fails("credentials", "401")), DRAFT.strip()),
    ],
    ids=["at once", "after an empty answer", "after a loop", "in two pieces", "not at all", "not at all after timeouts"],
)
async def test_what_looks_something_up_for_a_correction_keeps_its_draft_however_it_is_corrected(turns: Any, analysis: str) -> None:
    run = MemoryRun(_native(_call(0), DRAFT, _call(1), *turns), TRACK)
    result = await run.go_on()
    assert (result.status, result.final_analysis) == (RunStatus.COMPLETED, analysis)


async def test_an_answer_in_the_last_iteration_is_not_forced_because_its_correction_looks_something_up() -> None:
    run = MemoryRun(SCENARIOS["a last draft whose correction looks something up"], TRACK)
    assert (await run.go_on()).final_analysis == PATCHED
    assert [call.kind.value for call in run.journal.llm] == ["iteration", "iteration", "correction", "iteration"]


async def test_half_a_character_is_replaced_and_two_halves_are_joined() -> None:
    run = MemoryRun(SCENARIOS["half a character"], TRACK)
    result = await run.go_on()
    assert result.final_analysis == "It is the \N{FLOPPY DISK}, or \ufffd."
    (_, _, text, (call,)) = run.journal.conversation()[2]
    assert (text, call.arguments) == ("A \ufffd", '{"name": "\ufffd"}')


async def test_after_a_change_of_models_the_new_one_makes_the_summaries() -> None:
    run = MemoryRun(SCENARIOS["a large result for another model"], TRACK)
    await run.go_on()
    assert [call.provider for call in run.journal.llm] == ["recorded", "other", "other", "other"]


async def test_a_text_before_an_endless_thought_is_no_answer() -> None:
    result = await MemoryRun(_native(("Let me see.", thinks(LOOP)), "It is the disk."), TRACK).go_on()
    assert result.final_analysis == "It is the disk."


async def test_a_call_whose_arguments_were_masked_is_not_made_again_with_the_mask() -> None:
    scenario = _native(calls("c0", "k8s.pods", user="[MASKED_EMAIL]"), "It is the disk.")
    run = MemoryRun(scenario, TRACK, MemoryJournal(dies_after=3))
    assert await _until_death(run) is None
    assert [role for _, role, _, _ in run.journal.conversation()] == ["system", "user", "assistant"], "the result is not stored"
    run.journal.dies_after = None
    assert (await run.go_on()).status is RunStatus.COMPLETED
    assert run.asked == {"c0": 1}
    assert "It is not known whether it took effect" in run.journal.conversation()[3][2]


async def test_a_result_keeps_the_time_at_which_it_was_read_when_another_worker_shows_it() -> None:
    scenario = _native(_call(0), "It is the disk.", result=LARGE, summary="All is well.")
    clock = FixedClock(datetime(2026, 1, 1, 10, 0, tzinfo=UTC))
    run = MemoryRun(scenario, TRACK, MemoryJournal(dies_after=4), clock=clock)
    assert await _until_death(run) is None
    assert [len(run.journal.mcp), len(run.journal.conversation())] == [2, 3], "the result is stored, and not yet shown"
    clock.at, run.journal.dies_after = datetime(2026, 1, 1, 11, 0, tzinfo=UTC), None
    await run.go_on()
    assert run.journal.conversation()[3][2].startswith("[A1] k8s.pods(namespace=shop) at 2026-01-01T10:00:00Z\n")


async def test_inputs_of_a_recording_are_played_and_stored_and_later_ones_are_taken() -> None:
    scenario = _native(_call(0), _call(1), "It is the disk.")
    played = PlacedInput(TRACK, 0, ReadAt("A1", datetime(2001, 1, 1, tzinfo=UTC)))
    run = MemoryRun(scenario, TRACK, recorded_inputs=(played,))
    await run.go_on()
    contents = [content for _, role, content, _ in run.journal.conversation() if role == "tool"]
    assert [content.partition("\n")[0] for content in contents] == [
        "[A1] k8s.pods(namespace=shop) at 2001-01-01T00:00:00Z",
        "[A2] k8s.pods(namespace=shop) at 2026-01-01T00:00:00Z",
    ]
    assert run.journal.inputs[place_of(0, played.value)] == played


class HeldModel:
    """A recorded model that never answers its call number `after`."""

    def __init__(self, recording: Recording, after: int) -> None:
        self._inner = in_process_client(env={}, recordings=lambda _: recording)
        self._after = after
        self.asked = anyio.Event()

    async def generate(self, request: GenerateInput) -> AsyncGenerator[Chunk]:
        if request.turn == self._after:
            self.asked.set()
            await anyio.sleep_forever()
        async for chunk in self._inner.generate(request):
            yield chunk

    async def health(self) -> LLMHealth:
        return await self._inner.health()

    async def aclose(self) -> None:
        await self._inner.aclose()


@pytest.mark.parametrize(
    ("looked_up", "dies_after"),
    [((), None), ((_call(1),), None), ((_call(1),), 8)],
    ids=["at once", "after a look-up", "after a look-up and a death"],
)
async def test_an_analysis_whose_correction_is_cut_short_by_the_clock_is_kept(looked_up: Any, dies_after: int | None) -> None:
    scenario = _native(_call(0), "It is the cat [A9].", *looked_up, CITED)
    run = MemoryRun(scenario, TRACK, MemoryJournal(dies_after=dies_after))
    if dies_after:
        assert await _until_death(run) is None
        run.journal.dies_after = None
    held = HeldModel(scenario.recording, after=2 + len(looked_up))
    run.scenario = replace(scenario, llm=held)
    stopping = StopState()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run.run_until_stopped, stopping)
        await held.asked.wait()
        stopping.own_reason = StopReason.TIMED_OUT
        tasks.cancel_scope.cancel()
    assert run.journal.status is RunStatus.TIMED_OUT
    assert run.journal.timeline()[-1] == ("final_analysis", "completed", "It is the cat [A9].")
