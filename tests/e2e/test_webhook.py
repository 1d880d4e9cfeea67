"""Monitoring systems over HTTP: what they send is taken as they expect, and only from those who can prove who they are."""

import base64
import hashlib
import hmac
import json
from collections import Counter
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from support.api_world import OPEN_POLICY, World, world
from support.mutated_bodies import mutated
from support.sender_examples import load_examples
from support.sns_signer import new_signer
from tarsy.api.auth import auth_settings
from tarsy.api.tokens import read_tokens
from tarsy.config.schema.routes import Scheme
from tarsy.domain.route import parse_matchers
from tarsy.intake.acceptance import NoMetrics
from tarsy.intake.adapters.generic import GenericMapping
from tarsy.intake.adapters.registry import ADAPTERS, parse_delivery
from tarsy.intake.authentication import Basic, Signature, Token
from tarsy.intake.delivery import Delivery, parse_request
from tarsy.intake.policy import Policy, Route, SameAs
from tarsy.intake.sns import SnsClient

EXAMPLES = {(example.sender, example.name): example for example in load_examples()}
TOPIC = "arn:aws:sns:eu-central-1:123456789012:tarsy"


def _group(*fingerprints: str, status: str = "firing") -> dict[str, Any]:
    """What Alertmanager sends of one group."""
    alerts = [
        {
            "status": status,
            "labels": {"alertname": "DiskFull", "namespace": "shop", "pod": name, "severity": "critical"},
            "annotations": {"summary": "The disk is full"},
            "startsAt": "2026-11-15T10:00:00Z",
            "endsAt": "2026-11-15T11:00:00Z" if status == "resolved" else "0001-01-01T00:00:00Z",
            "fingerprint": name,
        }
        for name in fingerprints
    ]
    common = {"groupKey": '{}:{alertname="DiskFull"}', "groupLabels": {"alertname": "DiskFull"}, "commonLabels": {"alertname": "DiskFull"}}
    return {
        "version": "4",
        "status": status,
        "receiver": "tarsy",
        "alerts": alerts,
        "commonAnnotations": {},
        "truncatedAlerts": 0,
        **common,
    }


async def _send(api: World, body: Any, source: str = "", **options: Any) -> httpx.Response:
    return await api.client.post(f"/api/v1/webhook{source and '/' + source}", json=body, **options)


async def test_a_storm_of_one_group_is_one_incident_with_a_title_a_person_would_have_chosen(database_url: str) -> None:
    async with world(database_url) as api:
        first = (await _send(api, _group("cart-1", "cart-2"))).json()
        again = (await _send(api, _group("cart-1", "cart-2", "cart-3"), "alertmanager")).json()
        over = (await _send(api, _group("cart-1", "cart-2", "cart-3", status="resolved"))).json()
        listed = (await api.client.get("/api/v1/incidents")).json()
    assert (first["action"], first["alerts"], first["source"], first["status"]) == ("opened", 2, "alertmanager", "pending")
    assert (again["action"], again["incident_id"], again["session_id"]) == ("joined", first["incident_id"], first["session_id"])
    assert (over["action"], over["session_id"]) == ("resolved", None)
    [incident] = listed["incidents"]
    assert incident["title"] == "DiskFull: The disk is full (shop/cart-1)"
    assert (incident["state"], incident["severity"], incident["alerts"], incident["deliveries"]) == ("resolved", "critical", 3, 8)
    assert (listed["total"], listed["open"], listed["resolved"]) == (1, 0, 1)


async def test_a_group_of_thousands_of_alerts_is_taken_whole_and_those_that_the_sender_left_out_are_shown(database_url: str) -> None:
    group = _group(*(f"cart-{number}" for number in range(2_500)))
    for alert in group["alerts"]:
        alert["annotations"]["description"] = "The volume is full. " * 35
    group["truncatedAlerts"] = 17
    body = json.dumps(group)
    assert len(body) > 2_300_000
    async with world(database_url) as api:
        answer = await api.client.post("/api/v1/webhook/alertmanager", content=body, headers={"Content-Type": "application/json"})
        [incident] = (await api.client.get("/api/v1/incidents")).json()["incidents"]
        await _send(api, _group("cart-1"), "alertmanager")
        [after] = (await api.client.get("/api/v1/incidents")).json()["incidents"]
    assert answer.status_code == 202, answer.text
    assert (incident["alerts"], incident["firing"], incident["truncated"], after["truncated"]) == (2_500, 2_500, 17, 0)


