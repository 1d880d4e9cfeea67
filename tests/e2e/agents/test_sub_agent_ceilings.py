"""An agent that is sent uses no more than its share of what its sender has left, and concludes within it; all of them stay under the session's ceiling."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
import sqlalchemy as sa

from support.agent_scenario import SESSION_ID, answers, read_back
from support.claims import take_back
from support.memory_run import DiedError
from support.runaway import (
    CHAT_TRACK,
    Runaway,
    billed_by_track,
    endless_tools,
    priced_chain,
    runaway,
    runaway_agent,
    usage,
    used,
    with_ceiling,
)
from tarsy.agent.budget.ledger import share_of
from tarsy.config.resolve.resolved import ResolvedOrchestrator
from tarsy.domain.budget import Account, Ceiling, Spent
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.llm import Chunk, GenerateInput, TextChunk, ToolCallChunk
from tarsy.domain.status import SessionStatus
from tarsy.kit.groups import single_errors

LEAD = "0.look/1.Lead"


def sends_two_that_never_stop(request: GenerateInput, number: int) -> Sequence[Chunk]:
    if request.track != LEAD:
        return endless_tools(request, number)
    asked = '{"name": "Digger", "task": "Look for ever."}'
    return *(ToolCallChunk(f"s{number}-{place}", "tarsy.run_agent", asked) for place in range(2)), usage(request, 100)


@pytest.mark.parametrize(
    "ceiling", [Ceiling(model_calls=40), Ceiling(usd=Decimal(2)), pytest.param(Ceiling(tool_calls=40), marks=pytest.mark.long)]
)
async def test_no_agent_that_is_sent_uses_more_than_its_share(database_url: str, tmp_path: Path, ceiling: Ceiling) -> None:
    digger = runaway_agent("Digger", description="Digs")
    lead = runaway_agent("Lead", mcp_servers=(), sub_agents=(digger,), orchestrator=ResolvedOrchestrator(max_concurrent_agents=2))
    model = Runaway(sends_two_that_never_stop)
    scenario = runaway(model, tmp_path, with_ceiling(priced_chain(lead), ceiling))
    tracks = [f"{LEAD}/{number}.Digger" for number in range(1, 9)]
    results = [answers(track, "any", "k8s.logs", "disk full", f'{{"since": {n}}}') for track in tracks for n in range(200)]
    async with replace(scenario, tools=results, extra_tracks=[LEAD, *tracks, CHAT_TRACK]).running(database_url) as running:
        assert running.pool
        await running.pool.run_waiting(INVESTIGATION)
        session, spent = await running.services.repositories.sessions.get(SESSION_ID), await used(running)
        outcome = (await read_back(running)).outcome
    assert outcome is not None
    assert session.status is SessionStatus.COMPLETED
    assert ceiling.exceeded_by(spent) is None
    of_first = [request for request in model.requests if request.track == tracks[0]]
    if ceiling.model_calls:
        assert len(of_first) <= ceiling.model_calls // 4
    concluded = [event["track"] for event in outcome.timeline if event["event_type"] == "final_analysis"]
    assert {LEAD, tracks[0], tracks[1]} <= set(concluded), "each concludes within its share, and so does their sender"


def sends_fifty_that_read_much(request: GenerateInput, number: int) -> Sequence[Chunk]:
    if request.track != LEAD:
        return endless_tools(request, number)
    if number > 1:
        return TextChunk("They found that the disk is full."), usage(request, 40)
    asked = '{"name": "Digger", "task": "Look for ever."}'
    return *(ToolCallChunk(f"s{number}-{place}", "tarsy.run_agent", asked) for place in range(50)), usage(request, 500)


@pytest.mark.parametrize("ceiling", [pytest.param(Ceiling(usd=Decimal(2)), marks=pytest.mark.long), Ceiling(tokens=150_000)])
async def test_of_fifty_agents_sent_at_once_ten_go_and_each_keeps_to_its_share(database_url: str, tmp_path: Path, ceiling: Ceiling) -> None:
    digger = runaway_agent("Digger", description="Digs")
    lead = runaway_agent("Lead", mcp_servers=(), sub_agents=(digger,), orchestrator=ResolvedOrchestrator(max_concurrent_agents=2))
    model = Runaway(sends_fifty_that_read_much)
    scenario = runaway(model, tmp_path, with_ceiling(priced_chain(lead), ceiling))
    tracks = [f"{LEAD}/{number}.Digger" for number in range(1, 51)]
    much = " ".join(f"{place} disk {'full' if place % 3 else 'slow'}" for place in range(8_000))
    results = [answers(track, "any", "k8s.logs", much, f'{{"since": {n}}}') for track in tracks for n in range(60)]
    async with replace(scenario, tools=results, extra_tracks=[LEAD, *tracks, CHAT_TRACK]).running(database_url) as running:
        assert running.pool
        await running.pool.run_waiting(INVESTIGATION)
        session, billed = await running.services.repositories.sessions.get(SESSION_ID), await billed_by_track(running)
    assert session.status is SessionStatus.COMPLETED
    assert ceiling.exceeded_by(sum(billed.values(), Spent())) is None
    diggers = {track: spent for track, spent in billed.items() if track != LEAD and "Digger" in track}
    assert tracks[0] in diggers
    assert max(map(tracks.index, diggers)) < 10
    # Half of what their sender has, divided among two.
    share = Ceiling(usd=ceiling.usd and ceiling.usd / 4, tokens=ceiling.tokens and ceiling.tokens // 4)
    assert [track for track, spent in diggers.items() if share.exceeded_by(spent)] == []


async def test_an_agent_that_alone_has_a_ceiling_keeps_to_it_after_its_worker_has_died(database_url: str, tmp_path: Path) -> None:
    class DiesOnce(Runaway):
        async def generate(self, request: GenerateInput) -> AsyncGenerator[Chunk]:
            if request.track != LEAD and sum(one.track == request.track for one in self.requests) == 1:
                self.requests.append(request)
                raise DiedError
            async for chunk in super().generate(request):
                yield chunk

    digger = runaway_agent("Digger", description="Digs", budget=Ceiling(model_calls=4))
    lead = runaway_agent("Lead", mcp_servers=(), sub_agents=(digger,))
    model = DiesOnce(sends_one_that_never_stops)
    scenario = runaway(model, tmp_path, priced_chain(lead))
    track = f"{LEAD}/1.Digger"
    results = [answers(track, "any", "k8s.logs", "disk full", f'{{"since": {n}}}') for n in range(20)]
    async with replace(scenario, tools=results, extra_tracks=[LEAD, track, CHAT_TRACK]).running(database_url) as running:
        assert running.pool
        with pytest.raises(DiedError), single_errors():
            await running.pool.run_waiting(INVESTIGATION)
        async with running.engine.begin() as connection:
            await connection.execute(sa.text("UPDATE work SET heartbeat_at = now() - interval '1 hour' WHERE state = 'claimed'"))
        recovered, _ = await take_back(running.engine)
        assert len(recovered) == 1
        await running.pool.run_waiting(INVESTIGATION)
        session = await running.services.repositories.sessions.get(SESSION_ID)
    assert session.status is SessionStatus.COMPLETED
    assert [request.track for request in model.requests].count(track) == 4, "two before the worker died, and two after it"


def sends_one_that_never_stops(request: GenerateInput, number: int) -> Sequence[Chunk]:
    if request.track != LEAD:
        return endless_tools(request, number)
    if number > 1:
        return TextChunk("The disk is full."), usage(request, 40)
    return ToolCallChunk("s", "tarsy.run_agent", '{"name": "Digger", "task": "Look for ever."}'), usage(request, 100)


def test_a_share_is_half_of_what_is_left_under_the_lowest_ceiling_divided_among_those_out_at_once() -> None:
    session = Account(
        "session",
        Ceiling(usd=Decimal(4), model_calls=100, tool_calls=60, seconds=600.0),
        Spent(usd=Decimal(2), model_calls=20, tool_calls=20, seconds=100.0),
    )
    stage = Account("stage", Ceiling(usd=Decimal(1)))
    assert share_of([session, stage], 5) == Ceiling(usd=Decimal("0.1"), model_calls=8, tool_calls=4, seconds=250.0)
    assert share_of([], 5) == Ceiling()
