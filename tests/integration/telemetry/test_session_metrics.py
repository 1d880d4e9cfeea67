"""What an investigation leaves in /metrics: read off committed steps and claims."""

from pathlib import Path

from prometheus_client import generate_latest

from support.agent_scenario import (
    OTHER,
    PROVIDER,
    SESSION_ID,
    SUMMARY,
    Scenario,
    agent,
    answers,
    calls,
    chain,
    fails,
    fallback,
    says,
    stage,
)
from support.claims import take
from support.forking import forking
from support.runaway import Runaway, endless_tools, priced_chain, runaway, with_ceiling
from support.scraped import label_values, value
from tarsy.db.outbox import Publisher
from tarsy.db.work.parking import CancelAnswer
from tarsy.db.work.queue import UNREADABLE
from tarsy.db.work.recovery import Recovery
from tarsy.domain.budget import Ceiling
from tarsy.domain.claim import INVESTIGATION
from tarsy.telemetry.measured_work import MeasuredRecovery
from tarsy.telemetry.metrics import Metrics
from tarsy.wiring.application import Application

TRACK = "0.look/1.Investigator"
MODEL = {"provider": PROVIDER.name, "model": PROVIDER.model}
STORY = Scenario(
    chain(stage(agent()), scoring=None),
    [
        says(TRACK, 0, calls("a", "k8s.pods"), calls("b", "k8s.summon_unicorn")),
        says(TRACK, 1, "It is the disk."),
        says(f"1.{SUMMARY}", 0, "Disk."),
    ],
    [answers(TRACK, "a", "k8s.pods", "one pod")],
)


async def run_waiting(running: Application) -> bytes:
    await running.pool.run_waiting(INVESTIGATION)
    return running.services.health.metrics()


async def test_a_finished_session_is_counted_with_its_model_and_tool_calls_and_an_invented_tool_makes_no_series(database_url: str) -> None:
    async with STORY.running(database_url) as running:
        reported = await run_waiting(running)
    assert value(reported, "tarsy_sessions_ended_total", alert_type="test", status="completed") == 1
    assert value(reported, "tarsy_alert_to_verdict_seconds_count") == 1
    assert value(reported, "tarsy_session_wait_seconds_count") == 1
    assert value(reported, "tarsy_session_run_seconds_count", status="completed") == 1
    assert value(reported, "tarsy_work_claimed_total", kind="session") == 1
    assert (value(reported, "tarsy_step_seconds_count") or 0) > 5
    assert value(reported, "tarsy_model_calls_total", **MODEL, kind="iteration", outcome="ok") == 2
    assert value(reported, "tarsy_model_call_seconds_count", **MODEL) == 3
    assert value(reported, "tarsy_model_first_chunk_seconds_count", **MODEL) == 3
    assert value(reported, "tarsy_model_tokens_total", **MODEL, type="input") == 30
    assert value(reported, "tarsy_model_tokens_total", **MODEL, type="output") == 15
    assert value(reported, "tarsy_tool_calls_total", server="k8s", tool="pods", outcome="ok") == 1
    assert value(reported, "tarsy_tool_call_seconds_count", server="k8s", tool="pods") == 1
    assert "summon_unicorn" not in label_values(reported, "tool")


async def test_errors_and_fallbacks_of_models_are_counted(database_url: str) -> None:
    story = Scenario(
        chain(stage(agent(fallback_providers=(fallback(OTHER),), mcp_servers=())), scoring=None),
        [says(TRACK, 0, fails("credentials")), says(TRACK, 1, "It is the disk."), says(f"1.{SUMMARY}", 0, "Disk.")],
    )
    async with story.running(database_url) as running:
        reported = await run_waiting(running)
    assert value(reported, "tarsy_model_calls_total", **MODEL, kind="iteration", outcome="credentials") == 1
    assert value(reported, "tarsy_model_fallbacks_total", provider="other", model="model-2") == 1