async def test_every_delivery_that_was_refused_or_failed_is_counted_and_listed_with_sender_reason_and_size(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tarsy.intake.fields.MAX_VALUES", 1_000)
    counted: Counter[tuple[str, str]] = Counter()

    class Counted(NoMetrics):
        def count_refusal(self, source: str, reason: str) -> None:
            counted[source, reason] += 1

    class Broken(SnsClient):
        async def certificate(self, address: str) -> bytes | None:
            raise RuntimeError(address)

    policy = replace(OPEN_POLICY, max_body_bytes=2_000, topics={"cloudwatch": (TOPIC,)})
    signed = {
        **EXAMPLES["cloudwatch", "firing"].body,
        "Timestamp": datetime.now(UTC).isoformat(),
        "Signature": "x",
        "SigningCertURL": "https://sns.eu-central-1.amazonaws.com/a.pem",
    }
    behind_proxy = auth_settings(host="127.0.0.1", tokens=read_tokens(None), trusted_proxies=["127.0.0.1"])
    async with world(database_url, auth=behind_proxy, policy=policy, sns=Broken(), metrics=Counted()) as api:

        async def chunks() -> AsyncGenerator[bytes]:
            for _ in range(3):
                yield b"x" * 1_000

        answers = [
            await api.client.post("/api/v1/webhook/grafana", content=b"x" * 2_001, headers={"X-Forwarded-For": "203.0.113.7"}),
            await api.client.post("/api/v1/webhook/grafana", content=chunks()),
            await api.client.post("/api/v1/webhook", content=b" "),
            await api.client.post("/api/v1/webhook/sentry", content=b"[" + b",".join([b"{}"] * 700) + b"]"),
            await api.client.post("/api/v1/webhook/grafana?alert_type=none", json=_group("cart-1")),
            await api.client.post("/api/v1/webhook/UPPER", json=_group("cart-1")),
            await api.client.post("/api/v1/webhook/zabbix", json={}, headers={"Origin": "https://evil.example.com"}),
            await _send(api, signed, "cloudwatch"),
        ]
        listed = (await api.client.get("/api/v1/system/refused-deliveries")).json()["deliveries"]
        warnings = (await api.client.get("/api/v1/system/warnings")).json()["warnings"]
        taken = await _send(api, {"what": "odd"})
    assert [answer.status_code for answer in answers] == [413, 413, 400, 413, 400, 400, 403, 500]
    assert taken.status_code == 202
    assert [(one["source"], one["reason"], one["status"]) for one in reversed(listed)] == [
        ("grafana", "too-large", 413),
        ("grafana", "too-large", 413),
        ("webhook", "bad-request", 400),
        ("sentry", "too-large", 413),
        ("grafana", "unknown-alert-type", 400),
        ("UPPER", "bad-request", 400),
        ("zabbix", "forbidden", 403),
        ("cloudwatch", "internal", 500),
    ]
    assert (listed[-1]["size"], listed[-1]["peer"], listed[-2]["peer"]) == (2_001, "203.0.113.7", "127.0.0.1")
    assert 2_000 < listed[-2]["size"] <= 3_000
    assert counted == Counter((one["source"], one["reason"]) for one in listed)
    assert {warning["message"] for warning in warnings if warning["source"] == "sender"} >= {
        f"2 of the last 8 refused webhook requests came from grafana: {listed[-2]['detail']}"
    }


async def test_an_alert_that_quotes_a_table_of_many_commas_is_no_body_of_many_values(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tarsy.intake.fields.MAX_VALUES", 1_000)
    async with world(database_url) as api:
        quoted = await _send(api, {"title": "Import failed", "excerpt": "7,cart,[open],{}\n" * 1_000})
        many = await _send(api, {"title": "Import failed", "rows": [7] * 1_000})
    assert (quoted.status_code, many.status_code) == (202, 413)


async def test_of_events_that_are_nested_too_deeply_each_keeps_only_its_own_part_of_the_request(database_url: str) -> None:
    event = '{"specversion": "1.0", "id": "%d", "source": "s", "type": "t", "subject": "%d", "data": ' + "[" * 950 + "]" * 950 + "}"
    body = f"[{','.join(event % (number, number) for number in range(100))}]"
    async with world(database_url) as api:
        answer = (await api.client.post("/api/v1/webhook", content=body)).json()
        shown = (await api.client.get(f"/api/v1/incidents/{answer['incident_id']}")).json()
    assert (answer["source"], answer["alerts"], answer["action"]) == ("cloudevents", 100, "opened")
    assert len(json.dumps(shown)) < 3 * len(event)


@pytest.mark.parametrize("number", [70, 2_000])
async def test_severity_and_name_are_read_wherever_they_are_among_many_labels(database_url: str, number: int) -> None:
    group = _group("cart-1")
    labels = group["alerts"][0]["labels"]
    group["alerts"][0]["labels"] = {**{f"a{number}": "x" for number in range(number)}, **labels}
    async with world(database_url) as api:
        answer = (await _send(api, group)).json()
        shown = (await api.client.get(f"/api/v1/incidents/{answer['incident_id']}")).json()
    [alert] = shown["members"]
    assert (shown["severity"], shown["title"]) == ("critical", "DiskFull: The disk is full (shop/cart-1)")
    assert (len(alert["labels"]), alert["labels"] | labels) == (64, alert["labels"])


async def test_two_alertmanagers_with_equal_labels_are_two_and_neither_resolves_alerts_of_the_other(database_url: str) -> None:
    east, west = {"externalURL": "https://east.example.com/am"}, {"externalURL": "https://west.example.com/am"}
    policy = replace(OPEN_POLICY, senders=frozenset({"north"}))
    async with world(database_url, policy=policy) as api:
        first = (await _send(api, _group("cart-1") | east)).json()
        second = (await _send(api, _group("cart-1") | west)).json()
        # By the name of its own address, whatever it says of itself.
        third = (await _send(api, _group("cart-1") | west, "north")).json()
        over = (await _send(api, _group("cart-1", status="resolved") | west)).json()
        listed = (await api.client.get("/api/v1/incidents")).json()["incidents"]
    assert [answer["action"] for answer in (first, second, third)] == ["opened"] * 3
    assert over["incident_id"] == second["incident_id"]
    assert {incident["id"] for incident in listed if incident["state"] == "open"} == {first["incident_id"], third["incident_id"]}


async def test_an_alert_that_is_repeated_long_after_its_end_fires_again_and_one_that_only_arrives_late_does_not(database_url: str) -> None:
    now = datetime.now(UTC)

    def resolved(name: str, minutes: float) -> dict[str, Any]:
        group = _group(name, status="resolved")
        group["alerts"][0]["endsAt"] = (now - timedelta(minutes=minutes)).isoformat()
        return group

    async with world(database_url) as api:
        for name in ("cart-1", "cart-2"):
            await _send(api, _group(name))
        for ended in (resolved("cart-1", 10), resolved("cart-2", 0)):
            await _send(api, ended)
        late = (await _send(api, _group("cart-2"))).json()
        repeated = (await _send(api, _group("cart-1"))).json()
        [incident] = (await api.client.get("/api/v1/incidents")).json()["incidents"]
    assert (late["action"], repeated["action"]) == ("repeated", "reopened")
    assert (incident["state"], incident["firing"]) == ("open", 1)


async def test_one_problem_that_two_senders_report_is_one_incident_if_a_route_says_so(database_url: str) -> None:
    page = json.loads(json.dumps(EXAMPLES["pagerduty", "firing"].body))
    page["event"]["data"]["service"]["summary"] = "shop"
    of_another_service = json.loads(json.dumps(page).replace('"shop"', '"billing"').replace(page["event"]["data"]["id"], "PX9"))
    routes = (
        Route(name="pages", match=parse_matchers('source = "pagerduty"'), same_as=SameAs("metrics", {"namespace": "service"})),
        Route(name="metrics", group_by=("namespace",)),
    )
    async with world(database_url, policy=replace(OPEN_POLICY, routes=routes)) as api:
        paged = (await _send(api, page)).json()
        fires = (await _send(api, _group("cart-1"))).json()
        over = (await _send(api, _group("cart-1", status="resolved"))).json()
        other = (await _send(api, of_another_service)).json()
        listed = (await api.client.get("/api/v1/incidents")).json()["incidents"]
    assert [answer["action"] for answer in (paged, fires, over, other)] == ["opened", "joined", "resolved", "opened"]
    assert paged["incident_id"] == fires["incident_id"] == over["incident_id"]
    assert {(one["id"], one["state"], one["firing"]) for one in listed} == {
        (paged["incident_id"], "open", 1),
        (other["incident_id"], "open", 1),
    }


async def test_a_misspelt_name_is_recognised_by_the_body_or_refused_with_the_right_one(database_url: str) -> None:
    async with world(database_url) as api:
        first = (await _send(api, _group("cart-1"), "alertmanger")).json()
        over = (await _send(api, _group("cart-1", status="resolved"), "alertmanger")).json()
        odd = await _send(api, {"what": "odd"}, "alertmanger")
        other = await _send(api, {"what": "odd"}, "our-own-checks")
        [listed] = (await api.client.get("/api/v1/system/refused-deliveries")).json()["deliveries"]
        incidents = (await api.client.get("/api/v1/incidents")).json()["incidents"]
    assert (first["source"], over["action"], over["incident_id"]) == ("alertmanager", "resolved", first["incident_id"])
    assert {incident["severity"] for incident in incidents} == {"critical", "unknown"}
    assert odd.status_code == 404
    assert 'did you mean "alertmanager"?' in odd.json()["detail"]
    assert (listed["source"], listed["reason"]) == ("alertmanger", "unknown-sender")
    assert (other.status_code, other.json()["source"]) == (202, "our-own-checks")


# Notifications of senders that have no adapter: one that fires, the same problem again in other words, and its end; and the title.
UNKNOWN_SENDERS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any], str]] = {
    "checkly": (
        {"event": "Cart API has failed", "alert_type": "ALERT_FAILURE", "check_name": "Cart API", "check_id": "c-1", "response_time": "2"},
        {"event": "Cart API has failed again", "alert_type": "ALERT_FAILURE_REMIND", "check_name": "Cart API", "check_id": "c-1"},
        {"event": "Cart API has recovered", "alert_type": "ALERT_RECOVERY", "check_name": "Cart API", "check_id": "c-1"},
        "Cart API",
    ),
    "thousandeyes": (
        {"eventId": "1", "eventType": "ALERT_NOTIFICATION_TRIGGER", "alert": {"alertId": 7, "ruleName": "Offline", "hostname": "te-1"}},
        {"eventId": "2", "eventType": "ALERT_NOTIFICATION_TRIGGER", "alert": {"alertId": 7, "ruleName": "Offline", "hostname": "te-1"}},
        {"eventId": "3", "eventType": "ALERT_NOTIFICATION_CLEAR", "alert": {"alertId": 7, "ruleName": "Offline", "active": 0}},
        "Offline (te-1)",
    ),
    "uptime-kuma": (
        {"heartbeat": {"monitorID": 4, "status": 0, "msg": "timeout"}, "monitor": {"id": 4, "name": "Shop"}, "msg": "[Shop] Down"},
        {"heartbeat": {"monitorID": 4, "status": 0, "msg": "503"}, "monitor": {"id": 4, "name": "Shop"}, "msg": "[Shop] Down: not ok"},
        {"heartbeat": {"monitorID": 4, "status": 1, "msg": "200"}, "monitor": {"id": 4, "name": "Shop"}, "msg": "[Shop] Up"},
        "Shop",
    ),
    "checkmk": (
        {"id": "17", "summary": "web-1 - UP -> DOWN", "host": "web-1", "event": "UP -> DOWN", "what": "HOST", "severity": "CRITICAL"},
        {"id": "18", "summary": "web-1 - still DOWN", "host": "web-1", "event": "DOWN", "what": "HOST", "severity": "CRITICAL"},
        {"id": "19", "summary": "web-1 - DOWN -> UP", "host": "web-1", "event": "DOWN -> UP", "what": "HOST", "severity": "OK"},
        "web-1 - UP -> DOWN",
    ),
    "librenms": (
        {"title": "Alert for device sw-1 - Port down", "alert_id": "26", "id": "38", "severity": "critical", "state": "1", "status": "0"},
        {"title": "Alert for device sw-1 - Port down", "alert_id": "26", "id": "39", "severity": "critical", "state": "1", "elapsed": "5m"},
        {"title": "Device sw-1 recovered from Port down", "alert_id": "26", "id": "40", "severity": "ok", "state": "0", "status": "1"},
        "Alert for device sw-1 - Port down",
    ),
    "plain": (
        {"message": "Disk is 91% full", "host": "db-1", "at": "2026-11-15T10:00:00Z"},
        {"message": "Disk is 92% full", "host": "db-1", "at": "2026-11-15T11:00:00Z"},
        {"message": "Disk is 12% full", "host": "db-1", "at": "2026-11-15T12:00:00Z", "status": "resolved"},
        "Disk is 91% full (db-1)",
    ),
}


