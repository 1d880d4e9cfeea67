"""Notifications over the API: targets, what became of the last ones, sending again, testing."""

from dataclasses import replace

import httpx

from support.api_world import services_on
from support.intake_world import alert
from support.notify_world import notify_world
from support.vendor_server import json_reply, vendor_server
from tarsy.api.app import create_app
from tarsy.api.services import NotificationServices
from tarsy.domain.notification import EventKind, NotificationRule
from tarsy.notify.delivery import RETRY
from tarsy.notify.senders.webhook import WebhookSender

RULE = NotificationRule(name="starts", on=frozenset({EventKind.STARTED}), to=("hook",))


async def test_people_see_targets_and_errors_send_again_and_test(database_url: str) -> None:
    async with vendor_server() as receiver:
        targets = {"hook": WebhookSender(url=receiver.url, secret=None), "idle": WebhookSender(url=receiver.url, secret=None)}
        async with notify_world(database_url, targets, [RULE]) as world:
            await world.intake.take(alert())
            await world.intake.begin()
            await world.feed().advance()
            for _ in range(RETRY.max_attempts):
                receiver.replies.append(json_reply(500, {}))
                await world.deliver("hook")
                await world.make_due()
            services = replace(
                services_on(world.intake.engine), notifications=NotificationServices(repository=world.store, policy=world.policy)
            )
            transport = httpx.ASGITransport(create_app(services))
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost/api/v1") as api:
                listed = (await api.get("/notifications", params={"status": "dead_letter"})).json()
                [item] = listed["notifications"]
                assert (item["kind"], item["title"], item["attempts"], item["error"]) == ("started", "Disk f1 is full", 12, "HTTP 500 {}")
                assert [(one["name"], one["service"], one["dead_letter"], one["last_error"]) for one in listed["targets"]] == [
                    ("hook", "webhook", 1, "HTTP 500 {}"),
                    ("idle", "webhook", 0, None),
                ]
                assert (await api.get("/notifications", params={"target": "idle"})).json()["notifications"] == []
                again = await api.post(f"/notifications/{item['id']}/send")
                assert (again.status_code, again.json()["status"]) == (202, "pending")
                assert (await api.post(f"/notifications/{item['id']}/send")).status_code == 409
                assert (await api.post("/notifications/00000000-0000-4000-8000-000000000000/send")).status_code == 404
                receiver.replies.extend([json_reply(200, {}), json_reply(404, {})])
                await world.deliver("hook")
                assert [one["delivered"] for one in (await api.get("/notifications")).json()["targets"]] == [1, 0]
                assert (await api.post("/notifications/test", json={"target": "hook"})).json() == {
                    "delivered": False,
                    "error": "HTTP 404 {}",
                }
                assert (await api.post("/notifications/test", json={"target": "nope"})).status_code == 404
            done = await world.rows("SELECT actor, action FROM audit_log WHERE action LIKE 'notification.%' ORDER BY id")
            assert [row["action"] for row in done] == ["notification.sent_again", "notification.tested"]


async def test_a_notification_that_cannot_be_read_is_left_out_of_the_list_and_keeps_no_other_from_it(database_url: str) -> None:
    async with (
        vendor_server() as receiver,
        notify_world(database_url, {"hook": WebhookSender(url=receiver.url, secret=None)}, [RULE]) as world,
    ):
        for number in range(4):
            await world.intake.take(alert(f"f{number}", problem=f"p{number}"))
            await world.intake.begin()
        await world.feed().advance()
        async with world.intake.engine.begin() as connection:
            # As a newer version stores it, which has more kinds of events.
            newer = "UPDATE notifications SET event = event || '{\"kind\": \"forwarded\"}' WHERE event ->> 'title' IN ('Disk f1 is full', 'Disk f2 is full')"
            await connection.exec_driver_sql(newer)
        services = replace(
            services_on(world.intake.engine), notifications=NotificationServices(repository=world.store, policy=world.policy)
        )
        async with httpx.AsyncClient(transport=httpx.ASGITransport(create_app(services)), base_url="http://localhost/api/v1") as api:
            titles, cursor = list[str](), None
            while True:
                page = (await api.get("/notifications", params={"limit": 1, **({"cursor": cursor} if cursor else {})})).json()
                titles += [item["title"] for item in page["notifications"]]
                cursor = page["next_cursor"]
                if cursor is None:
                    break
        assert titles == ["Disk f3 is full", "Disk f0 is full"]
