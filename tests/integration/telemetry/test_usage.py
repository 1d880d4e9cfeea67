"""The usage report: running sums that agree with the calls, and outlive them."""

import csv
import io
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa
from anyio import to_thread

from support.agent_scenario import PROVIDER, SUMMARY, Scenario, agent, answers, calls, chain, says, stage
from support.api_world import World, serving
from tarsy.cli.main import app
from tarsy.db.connection import create_engine
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.usage import Period, Span, UsageTotals, csv_lines, forecast

TRACK = "0.look/1.Investigator"
RATES = "system: {cost_estimation: {model_rates: {model-1: {input_per_million: 1000, output_per_million: 4000}}}, budgets: [{per: day, usd: 5}, {per: month, usd: 0.1, chain: chain}]}"
STORY = Scenario(
    chain(stage(agent()), scoring=None),
    [says(TRACK, 0, calls("a", "k8s.pods"), calls("b", "k8s.logs")), says(TRACK, 1, "It is the disk."), says(f"1.{SUMMARY}", 0, "Disk.")],
    [answers(TRACK, "a", "k8s.pods", "one pod"), answers(TRACK, "b", "k8s.logs", "no logs", is_error=True)],
)
# 10 tokens in and 5 out at these rates.
EACH = 0.03


@asynccontextmanager
async def used(database_url: str, directory: Path, *, sessions: int = 2) -> AsyncGenerator[World]:
    """An API whose database has investigated some alerts, three model calls and two tool calls each."""
    directory.joinpath("tarsy.yaml").write_text(RATES)
    async with replace(STORY, config_dir=directory).continued(database_url) as running, serving(running.services) as api:
        for number in range(sessions):
            session = replace(STORY.session(), id=str(uuid4()), alert_type=f"type-{number}", created_at=datetime.now(UTC))
            await running.services.repositories.sessions.insert(session)
        await running.pool.run_waiting(INVESTIGATION)
        yield api