async def test_json_of_unknown_senders_has_a_stable_identity_an_end_and_a_title(database_url: str) -> None:
    outcomes: dict[str, list[str]] = {}
    async with world(database_url) as api:
        for sender, (fires, repeated, over, _) in UNKNOWN_SENDERS.items():
            outcomes[sender] = [(await _send(api, body, sender)).json()["action"] for body in (fires, repeated, over)]
        other = (await _send(api, {"message": "Disk is 91% full", "host": "db-2"}, "plain")).json()
        inventory = {"event": "updated", "model": "site", "username": "kim", "data": {"id": 4, "name": "Oslo"}, "snapshots": {}}
        changed = (await _send(api, inventory, "netbox")).json()
        listed = (await api.client.get("/api/v1/incidents?limit=50")).json()["incidents"]
    assert outcomes == {sender: ["opened", "repeated", "resolved"] for sender in UNKNOWN_SENDERS}
    assert {one["title"] for one in listed} == {expected for *_, expected in UNKNOWN_SENDERS.values()} | {"Disk is 91% full (db-2)"}
    assert (other["action"], changed["action"], changed["changes"]) == ("opened", "noted", 1)


async def test_an_unknown_shape_is_one_plain_alert_and_the_same_again_is_a_repeat(database_url: str) -> None:
    async with world(database_url) as api:
        first = (await _send(api, {"what": "odd"})).json()
        again = (await _send(api, {"what": "odd"})).json()
        session = (await api.client.get(f"/api/v1/sessions/{first['session_id']}")).json()
    assert (first["source"], first["action"], again["action"], again["session_id"]) == (
        "webhook",
        "opened",
        "repeated",
        first["session_id"],
    )
    assert session["alert_data"] == '{"what":"odd"}'
    assert session["incident_id"] == first["incident_id"]


