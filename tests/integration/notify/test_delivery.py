"""Delivery over real HTTP: signatures, keys, retries, dead letters, and receivers that hang."""

import hashlib
import hmac
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import anyio
import orjson
import pytest

from support.intake_world import alert
from support.notify_world import NotifyWorld, notify_world
from support.paths import ROOT
from support.vendor_server import Act, Reply, VendorServer, json_reply, vendor_server
from tarsy.db.errors import ConflictError
from tarsy.domain.notification import EventKind, NotificationRule, NotificationStatus, QuietHours, delivery_kind
from tarsy.notify.delivery import RETRY, send_test
from tarsy.notify.senders.apprise import AppriseSender
from tarsy.notify.senders.slack import SlackSender
from tarsy.notify.senders.webhook import WebhookSender, json_schema, webhook_body

STARTED = NotificationRule(name="started", on=frozenset({EventKind.STARTED}), to=("hook",))
EXPORTED = ROOT / "docs" / "notification.schema.json"
OK = json_reply(200, {"ok": True})


@pytest.fixture
async def receiver() -> AsyncGenerator[VendorServer]:
    async with vendor_server() as receiver:
        yield receiver


def hook(receiver: VendorServer) -> WebhookSender:
    return WebhookSender(url=f"{receiver.url}/tarsy", secret="hush")


def eight_hours(begin: datetime) -> QuietHours:
    return QuietHours(start=begin.time(), end=(begin + timedelta(hours=8)).time(), zone=ZoneInfo("UTC"))


async def notified(world: NotifyWorld, count: int = 1) -> None:
    for number in range(count):
        await world.intake.take(alert(f"f{number}", problem=f"p{number}"))
        await world.intake.begin()
    await world.feed().advance()


async def test_a_webhook_gets_the_documented_body_signed_with_its_key(database_url: str, receiver: VendorServer) -> None:
    receiver.replies.append(OK)
    async with notify_world(database_url, {"hook": hook(receiver)}, [STARTED]) as world:
        await notified(world)
        assert await world.deliver("hook") == 1
        [stored] = await world.stored()
        assert (stored.status, stored.attempts, stored.error) == (NotificationStatus.DELIVERED, 0, None)
        assert world.counted == [("hook", "delivered")]
    [request] = receiver.seen
    body = webhook_body(stored)
    assert request.body == orjson.loads(body)
    assert (request.body["version"], request.body["id"], request.headers["idempotency-key"]) == (1, stored.id, stored.id)
    stamp, _, signed = request.headers["x-tarsy-signature"].removeprefix("t=").partition(",v1=")
    assert signed == hmac.new(b"hush", f"{stamp}.".encode() + body, hashlib.sha256).hexdigest()
    assert abs(int(stamp) - datetime.now(UTC).timestamp()) < 60


def test_the_exported_schema_is_the_current_one() -> None:
    assert orjson.loads(EXPORTED.read_text()) == json_schema(), (
        "run: python -m tarsy.notify.senders.webhook > docs/notification.schema.json"
    )


async def test_attempts_repeat_the_key_with_growing_pauses_and_end_as_a_dead_letter_that_can_be_sent_again(
    database_url: str, receiver: VendorServer
) -> None:
    async with notify_world(database_url, {"hook": hook(receiver)}, [STARTED]) as world:
        await notified(world)
        for pause in [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600]:
            receiver.replies.append(json_reply(500, {"error": "full"}))
            [before] = await world.rows("SELECT now() AS at")
            assert await world.deliver("hook") == 1
            [work] = await world.rows("SELECT not_before, now() AS at FROM work WHERE kind = 'notification:hook'")
            assert before["at"] < work["not_before"] - timedelta(seconds=pause) < work["at"]
            await world.make_due()
        receiver.replies.append(json_reply(500, {"error": "full"}))
        assert await world.deliver("hook") == 1
        assert await world.deliver("hook") == 0
        [dead] = await world.stored()
        assert (dead.status, dead.attempts) == (NotificationStatus.DEAD_LETTER, 12)
        assert dead.error == 'HTTP 500 {"error": "full"}'
        assert world.counted == [*[("hook", "failed")] * 11, ("hook", "dead_letter")]
        expires_at = world.clock.now() + timedelta(hours=1)
        await world.store.send_again(dead.id, actor="alice", expires_at=expires_at, targets=["hook"])
        with pytest.raises(ConflictError, match="pending"):
            await world.store.send_again(dead.id, actor="alice", expires_at=expires_at, targets=["hook"])
        receiver.replies.append(OK)
        assert await world.deliver("hook") == 1
        assert [one.status for one in await world.stored()] == [NotificationStatus.DELIVERED]
    assert {request.headers["idempotency-key"] for request in receiver.seen} == {dead.id}
    assert len({orjson.dumps(request.body) for request in receiver.seen}) == 1


