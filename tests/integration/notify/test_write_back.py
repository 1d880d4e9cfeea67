"""Notes on the objects that alerts came from, against servers with the protocols of the services."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from support.intake_world import intake_world
from support.note_services import NoteServices, note_services
from support.notify_world import NotifyWorld
from tarsy.config.load.loader import load_config
from tarsy.domain.notification import EventKind, Notification, NotificationEvent, NotificationStatus, notifications_of
from tarsy.domain.write_back import is_own_write_back
from tarsy.intake.adapters.registry import parse_delivery
from tarsy.intake.delivery import parse_request
from tarsy.notify.policy import NotificationPolicy, notification_policy
from tarsy.notify.senders.sender import Delivered, NotDelivered
from tarsy.notify.senders.write_back import WriteBackSender

NOW = datetime(2026, 11, 17, 3, 0, tzinfo=UTC)
ID = "6f1c2c52-6a0e-4a53-9a5e-1d1f0a7c2b11"
TEXT = "cart leaks @channel <b>memory</b>\n```\nsee shop/cart#7"
CONFIG = """
notify:
  targets:
    pages: {{pagerduty: {{user: bot@example.com, api_url: "{url}"}}}}
    alerts: {{opsgenie: {{api_url: "{url}"}}}}
    graphs: {{grafana: {{url: "{url}/"}}}}
    issues: {{jira: {{user: bot@example.com, url: "{url}"}}}}
    tickets: {{github: {{repository: example/operations, api_url: "{url}"}}}}
  rules:
    - {{on: [verdict], to: [pages, alerts, graphs, issues, tickets]}}