async def test_pagerduty_is_believed_by_its_signature_and_its_repeats_count_once(database_url: str) -> None:
    policy = Policy(default_alert_type="kubernetes", credentials={"pagerduty": Signature(Scheme.PAGERDUTY, ("new", "old"))})
    body = json.dumps(EXAMPLES["pagerduty", "firing"].body).encode()
    genuine = hmac.new(b"old", body, hashlib.sha256).hexdigest()

    def headers(signature: str | None) -> dict[str, str]:
        named = {"X-PagerDuty-Signature": signature} if signature else {}
        return {"X-Webhook-Id": "w1", "Content-Type": "application/json", **named}

    login = auth_settings(host="127.0.0.1", tokens=read_tokens("alice=secret-token"))
    async with world(database_url, auth=login, policy=policy) as api:
        address = "/api/v1/webhook/pagerduty"
        refused = [
            await api.client.post(address, content=body, headers=headers(None)),
            await api.client.post(address, content=body, headers=headers(f"v1={'0' * 64}")),
            await api.client.post(address, content=body + b" ", headers=headers(f"v1={genuine}")),
            # Not even with a login, and not where its shape names a vendor.
            await api.client.post(address, content=body, headers={**headers(None), "Authorization": "Bearer secret-token"}),
            await api.client.post("/api/v1/webhook", content=body, headers=headers(None)),
        ]
        taken = [await api.client.post(address, content=body, headers=headers(f"v1={'1' * 64},v1={genuine}")) for _ in range(3)]
        reported = {"Authorization": "Bearer secret-token"}
        warnings = (await api.client.get("/api/v1/system/warnings", headers=reported)).json()["warnings"]
        [incident] = (await api.client.get("/api/v1/incidents", headers=reported)).json()["incidents"]
    assert [answer.status_code for answer in refused] == [401] * 5
    assert [answer.status_code for answer in taken] == [202] * 3
    assert taken[0].json() == taken[2].json()
    assert incident["deliveries"] == 1
    senders = [warning["message"] for warning in warnings if warning["source"] == "sender"]
    assert len(senders) == 2
    assert senders[0].startswith("3 of the last 5 refused webhook requests came from pagerduty")


