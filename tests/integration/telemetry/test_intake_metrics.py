"""What monitoring systems say is in /metrics: counted once it is stored, and by what became of it."""

from dataclasses import replace

from prometheus_client import generate_latest

from support.api_world import world
from support.intake_world import RESOLVED, alert, delivery, intake_world
from support.scraped import value
from tarsy.domain.alert import Change, ChangeOutcome
from tarsy.intake.authentication import Token
from tarsy.intake.policy import Policy
from tarsy.telemetry.measured_requests import CountedIntake
from tarsy.telemetry.metrics import Metrics


async def test_alerts_are_counted_by_what_became_of_them_and_repeated_requests_are_not(database_url: str) -> None:
    change = Change(source="monitor", fingerprint="c", title="Deploy", outcome=ChangeOutcome.SUCCEEDED, body="{}")
    async with intake_world(database_url) as ground:
        acceptance = replace(ground.acceptance(), metrics=CountedIntake(ground.metrics))
        reported = delivery(alert("f1"), alert("f2", problem="other"), changes=(change,), delivery_id="d1")
        for _ in range(3):
            await acceptance.accept(reported, author="monitor")
        await acceptance.accept(delivery(alert("f1"), alert("f2", RESOLVED, problem="other")), author="monitor")
    scraped = generate_latest(ground.metrics.registry)
    assert value(scraped, "tarsy_alerts_total", source="monitor", action="opened") == 2
    assert value(scraped, "tarsy_alerts_total", source="monitor", action="repeated") == 1
    assert value(scraped, "tarsy_alerts_total", source="monitor", action="resolved") == 1
    assert value(scraped, "tarsy_changes_total", source="monitor") == 1
    assert value(scraped, "tarsy_sessions_submitted_total", alert_type="kubernetes") == 2


async def test_investigations_that_time_or_a_person_starts_or_ends_are_counted_like_those_of_deliveries(database_url: str) -> None:
    async with intake_world(database_url, max_queue_size=1) as ground:

        def counted() -> tuple[float | None, float | None]:
            scraped = generate_latest(ground.metrics.registry)
            ended = value(scraped, "tarsy_sessions_ended_total", alert_type="kubernetes", status="cancelled")
            return value(scraped, "tarsy_sessions_submitted_total", alert_type="kubernetes"), ended

        first = (await ground.take(alert("f1", problem="one"), alert("f2", problem="two"))).results[0].incident_id or ""
        assert counted() == (1, None), "the queue is full for the second"
        await ground.finish(await ground.begin())
        await ground.maintenance().round()
        assert counted() == (2, None)
        await ground.take(alert("f2", RESOLVED, problem="two"))
        assert counted() == (2, 1)
        await ground.commands().investigate(first, actor="ada")
        assert counted() == (3, 1)
        await ground.commands().resolve(first, actor="ada")
        assert counted() == (3, 2)
        await ground.take(alert("f3", problem="three"))
        ground.later(hours=25)
        await ground.maintenance().round()
        assert counted() == (4, 3)


async def test_refused_requests_are_counted_by_their_reason(database_url: str) -> None:
    metrics = Metrics()
    policy = Policy(default_alert_type="kubernetes", credentials={"splunk": Token(("t",))})
    async with world(database_url, policy=policy, metrics=CountedIntake(metrics)) as api:
        for query in ("", "?token=wrong", "?token=wrong"):
            await api.client.post(f"/api/v1/webhook/splunk{query}", json={})
    scraped = generate_latest(metrics.registry)
    assert value(scraped, "tarsy_webhook_refused_total", source="splunk", reason="missing") == 1
    assert value(scraped, "tarsy_webhook_refused_total", source="splunk", reason="wrong") == 2
