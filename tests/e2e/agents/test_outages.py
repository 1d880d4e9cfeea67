"""All models out for a reason that may pass: the session waits without a worker, says what for, and goes on where it was."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from support.agent_scenario import OTHER, PROVIDER, SESSION_ID, Scenario, agent, chain, fallback, helper, kinds, read_back, stage
from support.replaying import replayed
from tarsy.domain.claim import CHAT_ANSWER, INVESTIGATION, SCORING, WorkKind
from tarsy.domain.execution import AgentType
from tarsy.domain.llm import Chunk, ErrorChunk, ErrorCode, GenerateInput, LLMHealth, ProviderType, TextChunk
from tarsy.domain.status import RunStatus, SessionStatus
from tarsy.domain.work import WorkState
from tarsy.kit.clock import SystemClock
from tarsy.wiring.application import Application

TRACK = "0.look/1.Investigator"
LIVE = PROVIDER.model_copy(update={"type": ProviderType.OPENAI, "base_url": "http://gpu.example:8000/v1"})
LIVE_OTHER = OTHER.model_copy(update={"type": ProviderType.OPENAI})
OUT = ErrorChunk("HTTP 503: overloaded", ErrorCode.PROVIDER_UNAVAILABLE, retryable=True)
REASON = (
    "no model is available: recorded (model-1 at http://gpu.example:8000/v1): HTTP 503: overloaded; TARSy retries for up to 30 minutes."
)


@dataclass
class Model:
    """A model that answers unless it is out, for all or for the tracks named."""

    error: ErrorChunk | None = OUT
    tracks: tuple[str, ...] = ()
    asked: list[str] = field(default_factory=list[str])

    async def generate(self, request: GenerateInput) -> AsyncGenerator[Chunk]:
        self.asked.append(request.track)
        concerns = not self.tracks or request.track in self.tracks
        yield self.error if self.error and concerns else TextChunk("It is the disk.\n\nSCORE: 80")

    async def health(self) -> LLMHealth:
        return LLMHealth(ok=True, detail="a test")

    async def aclose(self) -> None:
        """Nothing is held."""


def live(name: str, **changes: Any) -> Any:
    return agent(name, mcp_servers=(), provider=LIVE, **changes)


def outage(model: Model, *agents: Any) -> Scenario:
    ends = {"executive_summary": helper("ExecSummaryAgent", AgentType.EXEC_SUMMARY, provider=LIVE)}
    follow_ups = {"chat": live("ChatAgent"), "scoring": helper("ScoringAgent", AgentType.SCORING, provider=LIVE)}
    stages = stage(*(agents or (live("Investigator"),)))
    if stages.synthesis:
        stages = stages.model_copy(update={"synthesis": helper("SynthesisAgent", AgentType.SYNTHESIS, provider=LIVE)})
    return Scenario(chain(stages, **ends, **follow_ups), [], llm=model)


async def work(running: Application, *, kind: WorkKind = INVESTIGATION) -> sa.RowMapping:
    """Do what is due, and tell how its row of work stands."""
    await running.pool.run_waiting(kind)
    async with running.engine.connect() as connection:
        return (await connection.execute(sa.text("SELECT * FROM work WHERE kind = :kind"), {"kind": kind})).mappings().one()


async def let_the_pause_pass(running: Application) -> None:
    async with running.engine.begin() as connection:
        await connection.execute(sa.text("UPDATE work SET wake_at = now() WHERE wake_at IS NOT NULL"))


async def test_a_session_whose_models_are_out_waits_without_a_worker_and_goes_on_when_they_are_back(database_url: str) -> None:
    model = Model()
    async with outage(model).running(database_url) as running:
        row = await work(running)
        session = await running.services.repositories.sessions.get(SESSION_ID)
        position = (await running.services.repositories.sessions.detail(SESSION_ID)).position
        assert (session.status, row["state"], row["claim_token"]) == (SessionStatus.WAITING, WorkState.PARKED, None)
        assert (position.waiting_reason, position.waiting_for_model) == (REASON, True)
        assert position.waiting_until == row["wake_at"]
        assert model.asked == [TRACK] * 3

        model.error = None
        await work(running)
        assert model.asked == [TRACK] * 3, "not before its time"
        await let_the_pause_pass(running)
        await work(running)
        session = await running.services.repositories.sessions.get(SESSION_ID)
        recording = await read_back(running)
    assert session.status is SessionStatus.COMPLETED
    assert model.asked.count(TRACK) == 5, "once more for a verdict and citations"
    assert recording.outcome is not None
    reported = [("error", "failed"), ("final_analysis", "completed")]
    assert kinds(recording.outcome, TRACK) == reported, "the outage once, and the analysis, which its correction only repeated"
    assert (recording.outcome.timeline[0]["content"], recording.outcome.timeline[0]["metadata"]["count"]) == (REASON, 3)


async def test_the_pause_is_as_long_for_a_worker_whose_clock_is_wrong(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def an_hour_ahead(_clock: SystemClock) -> datetime:
        return datetime.now(UTC) + timedelta(hours=1)

    monkeypatch.setattr(SystemClock, "now", an_hour_ahead)
    async with outage(Model()).running(database_url) as running:
        row = await work(running)
    assert row["wake_at"] - row["parked_at"] < timedelta(minutes=1)


async def test_an_outage_is_reported_once_and_asked_about_ever_more_seldom_until_half_an_hour_is_over(database_url: str) -> None:
    model, pauses = Model(), list[timedelta]()
    async with outage(model).running(database_url) as running:
        while (row := await work(running))["state"] == WorkState.PARKED:
            pauses.append(row["wake_at"] - row["parked_at"])
            await let_the_pause_pass(running)
        session = await running.services.repositories.sessions.get(SESSION_ID)
        recording = await read_back(running)
    assert [round(pause.total_seconds() / 20) for pause in pauses] == [1, 2, 4, 8, 15, 15, 15, 15, 15]
    assert model.asked == [TRACK] * 12, "one more call after each pause"
    assert session.status is SessionStatus.FAILED
    assert "3 calls in a row failed, and so did 9 retries within 30 minutes: HTTP 503: overloaded; check that it is up" in (
        session.error_message or ""
    )
    assert recording.outcome is not None
    assert kinds(recording.outcome, TRACK) == [("error", "failed")] * 2, "that it is waited for, and that it was in vain"


async def test_an_error_that_will_not_pass_ends_a_session_at_once_also_after_a_wait(database_url: str) -> None:
    model = Model()
    async with outage(model).running(database_url) as running:
        await work(running)
        model.error = ErrorChunk("HTTP 401: wrong key", ErrorCode.CREDENTIALS)
        await let_the_pause_pass(running)
        await work(running)
        session = await running.services.repositories.sessions.get(SESSION_ID)
    assert session.status is SessionStatus.FAILED
    assert "HTTP 401: wrong key; check its key" in (session.error_message or "")
    assert model.asked == [TRACK] * 4


async def test_the_last_of_several_models_is_the_one_that_is_waited_for(database_url: str) -> None:
    model = Model()
    falling = live("Investigator", fallback_providers=(fallback(LIVE_OTHER),))
    async with outage(model, falling).running(database_url) as running:
        await work(running)
        position = (await running.services.repositories.sessions.detail(SESSION_ID)).position
        model.error = None
        await let_the_pause_pass(running)
        await work(running)
        asked = [call.provider for call in (await running.services.repositories.interactions.trace(SESSION_ID)).llm]
    assert "other (model-2): HTTP 503: overloaded" in (position.waiting_reason or "")
    assert asked == ["recorded", *["other"] * 5, "recorded"], "a correction is asked of the same model; the summary is another execution"


async def test_agents_that_can_go_on_do_so_before_the_session_waits_for_another(database_url: str) -> None:
    left, right = "0.look/1.Left", "0.look/2.Right"
    model = Model(tracks=(left,))
    async with outage(model, live("Left"), live("Right")).running(database_url) as running:
        await work(running)
        run = await running.services.repositories.interactions.run(SESSION_ID)
        assert [one.status for one in run.executions] == [RunStatus.ACTIVE, RunStatus.COMPLETED]
        assert [one.status for one in run.stages] == [RunStatus.ACTIVE]
        model.error = None
        await let_the_pause_pass(running)
        await work(running)
        session = await running.services.repositories.sessions.get(SESSION_ID)
    assert session.status is SessionStatus.COMPLETED
    assert (model.asked.count(left), model.asked.count(right)) == (5, 2), "each once more, to be corrected"


async def test_an_outage_in_the_executive_summary_is_waited_out(database_url: str) -> None:
    model = Model(tracks=("1.executive summary/1.ExecSummaryAgent",))
    async with outage(model).running(database_url) as running:
        assert (await work(running))["state"] == WorkState.PARKED
        model.error = None
        await let_the_pause_pass(running)
        await work(running)
        session = await running.services.repositories.sessions.get(SESSION_ID)
    assert (session.status, session.executive_summary_error) == (SessionStatus.COMPLETED, None)
    assert session.executive_summary


async def test_questions_and_judgements_are_waited_for_too(database_url: str) -> None:
    model = Model(error=None)
    async with outage(model).running(database_url) as running:
        await work(running)
        model.error = OUT
        await running.services.repositories.chats.ask(SESSION_ID, "Are you sure?", author="tester")
        assert (await work(running, kind=CHAT_ANSWER))["parked_reason"] == REASON
        assert (await work(running, kind=SCORING))["parked_reason"] == REASON
        model.error = None
        await let_the_pause_pass(running)
        assert (await work(running, kind=CHAT_ANSWER))["state"] == WorkState.DONE
        assert (await work(running, kind=SCORING))["state"] == WorkState.DONE
        score = await running.services.repositories.scores.latest(SESSION_ID)
    assert score is not None
    assert (score.status, score.total_score) == (RunStatus.COMPLETED, 80)


async def test_a_session_that_waited_is_replayed_without_waiting_and_says_the_same(database_url: str) -> None:
    model = Model()
    async with outage(model).running(database_url) as running:
        for _ in range(4):
            await work(running)
            await let_the_pause_pass(running)
        model.error = None
        await work(running)
        recording = await read_back(running)
    assert recording.outcome is not None
    assert recording.outcome.status == "completed"
    assert await replayed(database_url, recording) == []
