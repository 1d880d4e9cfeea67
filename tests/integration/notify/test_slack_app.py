"""Requests of Slack: signatures, roles, and what buttons, the form and the command do."""

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

import anyio
import httpx
import pytest
from websockets.asyncio.server import ServerConnection, serve

from support.api_world import services_on
from support.intake_world import IntakeWorld, alert, intake_world
from support.vendor_server import VendorServer, json_reply, vendor_server
from tarsy.api.app import create_app
from tarsy.api.services import NotificationServices, Services
from tarsy.api.slack_socket import SlackSocket
from tarsy.db.notification_repository import NotificationRepository
from tarsy.domain.access_role import AccessRole
from tarsy.notify.policy import NotificationPolicy, SlackApp

SECRET = "8f742231b10e8888abcd99yyyzzz85a5"


@dataclass
class SlackWorld:
    intake: IntakeWorld
    slack: VendorServer
    api: httpx.AsyncClient
    services: Services

    def with_app_token(self, token: str) -> NotificationServices:
        notifications = self.services.notifications
        assert notifications.policy.slack_app
        policy = replace(notifications.policy, slack_app=replace(notifications.policy.slack_app, app_token=token))
        return replace(notifications, policy=policy)

    async def send(self, secret: str = SECRET, age: float = 0.0, **form: Any) -> httpx.Response:
        """A request as Slack signs it: https://docs.slack.dev/authentication/verifying-requests-from-slack."""
        body, stamp = urlencode(form), str(int(time.time() - age))
        signed = hmac.new(secret.encode(), f"v0:{stamp}:{body}".encode(), hashlib.sha256).hexdigest()
        headers = {
            "X-Slack-Request-Timestamp": stamp,
            "X-Slack-Signature": f"v0={signed}",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        return await self.api.post("/api/v1/slack", content=body, headers=headers)

    async def click(self, action: str, subject: str, user: str = "U1", **more: Any) -> httpx.Response:
        payload = {
            "type": "block_actions",
            "user": {"id": user},
            "trigger_id": "t1",
            "response_url": f"{self.slack.url}/respond",
            "actions": [{"action_id": action, "value": subject}],
        }
        return await self.send(payload=json.dumps(payload), **more)

    async def command(self, text: str, user: str = "U1") -> str:
        return (await self.send(command="/tarsy", text=text, user_id=user)).json()["text"]

    async def ended(self) -> tuple[str, str]:
        """An incident that was investigated, with its session."""
        taken = await self.intake.take(alert())
        assert taken.main
        assert taken.main.incident_id
        begun = await self.intake.begin()
        await self.intake.finish(begun)
        return taken.main.incident_id, begun.claim.subject_id


@asynccontextmanager
async def slack_world(database_url: str) -> AsyncGenerator[SlackWorld]:
    async with intake_world(database_url) as intake, vendor_server() as slack:
        app = SlackApp(
            token="xoxb-1",
            signing_secret=SECRET,
            users={"U1": AccessRole.RESPONDER, "U2": AccessRole.VIEWER},
            api_url=f"{slack.url}/api/",
        )
        policy = NotificationPolicy(dashboard_url="https://tarsy.example", slack_app=app)
        notifications = NotificationServices(repository=NotificationRepository(intake.engine), policy=policy)
        services = replace(services_on(intake.engine), notifications=notifications)
        transport = httpx.ASGITransport(create_app(services))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as api:
            yield SlackWorld(intake, slack, api, services)


@pytest.mark.parametrize("wrong", [{"secret": "another"}, {"age": 301.0}], ids=["a wrong signature", "an old timestamp"])
async def test_a_request_that_is_not_slacks_own_or_old_changes_nothing(database_url: str, wrong: dict[str, Any]) -> None:
    async with slack_world(database_url) as world:
        incident_id, _ = await world.ended()
        refused = await world.click("tarsy-investigate", incident_id, **wrong)
        assert (refused.status_code, refused.json()["detail"]) == (401, "The signature is wrong, or older than five minutes.")
        assert (await world.api.post("/api/v1/slack", content="payload={}")).status_code == 401
        assert len(await world.intake.sessions()) == 1


@pytest.mark.parametrize("user", ["U2", "U-unknown"], ids=["a viewer", "a user without a role"])
async def test_a_user_without_the_role_changes_nothing_and_is_told_why(database_url: str, user: str) -> None:
    async with slack_world(database_url) as world:
        incident_id, session_id = await world.ended()
        for action, subject in (("tarsy-investigate", incident_id), ("tarsy-useful", session_id), ("tarsy-ask", session_id)):
            world.slack.replies.append(json_reply(200, {}))
            assert (await world.click(action, subject, user)).json() == {}
        detail = f"This needs the role responder; slack:{user} has the role viewer."
        assert [request.body["text"] for request in world.slack.seen] == [detail] * 3
        assert await world.command("investigate the disk", user) == detail
        assert await world.command(f"ask {session_id} why?", user) == detail
        assert len(await world.intake.sessions()) == 1
        assert await world.intake.rows("SELECT session_id FROM session_reviews UNION ALL SELECT session_id FROM chat_user_messages") == []


async def test_buttons_review_a_session_and_investigate_an_incident_again(database_url: str) -> None:
    async with slack_world(database_url) as world:
        incident_id, session_id = await world.ended()
        world.slack.replies.extend([json_reply(200, {})] * 3)
        await world.click("tarsy-not-useful", session_id)
        [review] = await world.intake.rows("SELECT reviewer, useful FROM session_reviews")
        assert dict(review) == {"reviewer": "slack:U1", "useful": False}
        await world.click("tarsy-investigate", incident_id)
        assert len(await world.intake.sessions()) == 2
        # A second click while that one waits.
        await world.click("tarsy-investigate", incident_id)
        assert len(await world.intake.sessions()) == 2
        thanks, again, busy = (request.body["text"] for request in world.slack.seen)
        assert thanks == "Thank you. Your review is stored."
        assert again.startswith("TARSy investigates it again: https://tarsy.example/sessions/")
        assert "is already investigating this incident" in busy


async def test_the_form_asks_a_question_about_a_session(database_url: str) -> None:
    async with slack_world(database_url) as world:
        _, session_id = await world.ended()
        world.slack.replies.append(json_reply(200, {"ok": True}))
        await world.click("tarsy-ask", session_id)
        [opened] = world.slack.seen
        assert (opened.path, opened.body["trigger_id"]) == ("/api/views.open", "t1")
        view = json.loads(opened.body["view"])
        sent = {
            "type": "view_submission",
            "user": {"id": "U1"},
            "view": {**view, "state": {"values": {"question": {"text": {"value": "why?"}}}}},
        }
        answer = (await world.send(payload=json.dumps(sent))).json()
        assert (
            answer["view"]["blocks"][0]["text"]["text"]
            == f"TARSy answers on the session's page: https://tarsy.example/sessions/{session_id}"
        )
        [asked] = await world.intake.rows("SELECT content, author FROM chat_user_messages")
        assert dict(asked) == {"content": "why?", "author": "slack:U1"}


async def test_the_command_investigates_a_text_and_asks_and_explains_itself(database_url: str) -> None:
    async with slack_world(database_url) as world:
        _, session_id = await world.ended()
        assert (await world.command("investigate the disk of node-7 is full")).startswith("TARSy investigates it: https://")
        assert [session["alert_data"] for session in await world.intake.sessions()][-1] == "the disk of node-7 is full"
        assert "answers on the session's page" in await world.command(f"ask {session_id} why?")
        for text in ("", "help", "ask nothing", "investigate"):
            assert (await world.command(text)).startswith("Write `/tarsy investigate TEXT`")


async def test_socket_mode_takes_the_same_requests_without_an_address_of_its_own(database_url: str) -> None:
    answers: list[dict[str, Any]] = []
    answered = asyncio.Event()

    async def play_slack(socket: ServerConnection) -> None:
        command = {"command": "/tarsy", "text": "investigate the disk", "user_id": "U1"}
        for message in (
            {"type": "hello"},
            {"type": "slash_commands", "envelope_id": "e1", "payload": command},
            {"type": "slash_commands", "envelope_id": "e2", "payload": {**command, "user_id": "U2"}},
        ):
            await socket.send(json.dumps(message))
        async for text in socket:
            answers.append(json.loads(text))
            if len(answers) == 2:
                answered.set()

    async with slack_world(database_url) as world, serve(play_slack, "127.0.0.1", 0) as socket:
        port = next(iter(socket.sockets)).getsockname()[1]
        world.slack.replies.append(json_reply(200, {"ok": True, "url": f"ws://127.0.0.1:{port}/link"}))
        services = replace(world.services, notifications=world.with_app_token("xapp-1"))
        connection = SlackSocket(lambda: services)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(connection.run)
            with anyio.fail_after(30):
                await answered.wait()
            tasks.cancel_scope.cancel()
        [opened] = world.slack.seen
        assert (opened.path, opened.headers["authorization"]) == ("/api/apps.connections.open", "Bearer xapp-1")
        told = {answer["envelope_id"]: answer["payload"]["text"] for answer in answers}
        assert told["e1"].startswith("TARSy investigates it: https://tarsy.example/sessions/")
        assert told["e2"] == "This needs the role responder; slack:U2 has the role viewer."
        assert len(await world.intake.sessions()) == 1


async def test_without_a_signing_secret_there_is_no_such_address(database_url: str) -> None:
    async with intake_world(database_url) as intake:
        transport = httpx.ASGITransport(create_app(services_on(intake.engine)))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as api:
            assert (await api.post("/api/v1/slack", content="payload={}")).status_code == 404