@pytest.mark.parametrize(
    ("credential", "headers", "query", "status"),
    [
        (Token(("t",)), {"Authorization": "Bearer t"}, "", 202),
        (Token(("t",)), {}, "?token=t", 202),
        (Token(("t",)), {}, "?token=wrong", 401),
        (Basic("u", ("p",)), {"Authorization": f"Basic {base64.b64encode(b'u:p').decode()}"}, "", 202),
        (Basic("u", ("p",)), {}, "", 401),
        (None, {}, "", 401),
        (None, {"Authorization": "Bearer secret-token"}, "", 202),
        (None, {}, "?token=secret-token", 202),
    ],
)
async def test_senders_come_in_by_their_own_proof_or_by_a_token_of_the_api(
    database_url: str, credential: Any, headers: dict[str, str], query: str, status: int
) -> None:
    policy = Policy(default_alert_type="kubernetes", credentials={"splunk": credential} if credential else {})
    login = auth_settings(host="127.0.0.1", tokens=read_tokens("alice=secret-token"))
    async with world(database_url, auth=login, policy=policy) as api:
        answer = await api.client.post(f"/api/v1/webhook/splunk{query}", json=EXAMPLES["splunk", "firing"].body, headers=headers)
    assert answer.status_code == status, answer.text


@pytest.mark.parametrize("credential", [Token(("t",)), Basic("u", ("p",)), Signature(Scheme.SENTRY, ("s",)), None])
async def test_who_cannot_be_the_named_sender_is_refused_before_the_body_is_read(database_url: str, credential: Any) -> None:
    policy = Policy(default_alert_type="kubernetes", credentials={"sentry": credential} if credential else {})
    login = auth_settings(host="127.0.0.1", tokens=read_tokens("alice=secret-token"))
    head = b"POST /api/v1/webhook/sentry HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 16000000\r\n\r\n"
    async with world(database_url, auth=login, policy=policy) as api:
        with anyio.fail_after(60):
            async with await anyio.connect_tcp("127.0.0.1", api.port) as stream:
                await stream.send(head)
                answer = await stream.receive()
    assert answer.startswith(b"HTTP/1.1 401 ")


