"""What time does to incidents that no request concerns."""

from dataclasses import replace
from datetime import timedelta

import pytest

from support.intake_world import RESOLVED, ROUTE, alert, intake_world
from tarsy.domain.incident import Mute
from tarsy.domain.route import parse_matchers


async def test_an_alert_of_a_sender_that_never_says_over_ends_by_silence(database_url: str) -> None:
    async with intake_world(database_url) as ground:
        await ground.take(alert("f1"), alert("f2"))
        ground.later(hours=23)
        await ground.take(alert("f2"))
        await ground.maintenance().round()
        assert (await ground.incidents())[0]["firing"] == 2
        ground.later(hours=1)
        await ground.maintenance().round()
        assert (await ground.incidents())[0]["firing"] == 1
        ground.later(hours=23)
        await ground.maintenance().round()
        [incident] = await ground.incidents()
        assert (incident["firing"], incident["resolved_at"] is not None) == (0, True)
        assert [session["status"] for session in await ground.sessions()] == ["cancelled"]


async def test_a_sender_that_says_over_is_waited_for_unless_its_route_sets_a_time(database_url: str) -> None:
    async with intake_world(database_url) as ground:
        await ground.take(replace(alert(), source="alertmanager"))
        ground.later(days=3)
        await ground.maintenance().round()
        assert (await ground.incidents())[0]["firing"] == 1
        ground.routes = [replace(ROUTE, auto_resolve_after=timedelta(days=2))]
        await ground.maintenance().round()
        assert (await ground.incidents())[0]["resolved_at"] is not None


async def test_what_fires_on_without_a_word_is_looked_at_again_after_intervals_that_double(database_url: str) -> None:
    async with intake_world(database_url) as ground:
        await ground.take(replace(alert(), source="alertmanager"))
        investigations = list[float]()
        await ground.finish(await ground.begin())
        for hours in (3.9, 0.2, 7.7, 0.4, 15.5, 0.6, 40.0):
            ground.later(hours=hours)
            await ground.maintenance().round()
            investigations.append(len(await ground.sessions()))
            if (await ground.sessions())[-1]["status"] == "pending":
                await ground.finish(await ground.begin())
        assert investigations == [1, 2, 2, 3, 3, 4, 4]


async def test_an_incident_of_no_route_of_the_operator_is_investigated_again_after_four_hours(database_url: str) -> None:
    rare = replace(ROUTE, match=parse_matchers('problem = "rare"'), repeat_interval=timedelta(hours=24))
    async with intake_world(database_url, routes=(rare,)) as ground:
        await ground.take(replace(alert(), source="alertmanager"))
        await ground.finish(await ground.begin())
        ground.later(hours=4, minutes=1)
        await ground.maintenance().round()
        assert [session["status"] for session in await ground.sessions()] == ["completed", "pending"]


async def test_an_incident_that_found_the_queue_full_gets_its_turn(database_url: str) -> None:
    async with intake_world(database_url, max_queue_size=1) as ground:
        await ground.take(alert("f1", problem="first"))
        await ground.take(alert("f2", problem="second"))
        await ground.maintenance().round()
        assert len(await ground.sessions()) == 1
        await ground.begin()
        await ground.maintenance().round()
        assert [session["status"] for session in await ground.sessions()] == ["in_progress", "pending"]


async def test_incidents_that_are_not_due_keep_no_other_one_waiting(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tarsy.intake.maintenance.AT_ONCE", 1)
    async with intake_world(database_url, max_queue_size=1) as ground:
        await ground.take(alert("f1", problem="muted"))
        await ground.finish(await ground.begin())
        ground.later(hours=5)
        ground.mutes = [Mute(starts=ground.clock.at, ends=ground.clock.at + timedelta(hours=1), match=parse_matchers('problem = "muted"'))]
        await ground.take(alert("f2", problem="second"), alert("f3", problem="third"))
        await ground.begin()
        maintenance = ground.maintenance()
        await maintenance.round()
        await maintenance.round()
        assert [session["status"] for session in await ground.sessions()] == ["completed", "in_progress", "pending"]


async def test_what_is_muted_or_over_is_not_looked_at_again(database_url: str) -> None:
    async with intake_world(database_url) as ground:
        await ground.take(alert("f1", problem="over"), alert("f2", problem="muted"))
        await ground.finish(await ground.begin())
        await ground.finish(await ground.begin())
        await ground.take(alert("f1", RESOLVED, problem="over"))
        ground.later(hours=5)
        ground.mutes = [Mute(starts=ground.clock.at, ends=ground.clock.at + timedelta(hours=1))]
        await ground.maintenance().round()
        assert len(await ground.sessions()) == 2


async def test_an_alert_that_was_first_received_while_muted_is_investigated_when_the_mute_ends_if_it_still_fires(database_url: str) -> None:
    async with intake_world(database_url) as ground:
        ground.mutes = [Mute(starts=ground.clock.at, ends=ground.clock.at + timedelta(hours=1))]
        await ground.take(alert("f1", problem="lasts"), alert("f2", problem="ends"))
        await ground.take(alert("f2", RESOLVED, problem="ends"))
        await ground.maintenance().round()
        assert await ground.incidents() == []
        ground.later(hours=1)
        await ground.maintenance().round()
        await ground.maintenance().round()
        [incident] = await ground.incidents()
        [session] = await ground.sessions()
        assert (incident["title"], incident["firing"], str(session["incident_id"])) == ("Disk f1 is full", 1, str(incident["id"]))
        repeated = await ground.take(alert("f1", problem="lasts"))
        assert [(result.incident_id, result.action) for result in repeated.results] == [(str(incident["id"]), "repeated")]


async def test_an_event_that_occurred_after_its_alert_began_is_investigated_when_the_mute_ends(database_url: str) -> None:
    async with intake_world(database_url) as ground:
        began = ground.clock.at - timedelta(minutes=5)
        ground.mutes = [Mute(starts=ground.clock.at, ends=ground.clock.at + timedelta(hours=1))]
        # As PagerDuty reports it: the incident was created a moment before its event.
        await ground.take(replace(alert(), source="pagerduty", starts_at=began, occurred_at=began + timedelta(seconds=1)))
        ground.later(hours=1)
        await ground.maintenance().round()
        assert [incident["firing"] for incident in await ground.incidents()] == [1]
        assert [session["status"] for session in await ground.sessions()] == ["pending"]


async def test_an_incident_that_ends_by_silence_before_its_repeated_investigation_keeps_the_last_one(database_url: str) -> None:
    async with intake_world(database_url) as ground:
        first = (await ground.take(alert())).main
        assert first
        await ground.finish(await ground.begin())
        ground.later(hours=5)
        await ground.maintenance().round()
        assert [session["status"] for session in await ground.sessions()] == ["completed", "pending"]
        ground.later(hours=20)
        await ground.maintenance().round()
        [incident] = await ground.incidents()
        assert (incident["resolved_at"] is not None, str(incident["session_id"]), incident["looked_again"]) == (True, first.session_id, 0)