async def test_a_notification_that_cannot_be_read_counts_failed_attempts_and_is_given_up(database_url: str, receiver: VendorServer) -> None:
    async with notify_world(database_url, {"hook": hook(receiver)}, [STARTED]) as world:
        await notified(world)
        async with world.intake.engine.begin() as connection:
            await connection.exec_driver_sql("UPDATE notifications SET event = '{}'")
        pool = world.pool()
        for attempts in range(1, RETRY.max_attempts + 1):
            await pool.run_waiting(delivery_kind("hook"))
            [row] = await world.rows("SELECT attempts, error FROM notifications")
            assert (row["attempts"], row["error"]) == (attempts, "internal error: ValidationError")
            await world.make_due()
        assert [row["status"] for row in await world.rows("SELECT status FROM notifications")] == [NotificationStatus.DEAD_LETTER]
        assert world.counted[-2:] == [("hook", "failed"), ("hook", "dead_letter")]
    assert receiver.seen == []


async def test_a_receiver_that_asks_for_time_gets_it_and_it_counts_as_no_failure(database_url: str, receiver: VendorServer) -> None:
    receiver.replies.append(json_reply(429, {}, {"Retry-After": "120"}))
    async with notify_world(database_url, {"hook": hook(receiver)}, [STARTED]) as world:
        await notified(world)
        await world.deliver("hook")
        [row] = await world.rows("SELECT not_before - now() AS pause FROM work WHERE kind = 'notification:hook'")
        assert timedelta(seconds=100) < row["pause"] <= timedelta(seconds=120)
        assert [one.attempts for one in await world.stored()] == [0]


async def test_waits_that_a_receiver_asked_for_leave_all_retries_to_a_notification_that_fails_later(
    database_url: str, receiver: VendorServer
) -> None:
    async with notify_world(database_url, {"hook": hook(receiver)}, [STARTED]) as world:
        await notified(world)
        for _ in range(RETRY.max_attempts):
            receiver.replies.append(json_reply(429, {}, {"Retry-After": "120"}))
            assert await world.deliver("hook") == 1
            await world.make_due()
        async with world.intake.engine.begin() as connection:
            await connection.exec_driver_sql("UPDATE notifications SET event = '{}'")
        assert await world.deliver("hook") == 1
        [row] = await world.rows("SELECT status, attempts, error FROM notifications")
        assert (row["status"], row["attempts"], row["error"]) == (NotificationStatus.PENDING, 1, "internal error: ValidationError")


async def test_a_receiver_that_asks_for_more_time_than_is_left_gets_only_that(database_url: str, receiver: VendorServer) -> None:
    async with notify_world(database_url, {"hook": hook(receiver)}, [STARTED]) as world:
        await notified(world)
        for asked in ("99999999999", "9" * 400, "Fri, 31 Dec 9999 23:59:59 GMT"):
            receiver.replies.append(json_reply(429, {}, {"Retry-After": asked}))
            assert await world.deliver("hook") == 1
            [row] = await world.rows("SELECT not_before - now() AS pause FROM work WHERE kind = 'notification:hook'")
            assert row["pause"] < STARTED.max_age + timedelta(minutes=1)
            await world.make_due()


async def test_nothing_is_delivered_that_is_older_than_its_rule_allows(database_url: str, receiver: VendorServer) -> None:
    async with notify_world(database_url, {"hook": hook(receiver)}, [STARTED]) as world:
        await notified(world)
        world.clock.at += STARTED.max_age + timedelta(minutes=1)
        await world.deliver("hook")
        assert [one.status for one in await world.stored()] == [NotificationStatus.EXPIRED]
    assert receiver.seen == []


async def test_an_attempt_in_quiet_hours_waits_for_their_end_and_counts_as_no_failure(database_url: str, receiver: VendorServer) -> None:
    receiver.replies.extend([json_reply(500, {}), OK])
    begin = datetime.now(UTC) + timedelta(hours=1)
    async with notify_world(database_url, {"hook": hook(receiver)}, [replace(STARTED, quiet_hours=eight_hours(begin))]) as world:
        await notified(world)
        assert await world.deliver("hook") == 1
        await world.make_due()
        world.clock.at = begin + timedelta(hours=2)
        assert await world.deliver("hook") == 1
        [row] = await world.rows("SELECT not_before - now() AS pause FROM work WHERE kind = 'notification:hook'")
        assert timedelta(hours=5, minutes=59) < row["pause"] <= timedelta(hours=6)
        assert ([one.attempts for one in await world.stored()], len(receiver.seen)) == ([1], 1)
        await world.make_due()
        world.clock.at = begin + timedelta(hours=8)
        assert await world.deliver("hook") == 1
        assert [one.status for one in await world.stored()] == [NotificationStatus.DELIVERED]