async def test_a_session_that_is_cancelled_before_it_began_is_counted_as_ended(database_url: str) -> None:
    async with STORY.running(database_url) as running:
        assert await running.services.repositories.sessions.request_cancel(SESSION_ID, actor="tester") is CancelAnswer.CANCELLED
        reported = running.services.health.metrics()
    assert value(reported, "tarsy_sessions_ended_total", alert_type="test", status="cancelled") == 1


async def test_a_session_that_cannot_be_read_and_is_given_up_is_counted_as_ended(database_url: str) -> None:
    async with STORY.running(database_url) as running:
        async with running.engine.begin() as connection:
            await connection.exec_driver_sql("UPDATE alert_sessions SET slack_thread = '5'")
        for _ in range(UNREADABLE.max_attempts):
            await run_waiting(running)
            async with running.engine.begin() as connection:
                await connection.exec_driver_sql("UPDATE work SET not_before = NULL")
        reported = running.services.health.metrics()
    assert value(reported, "tarsy_sessions_ended_total", alert_type="test", status="failed") == 1


async def test_a_fork_is_counted_as_submitted(database_url: str, tmp_path: Path) -> None:
    async with forking(database_url, tmp_path, STORY, STORY) as session:
        assert (await session.fork(1, model="second")).status_code == 202
        reported = session.running.services.health.metrics()
    assert value(reported, "tarsy_sessions_submitted_total", alert_type="test") == 2


async def test_work_taken_back_from_a_silent_worker_is_counted(database_url: str) -> None:
    metrics = Metrics()
    async with STORY.running(database_url) as running:
        assert await take(running.engine) is not None
        async with running.engine.begin() as connection:
            await connection.exec_driver_sql("UPDATE work SET heartbeat_at = now() - interval '1 hour'")
        await MeasuredRecovery(Recovery(Publisher(running.engine)), metrics).run(silent_seconds=60, limits={INVESTIGATION: 3})
    reported = generate_latest(metrics.registry)
    assert value(reported, "tarsy_recoveries_total", kind="session", outcome="continued") == 1


async def test_ceilings_that_were_met_are_counted(database_url: str, tmp_path: Path) -> None:
    made = runaway(Runaway(endless_tools), tmp_path, with_ceiling(priced_chain(), Ceiling(model_calls=3)))
    async with made.running(database_url) as running:
        reported = await run_waiting(running)
    # The end itself, the correction that was not asked for, and the summary.
    assert value(reported, "tarsy_ceilings_met_total", account="session", limit="model_calls") == 3


async def test_work_that_is_let_go_of_before_its_end_is_counted(database_url: str, tmp_path: Path) -> None:
    made = runaway(Runaway(endless_tools), tmp_path, priced_chain(), "  budgets: [{per: day, usd: 0}]\n")
    async with made.running(database_url) as running:
        reported = await run_waiting(running)
    assert value(reported, "tarsy_work_released_total", kind="session", how="parking") == 1
    assert value(reported, "tarsy_session_run_seconds_count", status="completed") is None


async def test_citations_and_folded_results_are_counted(database_url: str) -> None:
    folded = "\n".join(["the disk is full, cannot write a single block of the log"] * 4000)
    story = Scenario(
        chain(stage(agent()), scoring=None),
        [
            says(TRACK, 0, calls("a", "k8s.pods")),
            says(TRACK, 1, 'The disk is full [A1: "the disk is full, cannot write"]. It will burn [A9].'),
            says(TRACK, 2, 'The disk is full [A1: "the disk is full, cannot write"]. It will burn [A9].'),
            says(f"1.{SUMMARY}", 0, "Disk."),
        ],
        [answers(TRACK, "a", "k8s.pods", folded)],
    )
    async with story.running(database_url) as running:
        reported = await run_waiting(running)
    assert value(reported, "tarsy_tool_results_shortened_total", how="folded") == 1
    assert value(reported, "tarsy_citations_total", status="quote_found") == 1
    assert value(reported, "tarsy_citations_total", status="failed") == 1
