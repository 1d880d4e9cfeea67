"""Ceilings: whatever a model does, it is stopped by them, concludes with what is left, and says so wherever its session is shown."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import anyio
import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine

from support.agent_scenario import SESSION_ID, TOOLS, Scenario, kinds, read_back
from support.claims import take_back
from support.memory_run import DiedError
from support.replaying import replayed
from support.runaway import (
    TRACK,
    Runaway,
    Say,
    a_thousand_calls,
    endless_text,
    endless_tools,
    late,
    priced_chain,
    runaway,
    runaway_agent,
    ten_calls,
    usage,
    used,
    with_ceiling,
)
from tarsy.domain.approval import ApprovalState
from tarsy.domain.budget import Ceiling, Spent
from tarsy.domain.claim import CHAT_ANSWER, INVESTIGATION
from tarsy.domain.llm import Chunk, GenerateInput, TextChunk, ToolCallChunk
from tarsy.domain.recording import RecordedOutcome, Recording
from tarsy.domain.run_input import InputKind
from tarsy.domain.session import AlertSession
from tarsy.domain.status import RunStatus, SessionStatus
from tarsy.domain.verdict import Confidence

HALF_A_DOLLAR = Ceiling(usd=Decimal("0.5"))


async def played(scenario: Scenario, database_url: str) -> tuple[Recording, AlertSession, Spent]:
    async with scenario.running(database_url) as running:
        assert running.pool
        await running.pool.run_waiting(INVESTIGATION)
        found = await read_back(running)
        return found, await running.services.repositories.sessions.get(SESSION_ID), await used(running)


async def fall_silent(engine: AsyncEngine) -> int:
    """The workers had no heartbeat for an hour; returns how many sessions were taken back from them."""
    async with engine.begin() as connection:
        await connection.execute(sa.text("UPDATE work SET heartbeat_at = now() - interval '1 hour' WHERE state = 'claimed'"))
    recovered, _ = await take_back(engine, limit=20)
    return len(recovered)


def warnings(outcome: RecordedOutcome) -> list[str]:
    return [event["content"] for event in outcome.timeline if event["metadata"].get("code") == "ceiling"]


@pytest.mark.parametrize(
    ("answers", "ceiling", "reported"),
    [
        (endless_tools, HALF_A_DOLLAR, "its ceiling of $0.50"),
        (endless_text, HALF_A_DOLLAR, "its ceiling of $0.50"),
        (endless_tools, Ceiling(tokens=60_000), "its ceiling of 60,000 tokens"),
        (endless_tools, Ceiling(model_calls=4), "its ceiling of 4 model calls"),
        (a_thousand_calls, Ceiling(tool_calls=7), "its ceiling of 7 tool calls"),
        (late, HALF_A_DOLLAR, "its ceiling of $0.50"),
    ],
)
async def test_a_runaway_model_ends_in_a_conclusion_under_its_ceiling(
    database_url: str, tmp_path: Path, answers: Say, ceiling: Ceiling, reported: str
) -> None:
    scenario = runaway(Runaway(answers), tmp_path, with_ceiling(priced_chain(), ceiling))
    found, session, spent = await played(scenario, database_url)

    assert ceiling.exceeded_by(spent) is None
    assert session.status is SessionStatus.COMPLETED
    assert session.analysis_is_partial
    assert session.analysis_partial_reason == f"It was ended by {reported}."
    assert session.final_analysis == "The disk of node-1 is full."
    assert found.outcome
    (warning, *_) = warnings(found.outcome)
    assert warning.startswith(f"Ended by {reported}")
    # In the entry of an answer that was cut, if there is one: that was begun before the warning.
    assert kinds(found.outcome, TRACK).count(("final_analysis", "completed")) == 1


@pytest.mark.parametrize(
    ("answers", "ceiling", "met"),
    [
        (endless_tools, Ceiling(usd=Decimal("0.3")), 1),
        # Three calls that were refused, and the end.
        (ten_calls, Ceiling(tool_calls=7), 4),
    ],
)
async def test_a_recording_made_under_a_ceiling_replays_exactly(
    database_url: str, tmp_path: Path, answers: Say, ceiling: Ceiling, met: int
) -> None:
    found, _, _ = await played(runaway(Runaway(answers), tmp_path, with_ceiling(priced_chain(), ceiling)), database_url)
    assert [given.kind for given in found.inputs].count(InputKind.CEILING) == met
    assert await replayed(database_url, found) == []


async def test_calls_that_are_refused_do_not_count_and_are_ended_by_the_iterations(database_url: str, tmp_path: Path) -> None:
    def refused_twice(request: GenerateInput, number: int) -> Sequence[Chunk]:
        calls = [ToolCallChunk(f"c{number}-{place}", "k8s.logs", "no JSON") for place in range(2)]
        return *calls, ToolCallChunk(f"c{number}", "k8s.logs", f'{{"since": {number}}}'), usage(request, 300)

    agent = runaway_agent().model_copy(update={"max_iterations": 4})
    scenario = runaway(Runaway(refused_twice), tmp_path, with_ceiling(priced_chain(agent), Ceiling(tool_calls=6)))
    found, session, spent = await played(scenario, database_url)
    assert found.outcome
    assert (spent.tool_calls, warnings(found.outcome)) == (4, [])
    assert session.analysis_partial_reason == "The agent had to conclude before it had found an answer of its own."


async def test_a_call_that_waits_for_an_approval_counts_once(database_url: str, tmp_path: Path) -> None:
    def restarts(request: GenerateInput, number: int) -> Sequence[Chunk]:
        restart = ToolCallChunk("restart", "k8s.restart", '{"since": 1}')
        return (restart if number == 1 else TextChunk("The disk of node-1 is full."), usage(request, 300))

    scenario = runaway(Runaway(restarts), tmp_path, with_ceiling(priced_chain(), Ceiling(tool_calls=1)))
    restart = replace(TOOLS[1], name="k8s.restart", read_only=False, needs_approval=True)
    result = scenario.tools[1].model_copy(update={"name": restart.name, "content": "restarted"})
    async with replace(scenario, catalog=(restart,), tools=[result]).running(database_url) as running:
        await running.pool.run_waiting(INVESTIGATION)
        (waiting,) = await running.services.repositories.approvals.list(state=ApprovalState.PENDING)
        await running.services.repositories.approvals.decide(waiting.id, ApprovalState.APPROVED, actor="ada", reason="")
        await running.pool.run_waiting(INVESTIGATION)
        found = await read_back(running)
    assert found.outcome
    assert [one.content for one in found.tools] == ["restarted"]
    assert warnings(found.outcome) == []


async def test_a_recording_whose_results_were_shortened_for_a_ceiling_replays_exactly(database_url: str, tmp_path: Path) -> None:
    scenario = runaway(Runaway(ten_calls), tmp_path, with_ceiling(priced_chain(), Ceiling(usd=Decimal("0.5"))))
    much = " ".join(f"{place} disk {'full' if place % 3 else 'slow'}" for place in range(4_000))
    results = [one.model_copy(update={"content": f"{number} {much}"}) for number, one in enumerate(scenario.tools)]
    found, _, spent = await played(replace(scenario, tools=results), database_url)
    assert spent.usd <= Decimal("0.5")
    assert any(given.kind is InputKind.CEILING and given.name.startswith("result ") for given in found.inputs)
    assert await replayed(database_url, found) == []


async def test_agents_under_one_ceiling_share_it_and_each_concludes(database_url: str, tmp_path: Path) -> None:
    agents = [runaway_agent(name) for name in ("One", "Two", "Three")]
    scenario = runaway(Runaway(endless_tools), tmp_path, with_ceiling(priced_chain(*agents), Ceiling(usd=Decimal(1))))
    found, session, spent = await played(scenario, database_url)

    assert spent.usd <= 1
    assert session.status is SessionStatus.COMPLETED
    assert session.analysis_partial_reason == "It was ended by its ceiling of $1.00."
    assert found.outcome
    ended = [event["track"] for event in found.outcome.timeline if event["metadata"].get("ceiling") == "its ceiling of $1.00"]
    assert ended == ["0.look/1.One", "0.look/2.Two", "0.look/3.Three"]


async def test_each_level_has_a_ceiling_of_its_own(database_url: str, tmp_path: Path) -> None:
    first = runaway_agent("One", budget=Ceiling(model_calls=3))
    chain = priced_chain(first, runaway_agent("Two"))
    looking = chain.stages[0].model_copy(update={"budget": Ceiling(tool_calls=9)})
    found, session, spent = await played(
        runaway(Runaway(endless_tools), tmp_path, chain.model_copy(update={"stages": (looking,)})), database_url
    )

    assert spent.tool_calls == 9
    assert found.outcome
    reported = {event["track"]: event["content"] for event in found.outcome.timeline if event["metadata"].get("code") == "ceiling"}
    assert reported["0.look/1.One"].startswith("Ended by its ceiling of 3 model calls")
    assert reported["0.look/2.Two"].startswith("Ended by its ceiling of 9 tool calls")
    # Neither was the session's: the stages after it are run.
    assert session.executive_summary == "The disk of node-1 is full."


async def test_a_ceiling_too_low_for_one_call_is_reported_as_such(database_url: str, tmp_path: Path) -> None:
    model = Runaway(endless_tools)
    scenario = runaway(model, tmp_path, with_ceiling(priced_chain(), Ceiling(usd=Decimal("0.001"))))
    found, session, _ = await played(scenario, database_url)

    assert model.requests == []
    assert session.status is SessionStatus.FAILED
    assert session.error_message == "Investigator: It was not begun because of its ceiling of $0.0010."
    assert found.outcome
    assert len(warnings(found.outcome)) == 1


async def test_calls_of_workers_that_died_stay_spent(database_url: str, tmp_path: Path) -> None:
    """A worker dies in the middle of a call, again and again: each call is paid for, and the last worker concludes under the ceiling."""
    ceiling, deaths = Ceiling(usd=Decimal("1.5")), 0

    class DiesInItsCall(Runaway):
        async def generate(self, request: GenerateInput) -> AsyncGenerator[Chunk]:
            if request.tools:
                self.requests.append(request)
                raise DiedError
            async for chunk in super().generate(request):
                yield chunk

    scenario = runaway(DiesInItsCall(endless_tools), tmp_path, with_ceiling(priced_chain(), ceiling))
    async with scenario.running(database_url) as running:
        assert running.pool
        while not (await running.services.repositories.sessions.get(SESSION_ID)).status.is_final:
            with suppress(DiedError):
                await running.pool.run_waiting(INVESTIGATION)
            deaths += await fall_silent(running.engine)
        spent = await used(running)
        session = await running.services.repositories.sessions.get(SESSION_ID)
    assert deaths >= 2
    assert spent.usd <= 1.5
    assert session.analysis_partial_reason == "It was ended by its ceiling of $1.50."


@pytest.mark.parametrize("concludes", [True, False])
async def test_a_model_that_does_not_come_to_an_end_is_ended_by_the_time(database_url: str, tmp_path: Path, *, concludes: bool) -> None:
    class Hangs(Runaway):
        async def generate(self, request: GenerateInput) -> AsyncGenerator[Chunk]:
            if len(self.requests) > 1 and (request.tools or not concludes):
                await anyio.sleep_forever()
            async for chunk in super().generate(request):
                yield chunk

    scenario = runaway(Hangs(endless_tools), tmp_path, with_ceiling(priced_chain(), Ceiling(seconds=2.0)))
    found, session, _ = await played(scenario, database_url)
    assert session.status is SessionStatus.COMPLETED
    assert session.analysis_partial_reason == "It was ended by its ceiling of 2 s."
    assert session.final_analysis
    if not concludes:
        assert "- [A1] k8s.logs(since=1): disk full disk full" in session.final_analysis
    assert await replayed(database_url, found) == []


async def test_the_verdict_says_that_a_ceiling_ended_it(database_url: str, tmp_path: Path) -> None:
    class Sure(Runaway):
        async def generate(self, request: GenerateInput) -> AsyncGenerator[Chunk]:
            async for chunk in super().generate(request):
                yield TextChunk(_SURE) if isinstance(chunk, TextChunk) else chunk

    scenario = runaway(Sure(endless_tools), tmp_path, with_ceiling(priced_chain(), Ceiling(model_calls=4)))
    _, session, _ = await played(scenario, database_url)
    assert session.verdict
    assert session.verdict.confidence is Confidence.MEDIUM
    assert session.verdict.confidence_reason.endswith("It was ended by its ceiling of 4 model calls.")


_SURE = """## Why
The disk is full [A1: "disk full disk full disk full"].

```verdict
outcome: fault
object: {kind: Node, name: node-1}
mechanism: The disk is full.
confidence_object: high
confidence_mechanism: high
evidence: [A1]
```
"""


async def test_a_question_has_the_ceiling_of_its_own(database_url: str, tmp_path: Path) -> None:
    scenario = runaway(Runaway(endless_tools), tmp_path, with_ceiling(priced_chain(), Ceiling(model_calls=3)))
    async with scenario.running(database_url) as running:
        assert running.pool
        await running.pool.run_waiting(INVESTIGATION)
        before = await used(running)
        await running.services.repositories.chats.ask(SESSION_ID, "Why?", author="tester")
        await running.pool.run_waiting(CHAT_ANSWER)
        (answered,) = await running.services.repositories.chats.list(SESSION_ID)
        after = await used(running)
    assert answered.status is RunStatus.COMPLETED
    assert after.model_calls - before.model_calls == 3
