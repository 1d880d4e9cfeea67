"""What one tool server, one client or one sender sends stalls nobody: /health answers meanwhile."""

import json
import sys
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from typing import Any

import anyio
import pytest

from support.api_world import OPEN_POLICY, world
from support.live_node import LiveNode, live_node
from support.live_server import live_server
from support.opening import fault, opened
from support.stalls import SUBSCRIBER, AnswerTimes, measured_health
from tarsy.intake.adapters.generic import GenericMapping
from tarsy.intake.policy import Route

P99_SECONDS = 0.25

pytestmark = [pytest.mark.growth, pytest.mark.timeout(300)]


@pytest.fixture
async def node(database_url: str) -> AsyncGenerator[LiveNode]:
    async with live_node(database_url) as node:
        yield node


def judge(what: str, times: AnswerTimes, capsys: pytest.CaptureFixture[str]) -> None:
    p99, longest = times.percentile(0.99), max(times.taken)
    with capsys.disabled():
        print(f"\n{what}: /health {len(times.taken)} times, p99 {p99 * 1000:.0f} ms, longest {longest * 1000:.0f} ms")  # noqa: T201 - the figures are the point
    assert p99 < P99_SECONDS


@pytest.mark.parametrize(
    ("mode", "tool"),
    [
        ("attack", "200,000 requests"),
        ("attack", "50,000 progress notices"),
        ("attack", "a line of 50 MB"),
        ("attack", "a million content items"),
        ("attack", "five million values"),
        ("attack", "90,000 structured values"),
        ("attack:description", "a description of 34 MB"),
        ("attack:schemas", "schemas of 15 MB"),
    ],
)
async def test_a_tool_server_that_floods_us_stalls_nobody(node: LiveNode, mode: str, tool: str, capsys: pytest.CaptureFixture[str]) -> None:
    async with live_server(node) as address, measured_health(address) as times:
        # So that a single stall is no hundredth of the answers only because there were so few.
        for _ in range(3):
            async with opened(fault(mode), call_timeout=60.0) as tools:
                await tools.list()
                if mode == "attack":
                    await tools.call("fault.attack", tool)
    judge(tool, times, capsys)


async def test_a_client_that_subscribes_without_end_stalls_nobody(node: LiveNode, capsys: pytest.CaptureFixture[str]) -> None:
    async with live_server(node) as address, measured_health(address) as times:
        # It would take ten minutes: it has to wait, the others need not.
        with anyio.move_on_after(10):
            await anyio.run_process([sys.executable, "-c", SUBSCRIBER, address, "60000"])
    judge("60,000 subscriptions", times, capsys)


def _group(number: int) -> bytes:
    """A group of Alertmanager of as many alerts."""
    alerts = [
        {
            "labels": {"alertname": "DiskFull", "namespace": f"team-{name % 40}", "pod": f"pod-{name}", "severity": "critical"},
            "annotations": {"summary": "The disk is full", "description": "It fills. " * 45},
            "startsAt": "2026-11-15T10:00:00Z",
            "fingerprint": f"f{name}",
        }
        for name in range(number)
    ]
    return json.dumps({"groupKey": "g", "groupLabels": {"a": "b"}, "commonLabels": {}, "alerts": alerts}).encode()


def _alert_of(field: str, value: Any) -> bytes:
    return json.dumps({"groupKey": "g", "groupLabels": {"a": "b"}, "commonLabels": {}, "alerts": [{field: value}]}).encode()


def _deep_events() -> bytes:
    event = '{"specversion": "1.0", "id": "%d", "source": "s", "type": "t", "subject": "%d", "data": ' + "[" * 950 + "]" * 950 + "}"
    return f"[{','.join(event % (number, number) for number in range(500))}]".encode()


DELIVERIES: dict[str, Callable[[], bytes]] = {
    "a group of 16 MB": lambda: _group(22_000),
    "4,000 new incidents": lambda: _group(4_000),
    "500,000 mapped items": lambda: b'{"items": [' + b",".join([b'{"name": "x"}'] * 500_000) + b"]}",
    "100,000 mapped items": lambda: b'{"items": [' + b",".join([b'{"name": "x"}'] * 100_000) + b"]}",
    "events nested 950 deep": _deep_events,
    "an alert of 250,000 labels": lambda: _alert_of("labels", {f"label{number}": "v" for number in range(250_000)}),
    "an alert of 100 x 2,500 labels": lambda: _alert_of(
        "labels", {f"group{group}": dict.fromkeys(map(str, range(2_500)), "v") for group in range(100)}
    ),
    "an alert with 700,000 numbers": lambda: _alert_of("values", [1] * 700_000),
    "a text of 15 MB": lambda: b"password: hunter2 is wrong\n" * 580_000,
}


@pytest.mark.parametrize("what", DELIVERIES)
async def test_a_sender_that_sends_a_lot_stalls_nobody(database_url: str, what: str, capsys: pytest.CaptureFixture[str]) -> None:
    body = DELIVERIES[what]()
    mapping = GenericMapping(each="items", parts={"title": "name"})
    each = Route(name="each", group_by=("...",))
    policy = replace(OPEN_POLICY, mappings={"items": mapping}, routes=(each,) if what == "4,000 new incidents" else ())
    source = "items" if "items" in what else "cloudevents" if "events" in what else "alertmanager"
    async with world(database_url, policy=policy) as api, measured_health(f"127.0.0.1:{api.port}") as times:
        statuses = [(await api.client.post(f"/api/v1/webhook/{source}", content=body, timeout=60)).status_code for _ in range(3)]
    with capsys.disabled():
        print(f"\n{what}: {len(body) / 1e6:.1f} MB, {statuses}", end="")  # noqa: T201 - the figures are the point
    assert set(statuses) <= {202, 413}
    judge(what, times, capsys)


async def test_an_alert_of_very_many_values_that_is_submitted_stalls_nobody(database_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    bodies = {
        "values": b'{"data": [' + b",".join([b"[]"] * 330_000) + b"]}",
        "fields": json.dumps({"data": {str(n): 1 for n in range(80_000)}}).encode(),
    }
    async with world(database_url) as api, measured_health(f"127.0.0.1:{api.port}") as times:
        for _ in range(5):
            for body in bodies.values():
                await api.client.post("/api/v1/alerts", content=body, headers={"content-type": "application/json"}, timeout=60)
    judge("alerts of 330,000 values", times, capsys)


async def test_a_reader_of_the_manual_who_needs_no_login_stalls_nobody(database_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    async with world(database_url) as api, measured_health(f"127.0.0.1:{api.port}") as times:
        for _ in range(10):
            for path in ("/help/configuration.md", f"/help/?q={'e+' * 100}"):
                assert (await api.client.get(path)).status_code == 200
    judge("pages of the manual", times, capsys)
