"""Slack over real HTTP, by the vendor's SDK: one message for each incident, updates, replies, limits."""

import json
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from support.intake_world import RESOLVED, alert
from support.notify_world import message, notify_world
from support.vendor_server import Reply, VendorServer, json_reply, vendor_server
from tarsy.domain.approval import Approval, ApprovalState
from tarsy.domain.notification import EventKind, MessageThread, NotificationRule, PostedMessage
from tarsy.domain.verdict import AffectedObject, Confidence, JudgedVerdict, Verdict, VerdictOutcome
from tarsy.notify.senders.sender import Delivered
from tarsy.notify.senders.slack import SlackSender

ALL = NotificationRule(name="all", on=frozenset(EventKind), to=("hook",))
OK = json_reply(200, {"ok": True})
JUDGED = JudgedVerdict(
    Verdict(outcome=VerdictOutcome.FAULT, object=AffectedObject(name="cart"), mechanism="A setting has no unit."), Confidence.HIGH
)


@pytest.fixture
async def receiver() -> AsyncGenerator[VendorServer]:
    async with vendor_server() as receiver:
        yield receiver


def slack(receiver: VendorServer, **more: Any) -> SlackSender:
    return SlackSender(token="xoxb-1", channel="C1", api_url=f"{receiver.url}/api/", **more)


def posted(ts: str) -> Reply:
    return json_reply(200, {"ok": True, "channel": "C1", "ts": ts})


async def test_an_incident_is_one_message_in_slack_that_is_updated_and_later_events_are_replies(
    database_url: str, receiver: VendorServer
) -> None:
    receiver.replies.extend([posted("1.0"), OK, posted("1.1"), OK, posted("1.2")])
    async with notify_world(database_url, {"hook": slack(receiver)}, [ALL]) as world:
        await world.intake.take(alert("f1"))
        begun = await world.intake.begin()
        await world.feed().advance()
        await world.deliver("hook")
        world.intake.later(minutes=1)
        await world.intake.finish(begun, "## Do now\n\n`kubectl rollout undo`", JUDGED)
        await world.feed().advance()
        await world.deliver("hook")
        world.intake.later(minutes=1)
        await world.intake.take(alert("f1", RESOLVED))
        await world.feed().advance()
        await world.deliver("hook")
        started, verdict, resolved = await world.stored()
    calls = [(request.path.rpartition(".")[2], request.body) for request in receiver.seen]
    assert [name for name, _ in calls] == ["postMessage", "update", "postMessage", "update", "postMessage"]
    shown = [body["text"] for _, body in calls]
    assert shown == [started.text, verdict.text, verdict.text, f"{resolved.text}\n\n{verdict.text}", resolved.text]
    assert [body.get("ts") or body.get("thread_ts") for _, body in calls] == [None, "1.0", "1.0", "1.0", "1.0"]
    assert "0 quotations verified" in verdict.text
    assert started.posted == PostedMessage(channel="C1", ts="1.0")


async def test_the_message_is_a_reply_to_that_of_the_alert_which_contains_its_fingerprint(
    database_url: str, receiver: VendorServer
) -> None:
    others = {"ts": "0.2", "text": "deployed"}, {"ts": "0.1", "attachments": [{"text": "Disk full (f1)"}]}
    receiver.replies.extend([json_reply(200, {"ok": True, "messages": list(others)}), posted("1.0"), OK, posted("1.1")])
    async with notify_world(database_url, {"hook": slack(receiver, reply_to_alerts=True)}, [ALL]) as world:
        await world.intake.take(alert("f1"))
        begun = await world.intake.begin()
        await world.feed().advance()
        await world.deliver("hook")
        world.intake.later(minutes=1)
        await world.intake.finish(begun, "", JUDGED)
        await world.feed().advance()
        await world.deliver("hook")
    history, first, update, reply = receiver.seen
    assert history.path.startswith("/api/conversations.history?channel=C1&")
    assert (first.body["thread_ts"], update.body["ts"], reply.body["thread_ts"]) == ("0.1", "1.0", "0.1")


async def test_with_an_app_a_verdict_has_buttons_and_its_text_stays_what_it_is(receiver: VendorServer) -> None:
    receiver.replies.extend([posted("1.0"), posted("2.0")])
    at, incident_id = datetime.now(UTC), str(uuid4())
    verdict = message(EventKind.VERDICT, at, incident_id=incident_id, link="https://t/1")
    await slack(receiver, has_buttons=True).send(verdict)
    await slack(receiver).send(verdict)
    with_buttons, without = (request.body for request in receiver.seen)
    section, actions = json.loads(with_buttons["blocks"]) if isinstance(with_buttons["blocks"], str) else with_buttons["blocks"]
    assert section["text"] == {"type": "mrkdwn", "text": verdict.text, "verbatim": True}
    session_id = verdict.event.session_id
    assert [(one["text"]["text"], one.get("url") or one["value"]) for one in actions["elements"]] == [
        ("Open", "https://t/1"),
        ("Ask", session_id),
        ("Investigate again", incident_id),
        ("Useful", session_id),
        ("Not useful", session_id),
    ]
    assert "blocks" not in without


async def test_a_call_too_long_to_be_shown_cannot_be_approved_and_no_request_replaces_a_verdict_or_comes_after_the_decision(
    receiver: VendorServer,
) -> None:
    now = datetime.now(UTC)
    approval = Approval(
        id=str(uuid4()),
        session_id=str(uuid4()),
        execution_id=str(uuid4()),
        call_id="c1",
        evidence_id="A1",
        server="shell",
        tool="run",
        arguments="x" * 3_000,
        call_hash="h",
        state=ApprovalState.PENDING,
        requested_at=now,
        expires_at=now,
    )
    asked, sender = message(EventKind.WAITING, now, approval=approval), slack(receiver, has_buttons=True)
    receiver.replies.append(posted("1.0"))
    await sender.send(asked)
    [request] = receiver.seen
    assert [one["text"]["text"] for one in request.body["blocks"][2]["elements"]] == ["Reject"]
    assert await sender.send(asked, MessageThread(posted=None, shown_at=now, shows_decision=True)) == Delivered()
    assert len(receiver.seen) == 1
    # A question about a finished session needs the call.
    receiver.replies.append(posted("2.1"))
    verdict = MessageThread(posted=PostedMessage(channel="C1", ts="2.0"), shown_at=now, finding="Fault found")
    assert await sender.send(asked, verdict) == Delivered(PostedMessage(channel="C1", ts="2.1", parent="2.0"))
    assert [request.path for request in receiver.seen[1:]] == ["/api/chat.postMessage"]


async def test_a_message_that_was_deleted_is_posted_anew_and_a_delayed_event_does_not_replace_a_later_one(
    database_url: str, receiver: VendorServer
) -> None:
    sender, now = slack(receiver), datetime.now(UTC)
    notification = message(EventKind.STARTED, now)
    thread = MessageThread(posted=PostedMessage(channel="C1", ts="1.0"), shown_at=now)
    receiver.replies.extend([json_reply(200, {"ok": False, "error": "message_not_found"}), posted("2.0")])
    assert await sender.send(notification, thread) == Delivered(PostedMessage(channel="C1", ts="2.0"))
    receiver.replies.append(posted("1.1"))
    assert await sender.send(notification, replace(thread, shown_at=now + timedelta(seconds=1))) == Delivered()
    assert [request.path for request in receiver.seen] == ["/api/chat.update", "/api/chat.postMessage", "/api/chat.postMessage"]