"""
ENV: dict[str, str] = dict.fromkeys(("PAGERDUTY_TOKEN", "OPSGENIE_API_KEY", "GRAFANA_TOKEN", "JIRA_API_TOKEN", "GITHUB_TOKEN"), "t0ken")
EVENT = NotificationEvent(kind=EventKind.VERDICT, at=NOW, title="cart leaks", session_id="1", link="https://tarsy.example.com/sessions/1")
PAGED = replace(EVENT, source="pagerduty", fingerprints=("PT4KHLK",))
OPSGENIE = replace(EVENT, source="opsgenie", fingerprints=("disk.db-1",))
JIRA = replace(EVENT, labels={"jira_issue": ("OPS-12", "../../admin")})
GITHUB = replace(EVENT, labels={"github_issue": ("12", "13/../../x")})
PATHS = {
    "pages": (PAGED, "/incidents/PT4KHLK/notes"),
    "alerts": (OPSGENIE, "/v2/alerts/disk%2Edb-1/notes"),
    "graphs": (EVENT, "/api/annotations"),
    "issues": (JIRA, "/rest/api/3/issue/OPS-12/comment"),
    "tickets": (GITHUB, "/repos/example/operations/issues/12/comments"),
}


@pytest.fixture(scope="module")
def running() -> Iterator[NoteServices]:
    with note_services() as services:
        yield services


@pytest.fixture
def services(running: NoteServices) -> NoteServices:
    running.notes.clear()
    running.is_limited = running.loses_answers = False
    return running


@pytest.fixture
def policy(services: NoteServices, tmp_path: Path) -> NotificationPolicy:
    (tmp_path / "tarsy.yaml").write_text(CONFIG.format(url=services.url))
    loaded = load_config(tmp_path, ENV)
    return notification_policy(loaded.config, loaded.env)


def notification(event: NotificationEvent, target: str = "x") -> Notification:
    return Notification(
        id=ID,
        target=target,
        rule="rule 1",
        event=event,
        text=TEXT,
        status=NotificationStatus.PENDING,
        attempts=0,
        error=None,
        created_at=NOW,
        expires_at=NOW,
        delivered_at=None,
    )


@pytest.mark.parametrize("target", PATHS)
async def test_a_note_is_written_once_however_often_it_is_sent_and_its_answer_lost(
    target: str, services: NoteServices, policy: NotificationPolicy
) -> None:
    event, path = PATHS[target]
    services.loses_answers = True
    lost = await policy.targets[target].send(notification(event))
    services.loses_answers = False
    again = await policy.targets[target].send(notification(event))
    assert isinstance(lost, NotDelivered)
    assert again == Delivered()
    (text,) = services.texts(path)
    assert "cart leaks" in text
    assert is_own_write_back(text)
    assert {path: 1} == {path: len(notes) for path, notes in services.notes.items() if notes}


@pytest.mark.parametrize(
    ("target", "seconds"), [("pages", 30), ("alerts", 60), ("graphs", 30), ("issues", 30), ("tickets", 30)], ids=list(PATHS)
)
async def test_a_service_that_limits_the_rate_is_left_alone_for_as_long_as_it_asks(
    target: str, seconds: int, services: NoteServices, policy: NotificationPolicy
) -> None:
    event, path = PATHS[target]
    services.is_limited = True
    limited = await policy.targets[target].send(notification(event))
    assert isinstance(limited, NotDelivered)
    assert limited.retry_after == pytest.approx(seconds, abs=1.5)
    services.is_limited = False
    assert await policy.targets[target].send(notification(event)) == Delivered()
    assert len(services.texts(path)) == 1


@pytest.mark.parametrize(
    ("target", "unknown"),
    [
        ("pages", replace(PAGED, fingerprints=("GONE",))),
        ("alerts", replace(OPSGENIE, fingerprints=("GONE",))),
        ("issues", replace(EVENT, labels={"jira_issue": ("OPS-13",)})),
        ("tickets", replace(EVENT, labels={"github_issue": ("13",)})),
    ],
)
async def test_an_object_that_is_gone_and_a_wrong_token_are_reported(
    target: str, unknown: NotificationEvent, services: NoteServices, policy: NotificationPolicy
) -> None:
    gone = await policy.targets[target].send(notification(unknown))
    assert isinstance(gone, NotDelivered)
    assert gone.reason.startswith("HTTP 404 ")
    assert "Not Found" in gone.reason
    assert gone.retry_after is None
    sender = policy.targets[target]
    assert isinstance(sender, WriteBackSender)
    refused = await replace(sender, headers={"Authorization": "wrong"}).send(notification(PATHS[target][0]))
    assert isinstance(refused, NotDelivered)
    assert refused.reason.startswith("HTTP 401 ")
    assert not any(services.notes.values())


async def test_one_object_that_is_gone_does_not_keep_the_note_from_the_others(services: NoteServices, policy: NotificationPolicy) -> None:
    pages = policy.targets["pages"]
    assert await pages.send(notification(replace(PAGED, fingerprints=("GONE", "PT4KHLK")))) == Delivered()
    assert await pages.send(notification(replace(PAGED, fingerprints=()))) == NotDelivered(
        "no alert of this event names anything in pagerduty"
    )
    assert len(services.texts("/incidents/PT4KHLK/notes")) == 1


def test_nothing_is_written_unless_a_rule_names_the_target(services: NoteServices, tmp_path: Path) -> None:
    (tmp_path / "tarsy.yaml").write_text(CONFIG.format(url=services.url).partition("  rules:")[0])
    loaded = load_config(tmp_path, ENV)
    silent = notification_policy(loaded.config, loaded.env)
    assert [notifications_of(event, silent.rules, {}) for event, _ in PATHS.values()] == [[]] * 5


def test_each_service_gets_only_events_that_name_one_of_its_objects(policy: NotificationPolicy) -> None:
    def targets(event: NotificationEvent) -> set[str]:
        return {one.target for one in notifications_of(event, policy.rules, {})}

    assert targets(EVENT) == {"graphs"}
    assert targets(PAGED) == {"graphs", "pages"}
    assert targets(OPSGENIE) == {"graphs", "alerts"}
    assert targets(JIRA) == {"graphs", "issues"}
    assert targets(GITHUB) == {"graphs", "tickets"}
    assert targets(replace(EVENT, labels={"jira_issue": ("../../admin",), "github_issue": ("x",)})) == {"graphs"}
    assert "t0ken" not in repr(policy)


async def test_the_text_of_an_alert_stays_text(services: NoteServices, policy: NotificationPolicy) -> None:
    for target in ("graphs", "tickets"):
        await policy.targets[target].send(notification(PATHS[target][0]))
    (annotation,) = services.texts("/api/annotations")
    (comment,) = services.texts("/repos/example/operations/issues/12/comments")
    assert "<b>" not in annotation
    assert comment.startswith(f"````text\n{TEXT}\n````\n\nhttps://tarsy.example.com/sessions/1\n")


FOREIGN = f"I do not believe `TARSy notification {ID}`: see the graph"


def opsgenie(note: str, action: str = "AddNote") -> dict[str, Any]:
    return {"action": action, "alert": {"alertId": "1", "alias": "disk.db-1", "message": "disk full", "note": note}}


def pagerduty(note: str) -> dict[str, Any]:
    data = {"id": "P1", "type": "incident_note", "content": note, "incident": {"id": "PT4KHLK", "type": "incident_reference"}}
    return {"event": {"id": "01", "event_type": "incident.annotated", "resource_type": "incident", "data": data}}


def jira(comment: Any, event: str = "comment_created") -> dict[str, Any]:
    return {"webhookEvent": event, "comment": {"id": "7", "body": comment}, "issue": {"key": "OPS-12"}}


def document(text: str) -> dict[str, Any]:
    content = [{"type": "paragraph", "content": [{"type": "text", "text": line}]} for line in text.split("\n\n")]
    return {"type": "doc", "version": 1, "content": content}


def github(comment: str) -> dict[str, Any]:
    return {
        "action": "created",
        "comment": {"body": comment},
        "issue": {"number": 12},
        "repository": {"full_name": "a/b"},
        "sender": {"login": "bot"},
    }


# How each service reports a note. Grafana has no webhook for annotations.
REPORTS: Mapping[str, tuple[str, Callable[[str], dict[str, Any]]]] = {
    "PagerDuty": ("pages", pagerduty),
    "Opsgenie": ("alerts", opsgenie),
    "Jira": ("issues", jira),
    "Jira, as a change of the issue": ("issues", lambda note: jira(note, "jira:issue_updated")),
    "Jira, with escaped marks": ("issues", lambda note: jira(note.replace("-", "\\-"))),
    "Jira, as a document": ("issues", lambda note: jira(document(note))),
    "GitHub": ("tickets", github),
}


@pytest.mark.parametrize("report", REPORTS)
async def test_what_tarsy_wrote_is_dropped_when_the_service_reports_it(
    report: str, services: NoteServices, policy: NotificationPolicy
) -> None:
    target, webhook = REPORTS[report]
    event, path = PATHS[target]
    await policy.targets[target].send(notification(event))
    (note,) = services.texts(path)
    delivery = parse_delivery(parse_request(orjson.dumps(webhook(note)).decode()))
    assert (delivery.remark, delivery.alerts, delivery.changes) == ("TARSy wrote this note itself", (), ())


@pytest.mark.parametrize(
    "body",
    [
        *(pytest.param(webhook(FOREIGN), id=name) for name, (_, webhook) in REPORTS.items()),
        pytest.param(opsgenie(f"cart leaks\n\nTARSy notification {ID}", "Close"), id="another event of the alert"),
        pytest.param({"title": f"TARSy notification {ID}", "labels": {"a": "b"}, "status": "firing"}, id="an alert"),
    ],
)
def test_what_people_write_and_what_only_quotes_a_note_is_not_dropped_as_one(body: dict[str, Any]) -> None:
    delivery = parse_delivery(parse_request(orjson.dumps(body).decode()))
    assert delivery.remark != "TARSy wrote this note itself"


TRIGGERED: Mapping[str, dict[str, Any]] = {
    "pages": {"event": {"event_type": "incident.triggered", "data": {"id": "PT4KHLK", "type": "incident", "title": "cart leaks"}}},
    "alerts": opsgenie("", "Create"),
}


@pytest.mark.parametrize("report", ["PagerDuty", "Opsgenie"])
async def test_the_verdict_is_a_note_on_the_incident_that_the_alert_came_from_and_its_report_changes_nothing(
    report: str, services: NoteServices, policy: NotificationPolicy, database_url: str
) -> None:
    target, webhook = REPORTS[report]
    path = PATHS[target][1]
    async with intake_world(database_url) as intake:
        world = NotifyWorld(intake, policy)
        await world.feed().advance()

        async def receive(body: dict[str, Any]) -> None:
            await intake.acceptance().accept(parse_delivery(parse_request(orjson.dumps(body).decode())), author="test")

        await receive(TRIGGERED[target])
        await intake.finish(await intake.begin())
        await world.feed().advance()
        assert await world.deliver(target) == 1
        (note,) = services.texts(path)
        (delivered,) = [one for one in await world.stored() if one.target == target]
        assert note.endswith(f"TARSy notification {delivered.id}")
        before = await intake.rows("SELECT * FROM alerts"), await intake.incidents(), await intake.sessions()
        intake.later(minutes=1)
        await receive(webhook(note))
        assert (await intake.rows("SELECT * FROM alerts"), await intake.incidents(), await intake.sessions()) == before
