"""Incidents over HTTP: found, looked into, and changed by people."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import pytest

from support.api_world import OPEN_POLICY, World, world
from tarsy.api.auth import auth_settings
from tarsy.api.tokens import read_tokens
from tarsy.domain.live_events import INCIDENTS_CHANNEL
from tarsy.events.hub import Hub
from tarsy.events.schema import SERVER_MESSAGE
from tarsy.intake.adapters.generic import GenericMapping
from tarsy.intake.policy import Policy

PARTS = {"title": "title", "severity": "severity", "status": "status", "labels": "labels", "group_key": "group", "fingerprint": "id"}
CHANGE = {"title": "title", "fingerprint": "id", "labels": "labels"}
POLICY = Policy(
    default_alert_type="kubernetes",
    mappings={"monitor": GenericMapping(each="alerts", parts=PARTS), "ci": GenericMapping(kind="change", parts=CHANGE)},
)


async def _alert(api: World, name: str, **more: Any) -> dict[str, Any]:
    body = {
        "alerts": [{"id": name, "title": f"Trouble with {name}", "severity": "warning", "group": name, "labels": {"pod": name}, **more}]
    }
    answer = await api.client.post("/api/v1/webhook/monitor", json=body)
    assert answer.status_code == 202, answer.text
    return answer.json()


async def _incident(api: World, incident_id: str) -> dict[str, Any]:
    answer = await api.client.get(f"/api/v1/incidents/{incident_id}")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_incidents_are_found_by_what_they_are_and_counted_over_all_pages(database_url: str) -> None:
    async with world(database_url, policy=POLICY) as api:
        for number in range(5):
            await _alert(api, f"pod-{number}", severity="critical" if number < 2 else "warning", labels={"team": f"t{number % 2}"})
        await _alert(api, "pod-4", status="resolved")

        async def total(**query: Any) -> int:
            answer = await api.client.get("/api/v1/incidents", params=query)
            assert answer.status_code == 200, answer.text
            return answer.json()["total"]

        assert [await total(), await total(state="open"), await total(state="resolved")] == [5, 4, 1]
        assert [await total(severity="critical"), await total(severity=["critical", "warning"]), await total(severity="info")] == [2, 5, 0]
        assert [await total(source="monitor"), await total(source="grafana"), await total(text="WITH pod-3")] == [5, 0, 1]
        assert [await total(label="team=t0"), await total(label=["team=t0", "team=t1"])] == [3, 2]

        async def titles(**query: Any) -> list[str]:
            found, cursor = list[str](), None
            while cursor or not found:
                more = {"cursor": cursor} if cursor else {}
                page = (await api.client.get("/api/v1/incidents", params={"limit": 2, **query, **more})).json()
                assert page["total"] == 5
                found += [item["title"] for item in page["incidents"]]
                cursor = page["next_cursor"]
            return found

        latest, worst = await titles(), await titles(sort="severity")
        wrong = [await api.client.get("/api/v1/incidents", params=query) for query in ({"label": "team"}, {"state": "odd"}, {"nope": "1"})]
    assert latest == [f"Trouble with pod-{number}" for number in (4, 3, 2, 1, 0)]
    assert worst == [f"Trouble with pod-{number}" for number in (1, 0, 4, 3, 2)]
    assert [answer.status_code for answer in wrong] == [400] * 3


async def test_an_incident_shows_its_alerts_its_investigations_and_what_was_changed(database_url: str) -> None:
    async with world(database_url, policy=POLICY) as api:
        await api.client.post("/api/v1/webhook/ci", json={"id": "d1", "title": "Deployed cart 1.2", "labels": {"service": "cart"}})
        taken = await _alert(api, "cart", annotations={"summary": "down"})
        await _alert(api, "cart")
        shown = await _incident(api, taken["incident_id"])
        member = (await api.client.get(f"/api/v1/alerts/{shown['members'][0]['id']}")).json()
        changes = (await api.client.get("/api/v1/changes", params={"from": "2026-01-01T00:00:00Z"})).json()["changes"]
        missing = [await api.client.get(f"/api/v1/{kind}/00000000-0000-4000-8000-000000000000") for kind in ("incidents", "alerts")]
    assert [(one["title"], one["count"], one["labels"], one["status"]) for one in shown["members"]] == [
        ("Trouble with cart", 2, {"pod": "cart"}, "firing")
    ]
    assert [session["id"] for session in shown["sessions"]] == [taken["session_id"]]
    assert [change["title"] for change in shown["changes"]] == [change["title"] for change in changes] == ["Deployed cart 1.2"]
    assert (shown["activity"]["bar_seconds"], sum(bar["firing"] for bar in shown["activity"]["bars"])) == (60, 2)
    assert json.loads(member["body"])["id"] == "cart"
    assert [answer.status_code for answer in missing] == [404, 404]


async def test_people_resolve_investigate_merge_and_split(database_url: str) -> None:
    async with world(database_url, policy=POLICY) as api:

        async def post(incident: str, what: str, body: Any = None) -> int:
            answer = await api.client.post(f"/api/v1/incidents/{incident}/{what}", json=body)
            return answer.status_code

        one, two = (await _alert(api, "a", group="g"))["incident_id"], (await _alert(api, "b"))["incident_id"]
        await _alert(api, "c", group="g")
        assert await post(one, "investigate") == 409
        assert await post(one, "resolve") == 204
        assert await post(one, "resolve") == 409
        assert await post(one, "investigate") == 202
        assert await post(one, "merge", {"incident_id": two}) == 204
        assert [await post(one, "merge", {"incident_id": one}), await post(two, "investigate")] == [409, 409]
        shown = await _incident(api, one)
        assert (shown["alerts"], shown["merged"], shown["state"]) == (3, [two], "open")
        assert (await api.client.get("/api/v1/incidents")).json()["total"] == 1
        alert = next(member["id"] for member in shown["members"] if member["title"] == "Trouble with b")
        assert await post(one, "split", {"alerts": [alert]}) == 201
        assert [await post(one, "split", {"alerts": [alert]}), await post(one, "split", {"alerts": []})] == [404, 400]
        listed = (await api.client.get("/api/v1/incidents")).json()
    assert sorted(item["alerts"] for item in listed["incidents"]) == [1, 2]


async def test_what_is_muted_is_recorded_until_the_mute_ends(database_url: str) -> None:
    until = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    async with world(database_url, policy=POLICY) as api:
        incident = (await _alert(api, "a"))["incident_id"]
        muted = await api.client.post(f"/api/v1/incidents/{incident}/mute", json={"ends": until, "reason": "known: hunter2"})
        assert muted.status_code == 201, muted.text
        assert [mute["reason"] for mute in (await _incident(api, incident))["mutes"]] == ["known: [MASKED]"]
        other = await _alert(api, "x", group="a")
        assert (other["action"], other["results"][0]["reason"]) == ("recorded", "muted: known: [MASKED]")
        made = await api.client.post("/api/v1/mutes", json={"ends": until, "match": ['pod =~ "b.*"']})
        assert made.status_code == 201, made.text
        assert (await _alert(api, "bar"))["action"] == "recorded"
        assert len((await api.client.get("/api/v1/mutes")).json()["mutes"]) == 2
        ended = [await api.client.delete(f"/api/v1/mutes/{made.json()['id']}") for _ in range(2)]
        assert [answer.status_code for answer in ended] == [204, 404]
        assert (await _alert(api, "bar"))["action"] == "opened"
        early = "2020-01-01T00:00:00Z"
        wrong = [
            await api.client.post("/api/v1/mutes", json={"ends": ends, "match": match})
            for ends, match in ((until, ["nonsense"]), (early, ['a = "b"']), (until, list[str]()))
        ]
    assert [answer.status_code for answer in wrong] == [400] * 3


async def test_a_mute_from_the_first_to_the_last_time_there_is_can_be_read_again(database_url: str) -> None:
    first, last = "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"
    async with world(database_url, policy=POLICY) as api:
        mute = {"match": ["pod = a"], "starts": first, "ends": last}
        assert (await api.client.post("/api/v1/mutes", json=mute)).status_code == 201
        [listed] = (await api.client.get("/api/v1/mutes", params={"from": first, "to": last})).json()["mutes"]
        assert (listed["starts"], listed["ends"]) == ("0001-01-01T00:00:00.000001Z", "9999-12-31T23:59:59.999998Z")
        assert [(await _alert(api, name))["action"] for name in ("a", "b")] == ["recorded", "opened"]


async def test_a_storm_is_cancelled_by_what_its_sessions_have_in_common(database_url: str) -> None:
    async with world(database_url, policy=POLICY) as api:
        for number in range(6):
            await _alert(api, f"pod-{number}")
        explicit = await api.submit("a person asked")
        everything = await api.client.post("/api/v1/cancellations")
        answer = await api.client.post("/api/v1/cancellations", params={"status": "pending", "text": "Trouble"})
        left = (await api.client.get("/api/v1/sessions", params={"status": "pending"})).json()["sessions"]
    assert everything.status_code == 400
    assert answer.json() == {"cancelled": 6}
    assert [session["id"] for session in left] == [explicit]


async def test_watchers_of_incidents_are_notified_of_every_change(database_url: str) -> None:
    async with world(database_url, policy=OPEN_POLICY) as api:
        hub: Hub = api.services.live.hub
        reported = list[Any]()
        async with anyio.create_task_group() as tasks:
            await tasks.start(hub.run)
            with hub.connect() as connection:
                await hub.subscribe(connection, INCIDENTS_CHANNEL, 0)
                await api.client.post("/api/v1/webhook", content="disk full")
                await api.client.post("/api/v1/webhook", content="disk full")
                hub.on_gap()
                with anyio.fail_after(60):
                    while len(reported) < 2:
                        messages = [SERVER_MESSAGE.validate_json(text) for text in await connection.next_messages()]
                        reported += [message for message in messages if message.type == "incident.changed"]
            tasks.cancel_scope.cancel()
    assert [(event.state, event.title, event.deliveries) for event in reported] == [("open", "disk full", 1), ("open", "disk full", 2)]


@pytest.mark.parametrize("path", ["/api/v1/incidents", "/api/v1/mutes", "/api/v1/changes?from=2026-01-01T00:00:00Z"])
async def test_only_senders_come_in_without_a_login(database_url: str, path: str) -> None:
    async with world(database_url, auth=auth_settings(host="127.0.0.1", tokens=read_tokens("a=b"))) as api:
        assert (await api.client.get(path)).status_code == 401