async def test_what_expires_in_quiet_hours_can_be_sent_again_in_them(database_url: str, receiver: VendorServer) -> None:
    receiver.replies.append(OK)
    begin = datetime.now(UTC) + timedelta(hours=1)
    rule = replace(STARTED, quiet_hours=eight_hours(begin), max_age=timedelta(hours=4))
    async with notify_world(database_url, {"hook": hook(receiver)}, [rule]) as world:
        await notified(world)
        for passed, status in ((1, NotificationStatus.PENDING), (4, NotificationStatus.EXPIRED)):
            world.clock.at = begin + timedelta(hours=passed)
            assert await world.deliver("hook") == 1
            [stored] = await world.stored()
            assert (stored.status, receiver.seen) == (status, [])
            await world.make_due()
        await world.store.send_again(stored.id, actor="alice", expires_at=begin + timedelta(days=1), targets=["hook"])
        assert await world.deliver("hook") == 1
        assert [one.status for one in await world.stored()] == [NotificationStatus.DELIVERED]


async def test_a_receiver_that_hangs_for_ever_keeps_no_other_target_waiting(database_url: str, receiver: VendorServer) -> None:
    async with vendor_server() as other:
        receiver.replies.extend([Reply((Act.HANG,))] * 10)
        other.replies.extend([OK] * 10)
        rule = NotificationRule(name="both", on=frozenset({EventKind.STARTED}), to=("hangs", "hook"))
        targets = {"hangs": hook(receiver), "hook": hook(other)}
        async with notify_world(database_url, targets, [rule]) as world:
            await notified(world, 10)
            pool = world.pool()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(pool.run)
                await world.until_delivered("hook", 10)
                # Its workers are still busy with the first two, and nothing was given up.
                assert len(receiver.seen) == 2
                assert (await world.store.counts())["hangs"].pending == 10
                pool.stop_now()


async def test_slack_is_called_by_its_sdk_and_its_errors_and_limits_are_understood(database_url: str, receiver: VendorServer) -> None:
    receiver.replies.extend(
        [
            json_reply(429, {"ok": False, "error": "ratelimited"}, {"Retry-After": "30"}),
            json_reply(200, {"ok": False, "error": "channel_not_found"}),
            json_reply(200, {"ok": True, "ts": "1.2", "channel": "C1"}),
        ]
    )
    sender = SlackSender(token="xoxb-1", channel="C1", api_url=f"{receiver.url}/api/")
    async with notify_world(database_url, {"hook": sender}, [STARTED]) as world:
        await notified(world)
        for status, attempts, error in (
            (NotificationStatus.PENDING, 0, "Slack answered: ratelimited"),
            (NotificationStatus.PENDING, 1, "Slack answered: channel_not_found"),
            (NotificationStatus.DELIVERED, 1, None),
        ):
            await world.deliver("hook")
            [stored] = await world.stored()
            assert (stored.status, stored.attempts, stored.error) == (status, attempts, error)
            await world.make_due()
    sent = receiver.seen[-1]
    assert (sent.path, sent.headers["authorization"]) == ("/api/chat.postMessage", "Bearer xoxb-1")
    assert (sent.body["channel"], sent.body["text"]) == ("C1", stored.text)


async def test_an_answer_that_is_not_slacks_own_is_reported_by_its_status(receiver: VendorServer) -> None:
    sender = SlackSender(token="xoxb-1", channel="C1", api_url=f"{receiver.url}/api/")
    for kind in ("text/html", "application/json"):
        receiver.replies.append(Reply((b"<html>",), 502, {}, kind))
        assert await send_test("hook", sender) == "Slack answered: HTTP 502"


async def test_other_services_are_called_by_apprise(database_url: str, receiver: VendorServer) -> None:
    receiver.replies.extend([json_reply(500, {}), OK])
    sender = AppriseSender(url=receiver.url.replace("http://", "json://") + "/in")
    async with notify_world(database_url, {"hook": sender}, [STARTED]) as world:
        await notified(world)
        await world.deliver("hook")
        await world.make_due()
        await world.deliver("hook")
        [stored] = await world.stored()
        assert (stored.status, stored.attempts) == (NotificationStatus.DELIVERED, 1)
    assert receiver.seen[-1].path == "/in"
    title, _, rest = stored.text.partition("\n")
    assert (receiver.seen[-1].body["title"], receiver.seen[-1].body["message"]) == (title, rest or title)


async def test_a_test_of_a_target_says_why_it_was_not_accepted(receiver: VendorServer) -> None:
    receiver.replies.extend([OK, json_reply(404, {})])
    assert await send_test("hook", hook(receiver)) is None
    assert await send_test("hook", hook(receiver)) == "HTTP 404 {}"
    assert await send_test("hook", AppriseSender(url="nope://x")) == "this is not an Apprise URL of a known service"
    assert receiver.seen[0].body["text"].startswith("Fault found: This is a test")


async def test_a_receiver_that_cannot_be_reached_does_not_show_its_address() -> None:
    sender = WebhookSender(url="http://127.0.0.1:1/secret-path", secret=None)
    assert await send_test("hook", sender) == "the receiver cannot be reached: ConnectError"