async def test_the_body_of_a_wrong_signature_is_not_parsed_and_that_of_a_stranger_is_small(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tarsy.intake.fields.MAX_VALUES", 1_000)
    policy = replace(OPEN_POLICY, credentials={"sentry": Signature(Scheme.SENTRY, ("s",))}, topics={"cloudwatch": (TOPIC,)})
    login = auth_settings(host="127.0.0.1", tokens=read_tokens("alice=secret-token"))
    many = json.dumps([7] * 2_000).encode()
    async with world(database_url, auth=login, policy=policy) as api:

        async def signed(secret: bytes) -> int:
            signature = hmac.new(secret, many, hashlib.sha256).hexdigest()
            answer = await api.client.post("/api/v1/webhook/sentry", content=many, headers={"Sentry-Hook-Signature": signature})
            return answer.status_code

        assert [await signed(b"wrong"), await signed(b"s")] == [401, 413]
        large = [await api.client.post(f"/api/v1/webhook{named}", content=b"x" * 1_100_000) for named in ("", "/cloudwatch", "/our-own")]
    assert [answer.status_code for answer in large] == [413, 413, 413]


async def test_sns_is_believed_by_its_certificate_and_its_subscription_is_confirmed(database_url: str) -> None:
    now = datetime.now(UTC)
    signer, asked = new_signer(now), list[str]()

    def aws(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        return httpx.Response(200, content=signer.certificate)

    policy = Policy(default_alert_type="kubernetes", topics={"cloudwatch": (TOPIC,)})
    sns = SnsClient(lambda: httpx.AsyncClient(transport=httpx.MockTransport(aws)))
    stamp = {"Timestamp": now.isoformat()}
    handshake = signer.sign({**EXAMPLES["cloudwatch", "subscription_confirmation"].body, **stamp}, "2").values
    firing = signer.sign({**EXAMPLES["cloudwatch", "firing"].body, **stamp}, "1").values
    async with world(database_url, policy=policy, sns=sns) as api:
        # SNS says that its JSON is text.
        text = {"Content-Type": "text/plain; charset=UTF-8"}
        answers = [
            await api.client.post("/api/v1/webhook/cloudwatch", content=json.dumps(body), headers=text)
            for body in (handshake, firing, firing, {**firing, "Message": "other"}, {**firing, "SigningCertURL": "https://evil.test/a.pem"})
        ]
    assert [answer.status_code for answer in answers] == [202, 202, 202, 401, 401]
    assert answers[0].json()["action"] == "noted"
    assert answers[1].json() == answers[2].json()
    # One certificate, fetched once, and the address of the handshake; nothing else was asked for.
    assert len(asked) == 2
    assert "Action=ConfirmSubscription" in asked[1]


async def test_sns_gets_503_without_its_certificate_and_otherwise_why_a_message_is_refused(database_url: str) -> None:
    now = datetime.now(UTC)
    signer, answers_of_aws = (
        new_signer(now),
        [httpx.Response(503), httpx.Response(404), httpx.Response(200, content=b"<p>Log in to the network</p>")],
    )

    def aws(_request: httpx.Request) -> httpx.Response:
        if answers_of_aws:
            return answers_of_aws.pop(0)
        raise httpx.ConnectError("no route")

    firing = {**EXAMPLES["cloudwatch", "firing"].body, "Timestamp": now.isoformat()}
    bodies = [
        *[signer.sign(firing, "2").values] * 3,
        signer.sign({**firing, "TopicArn": f"{TOPIC}-of-others"}, "2").values,
        signer.sign({**firing, "Timestamp": (now - timedelta(hours=2)).isoformat()}, "2").values,
        {**signer.sign(firing, "2").values, "SigningCertURL": "https://sns.eu-central-1.amazonaws.com/other.pem"},
    ]
    policy = Policy(default_alert_type="kubernetes", topics={"cloudwatch": (TOPIC,)})
    sns = SnsClient(lambda: httpx.AsyncClient(transport=httpx.MockTransport(aws)))
    async with world(database_url, policy=policy, sns=sns) as api:
        answers = [await _send(api, body, "cloudwatch") for body in bodies]
        listed = (await api.client.get("/api/v1/system/refused-deliveries")).json()["deliveries"]
    assert [answer.status_code for answer in answers] == [503, 401, 503, 401, 401, 503]
    reasons = ["no-certificate", "wrong", "no-certificate", "foreign_topic", "too_old", "no-certificate"]
    assert [one["reason"] for one in reversed(listed)] == reasons
    assert [answer.json().get("reason", "no-certificate") for answer in answers] == reasons


async def test_without_its_topic_a_handshake_is_left_alone(database_url: str) -> None:
    def aws(request: httpx.Request) -> httpx.Response:
        raise AssertionError(f"asked {request.url}")

    sns = SnsClient(lambda: httpx.AsyncClient(transport=httpx.MockTransport(aws)))
    async with world(database_url, policy=OPEN_POLICY, sns=sns) as api:
        answer = await _send(api, EXAMPLES["cloudwatch", "subscription_confirmation"].body, "cloudwatch")
    assert (answer.status_code, answer.json()["incident_id"]) == (202, None)


async def test_cloud_events_are_the_same_when_source_and_id_are(database_url: str) -> None:
    body = EXAMPLES["cloudevents", "firing"].body
    async with world(database_url) as api:
        answers = [(await _send(api, body)).json() for _ in range(2)]
        [incident] = (await api.client.get("/api/v1/incidents")).json()["incidents"]
    assert answers[0] == answers[1]
    assert incident["deliveries"] == 1


async def test_a_sender_of_the_operators_own_is_read_by_its_mapping(database_url: str) -> None:
    mapping = GenericMapping(each="checks", parts={"title": "name", "severity": "level", "labels": "tags", "status": "state"})
    async with world(database_url, policy=Policy(default_alert_type="kubernetes", mappings={"checks": mapping})) as api:
        body = {"checks": [{"name": "Disk full", "level": "critical", "tags": {"host": "a"}}, {"name": "CPU hot", "level": "low"}]}
        answer = (await _send(api, body, "checks")).json()
        listed = (await api.client.get("/api/v1/incidents", params={"label": "host=a"})).json()
    assert (answer["alerts"], len(answer["results"])) == (2, 2)
    assert [(item["title"], item["severity"], item["source"]) for item in listed["incidents"]] == [("Disk full", "critical", "checks")]


async def test_what_only_an_address_asks_for_is_checked(database_url: str) -> None:
    async with world(database_url) as api:
        answers = [
            await api.client.post("/api/v1/webhook?alert_type=nope", content="disk"),
            await api.client.post("/api/v1/webhook?runbook=ftp://x", content="disk"),
            await api.client.post("/api/v1/webhook/UPPER", content="disk"),
        ]
        listed = (await api.client.get("/api/v1/incidents")).json()
    assert [answer.status_code for answer in answers] == [400, 400, 400]
    assert listed["total"] == 0


async def test_no_mutated_body_of_any_sender_breaks_the_server_or_is_lost(database_url: str) -> None:
    bodies: list[tuple[str, dict[str, str], str | None]] = []

    @settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], phases=[Phase.generate])
    @given(mutated(), st.sampled_from([None, *ADAPTERS]))
    def collect(mutation: Any, reported: str | None) -> None:
        example, body = mutation
        headers = {name: value for name, value in example.headers.items() if value.isascii()}
        bodies.append((json.dumps(body), {"content-type": "application/json", **headers}, reported))

    collect()
    first: dict[tuple[str, str], Delivery] = {}
    async with world(database_url) as api:
        for text, headers, reported in bodies:
            expected = parse_delivery(parse_request(text, headers), reported)
            if expected.delivery_id:
                # A delivery that comes again is answered as it was at first, whatever it says now.
                expected = first.setdefault((expected.source, expected.delivery_id), expected)
            answer = await api.client.post(f"/api/v1/webhook{'/' + reported if reported else ''}", content=text, headers=headers)
            assert answer.status_code == 202, (answer.text, text)
            taken = answer.json()
            assert (taken["alerts"], taken["changes"]) == (len(expected.alerts), len(expected.changes))
            assert sum(result["alerts"] for result in taken["results"]) == len(expected.alerts)


