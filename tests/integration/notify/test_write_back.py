"""Notes on the objects that alerts came from, against servers that speak the protocols of the services."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from support.note_services import NoteServices, note_services
from tarsy.config.load.loader import load_config
from tarsy.domain.notification import EventKind, Notification, NotificationEvent, NotificationStatus, notifications_of
from tarsy.domain.write_back import is_own_write_back
from tarsy.intake.adapters.registry import parse_delivery
from tarsy.intake.delivery import parse_request
from tarsy.notify.policy import NotificationPolicy, notification_policy
from tarsy.notify.senders.sender import Delivered, NotDelivered

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
    running.answers.clear()
    running.loses_answers = False
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


async def test_a_service_that_asks_for_time_refuses_or_does_not_know_the_object_is_reported(
    services: NoteServices, policy: NotificationPolicy
) -> None:
    pages = policy.targets["pages"]
    services.answers.append((429, {"Retry-After": "7"}, {"message": "not now"}))
    assert await pages.send(notification(PAGED)) == NotDelivered('HTTP 429 {"message":"not now"}', retry_after=7.0)
    unknown = await pages.send(notification(replace(PAGED, fingerprints=("GONE",))))
    assert unknown == NotDelivered('HTTP 404 {"message":"Not Found"}')
    assert await pages.send(notification(replace(PAGED, fingerprints=("GONE", "PT4KHLK")))) == Delivered()
    assert await pages.send(notification(replace(PAGED, fingerprints=()))) == NotDelivered(
        "no alert of this event names anything in pagerduty"
    )
    assert len(services.notes) == 1


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


OWN, FOREIGN = f"cart leaks\n\nTARSy notification {ID}", f"I do not believe `TARSy notification {ID}`: see the graph"


def opsgenie(action: str, note: str) -> dict[str, Any]:
    return {"action": action, "alert": {"alertId": "1", "alias": "disk.db-1", "message": "disk full", "note": note}}


@pytest.mark.parametrize(
    ("body", "is_dropped"),
    [
        (opsgenie("AddNote", OWN), True),
        (opsgenie("AddNote", FOREIGN), False),
        (opsgenie("Close", OWN), False),
        ({"webhookEvent": "comment_created", "comment": {"body": OWN}, "issue": {"key": "OPS-12"}}, True),
        ({"webhookEvent": "comment_created", "comment": {"body": FOREIGN}, "issue": {"key": "OPS-12"}}, False),
        ({"action": "created", "comment": {"body": OWN}, "issue": {"number": 12}, "repository": {"full_name": "a/b"}, "sender": {}}, True),
        ({"title": OWN, "labels": {"a": OWN}, "status": "firing"}, False),
    ],
)
def test_what_tarsy_wrote_is_dropped_when_it_comes_back_and_what_quotes_it_is_not(body: dict[str, Any], is_dropped: bool) -> None:  # noqa: FBT001 - a row
    delivery = parse_delivery(parse_request(orjson.dumps(body).decode()))
    assert (delivery.remark == "TARSy wrote this note itself") is is_dropped
    assert bool(delivery.alerts) is not is_dropped