async def report(api: World, **query: str) -> dict[str, Any]:
    answer = await api.client.get("/api/v1/usage", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_the_report_counts_every_call_by_whatever_is_asked(database_url: str, tmp_path: Path) -> None:
    async with used(database_url, tmp_path) as api:
        reported = await report(api)
    assert reported["total"]["calls"] == 6
    assert reported["total"]["cost_usd"] == pytest.approx(6 * EACH)
    assert (reported["total"]["input_tokens"], reported["total"]["output_tokens"]) == (60, 30)
    assert [(one["name"], one["calls"]) for one in reported["by_model"]] == [(f"{PROVIDER.name} / {PROVIDER.model}", 6)]
    assert sorted((one["name"], one["calls"]) for one in reported["by_alert_type"]) == [("type-0", 3), ("type-1", 3)]
    assert sorted((one["name"], one["calls"]) for one in reported["by_agent"]) == [("ExecSummaryAgent", 2), ("Investigator", 4)]
    assert [(one["name"], one["calls"]) for one in reported["by_chain"]] == [("chain", 6)]
    assert sum(one["calls"] for one in reported["by_day"]) == 6
    tools = {one["tool"]: (one["calls"], one["failed_calls"]) for one in reported["by_tool"]}
    assert tools == {"pods": (2, 0), "logs": (2, 2)}
    assert [one["cost_usd"] for one in reported["dearest_sessions"]] == pytest.approx([3 * EACH, 3 * EACH])
    assert reported["month_forecast_usd"] >= reported["month_usd"] == pytest.approx(6 * EACH)


async def test_each_day_is_counted_by_model_and_by_alert_type(database_url: str, tmp_path: Path) -> None:
    async with used(database_url, tmp_path) as api:
        found = (await api.client.get("/api/v1/usage/trends")).raise_for_status().json()
        earlier = (await api.client.get("/api/v1/usage/trends", params={"to": "2026-01-01"})).raise_for_status().json()
    assert sum(one["calls"] for one in found["by_model"]) == sum(one["calls"] for one in found["by_alert_type"]) == 6
    assert {one["name"] for one in found["by_model"]} == {f"{PROVIDER.name} / {PROVIDER.model}"}
    assert {one["name"] for one in found["by_alert_type"]} == {"type-0", "type-1"}
    assert sum(one["tokens"] for one in found["by_model"]) == 90
    assert sum(one["cost_usd"] for one in found["by_alert_type"]) == pytest.approx(6 * EACH)
    assert all(found["first_day"] <= one["day"] <= found["last_day"] for one in found["by_model"])
    assert (earlier["by_model"], earlier["last_day"]) == ([], "2026-01-01")


async def test_days_whose_weeks_cannot_be_counted_are_refused(database_url: str, tmp_path: Path) -> None:
    async with used(database_url, tmp_path, sessions=0) as api:
        for days in ({"to": "0001-01-01"}, {"to": "0001-01-03"}, {"from": "9999-12-30", "to": "9999-12-31"}):
            for path in ("/api/v1/usage", "/api/v1/usage/trends", "/api/v1/usage/table.csv"):
                response = await api.client.get(path, params=days)
                assert response.status_code == 400, (path, days)
                assert "to: write a day as 2026-03-01, from 1970 to 2999" in response.json()["detail"]
        for day in ("1970-01-01", "2999-12-31"):
            found = (await api.client.get("/api/v1/usage/trends", params={"from": day, "to": day})).raise_for_status().json()
            assert len(found["weeks"]) == 13


# Alert type, status, verdict, minutes from alert to end, end; Monday is the 9th of March 2026.
ENDED = (
    ("sunday", "completed", "fault", 1, "2026-03-08T23:59:59Z"),
    ("quick", "completed", "fault", 2, "2026-03-09T00:00:00Z"),
    ("slow", "completed", "no_fault", 12, "2026-03-15T23:59:59Z"),
    ("failed", "failed", None, 90, "2026-03-10T12:00:00Z"),
)


async def test_each_week_is_counted_by_verdict_with_the_time_it_took(database_url: str, tmp_path: Path) -> None:
    async with used(database_url, tmp_path, sessions=0) as api:
        engine = create_engine(database_url)
        for alert_type, status, verdict, minutes, end in ENDED:
            session = replace(STORY.session(), id=str(uuid4()), alert_type=alert_type)
            await api.services.repositories.sessions.insert(session)
            values = {"id": session.id, "status": status, "verdict": verdict, "minutes": minutes, "end": datetime.fromisoformat(end)}
            async with engine.begin() as connection:
                await connection.execute(sa.text(END_OF_SESSION), values)
        await engine.dispose()
        found = (await api.client.get("/api/v1/usage/trends", params={"to": "2026-03-15"})).raise_for_status().json()
    *earlier, before, last = found["weeks"]
    assert len(earlier) == 11
    assert all(week["median_seconds"] is None and week["fault"] == week["no_verdict"] == 0 for week in earlier)
    assert (before["first_day"], before["fault"], before["median_seconds"], before["p90_seconds"]) == ("2026-03-02", 1, 60, 60)
    assert [last[name] for name in ("first_day", "fault", "no_fault", "inconclusive", "no_verdict")] == ["2026-03-09", 1, 1, 0, 1]
    assert (last["median_seconds"], last["p90_seconds"]) == pytest.approx((7 * 60, 11 * 60))


END_OF_SESSION = """
    UPDATE alert_sessions SET status = :status, verdict_outcome = :verdict, completed_at = :end, created_at = CAST(:end AS timestamptz) - make_interval(mins => :minutes)
    WHERE id = :id
"""


async def test_the_report_says_how_far_each_budget_is_used(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async with used(database_url, tmp_path, sessions=1) as api:
        day, month = (await report(api))["budgets"]
    assert (day["per"], day["usd"], day["chain"], month["chain"]) == ("day", 5, None, "chain")
    assert day["spent_usd"] == month["spent_usd"] == pytest.approx(3 * EACH)
    assert day["reserved_usd"] == 0
    assert month["forecast_usd"] >= month["spent_usd"]
    monkeypatch.setenv("TARSY_CONFIG_DIR", str(tmp_path))
    await to_thread.run_sync(partial(app, ["usage", "--database-url", database_url], standalone_mode=False))
    assert "$0.1000 a month for chain chain  $0.0900" in capsys.readouterr().out


async def test_what_was_spent_stays_spent_when_its_sessions_are_erased(database_url: str, tmp_path: Path) -> None:
    async with used(database_url, tmp_path, sessions=1) as api:
        before = await report(api)
        await api.services.repositories.sessions.purge(before["dearest_sessions"][0]["id"], actor="tester")
        after = await report(api)
    assert after["dearest_sessions"] == []
    assert after["total"] == before["total"]


async def test_the_table_for_spreadsheets_adds_up_to_the_report(database_url: str, tmp_path: Path) -> None:
    async with used(database_url, tmp_path) as api:
        answer = await api.client.get("/api/v1/usage/table.csv")
    assert answer.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert sum(int(row["calls"]) for row in rows) == 6
    assert float(sum(Decimal(row["cost_usd"]) for row in rows)) == pytest.approx(6 * EACH)


async def test_days_are_asked_for_by_period_or_by_date(database_url: str, tmp_path: Path) -> None:
    async with used(database_url, tmp_path, sessions=1) as api:
        assert (await report(api, period="day"))["total"]["calls"] == 3
        assert (await report(api, **{"from": "2020-01-01", "to": "2020-02-01"}))["total"]["calls"] == 0
        refused = await api.client.get("/api/v1/usage", params={"from": "2026-02-02", "to": "2026-02-01"})
    assert refused.status_code == 400


def test_a_period_ends_today() -> None:
    assert Period.WEEK.until(date(2026, 3, 7)) == Span(date(2026, 3, 1), date(2026, 3, 7))


def test_a_month_that_goes_on_as_it_began_costs_in_proportion() -> None:
    assert forecast(Decimal(10), date(2026, 4, 10)) == Decimal(30)
    assert forecast(Decimal(10), date(2026, 4, 30)) == Decimal(10)


def test_the_share_of_cached_input_is_reported_where_there_was_input() -> None:
    assert UsageTotals().cache_hit_share is None
    assert UsageTotals(input_tokens=200, cached_tokens=50).cache_hit_share == 0.25


def test_no_cell_of_the_table_is_a_formula() -> None:
    assert csv_lines([("a", "b"), ("=1+1", 2), ("x,y", "-z")]) == "a,b\r\n'=1+1,2\r\n\"x,y\",'-z\r\n"