async def test_the_same_request_for_an_investigation_is_one_session(database_url: str) -> None:
    async with world(database_url) as api:

        async def submit(data: str, key: str | None) -> httpx.Response:
            return await api.client.post("/api/v1/alerts", json={"data": data}, headers={"Idempotency-Key": key} if key else {})

        first, again = await submit("disk", "k1"), await submit("disk", "k1")
        async with anyio.create_task_group() as tasks:
            for _ in range(8):
                tasks.start_soon(submit, "at the same time", "k3")
        await api.client.post(f"/api/v1/sessions/{first.json()['session_id']}/cancel")
        ended = await submit("disk", "k1")
        other, reused, without = await submit("disk", "k2"), await submit("fan", "k1"), await submit("disk", None)
        listed = (await api.client.get("/api/v1/sessions")).json()["sessions"]
    assert [session["title"] for session in listed].count("at the same time") == 1
    assert ended.json() == {**first.json(), "status": "cancelled"}
    ids = [answer.json().get("session_id") for answer in (first, again, other, without)]
    assert ids[0] == ids[1]
    assert len(set(ids)) == 3
    assert (reused.status_code, "Idempotency-Key" in reused.json()["detail"]) == (409, True)


async def test_an_old_signature_is_refused_where_a_time_is_signed(database_url: str) -> None:
    credential = Signature(Scheme.GRAFANA, ("s",), timestamp_header="X-Grafana-Time")
    body = json.dumps(EXAMPLES["grafana", "firing"].body).encode()

    def signed(at: datetime) -> dict[str, str]:
        stamp = str(int(at.timestamp()))
        digest = hmac.new(b"s", stamp.encode() + b":" + body, hashlib.sha256).hexdigest()
        return {"X-Grafana-Time": stamp, "X-Grafana-Alerting-Signature": digest, "Content-Type": "application/json"}

    async with world(database_url, policy=Policy(default_alert_type="kubernetes", credentials={"grafana": credential})) as api:
        now = datetime.now(UTC)
        fresh = await api.client.post("/api/v1/webhook/grafana", content=body, headers=signed(now))
        stale = await api.client.post("/api/v1/webhook/grafana", content=body, headers=signed(now - timedelta(minutes=6)))
    assert (fresh.status_code, stale.status_code) == (202, 401)


async def test_a_sender_of_cloudevents_that_asks_first_is_given_permission_and_only_what_it_asks_for(database_url: str) -> None:
    async with world(database_url) as api:

        async def asked(path: str, **headers: str) -> dict[str, str]:
            answer = await api.client.request(
                "OPTIONS", f"/api/v1/webhook{path}", headers={f"webhook-request-{k}": v for k, v in headers.items()}
            )
            assert answer.headers["allow"] == "POST"
            return {name: value for name, value in answer.headers.items() if name.startswith("webhook-")}

        granted = {"webhook-allowed-origin": "eventgrid.azure.net", "webhook-allowed-rate": "*"}
        assert await asked("/cloudevents", origin="eventgrid.azure.net", rate="120") == granted
        assert await asked("", origin="eventgrid.azure.net") == granted
        assert await asked("/cloudevents") == {}
        assert await asked("/cloudevents", origin="<script>") == {}
