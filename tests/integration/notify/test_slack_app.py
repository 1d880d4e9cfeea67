"""Requests of Slack: signatures, roles, and what buttons, the form, the command and mentions do."""

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, get_args
from urllib.parse import parse_qs, urlencode, urlsplit

import anyio
import httpx
import pytest
import sqlalchemy as sa
from websockets.asyncio.server import ServerConnection, serve

from support.api_rows import add_run
from support.api_world import services_on
from support.claims import take
from support.intake_world import IntakeWorld, alert, intake_world
from support.notify_world import NotifyWorld
from support.vendor_server import VendorServer, json_reply, vendor_server
from tarsy.api import slack
from tarsy.api.app import create_app
from tarsy.api.auth import AuthSettings
from tarsy.api.permissions import REQUIRED_ROLES
from tarsy.api.services import NotificationServices, Services
from tarsy.api.slack import Ask, Decide, GiveReview, Investigate, InvestigateAgain, OpenForm, ShowHelp, SlackRequest, operation_of
from tarsy.api.slack_socket import SlackSocket
from tarsy.api.tokens import ApiTokens
from tarsy.db.notification_repository import NotificationRepository
from tarsy.db.run.journal import PostgresJournal
from tarsy.db.tables import chat_user_messages
from tarsy.domain.access_role import AccessRole
from tarsy.domain.approval import Approval, ApprovalRequest
from tarsy.domain.claim import CHAT_ANSWER, Claim
from tarsy.domain.execution import ExecutionChange
from tarsy.domain.notification import EventKind, NotificationRule
from tarsy.domain.status import RunStatus
from tarsy.domain.step import Step, WorkClose
from tarsy.notify.delivery import send_test
from tarsy.notify.policy import SLACK_REPLIES, NotificationPolicy, SlackApp
from tarsy.notify.senders.slack import Button, SlackSender

SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
TOKEN = "a-token"


@dataclass
class SlackWorld:
    intake: IntakeWorld
    slack: VendorServer
    api: httpx.AsyncClient
    services: Services
    notify: NotifyWorld

    def with_app_token(self, token: str) -> NotificationServices:
        notifications = self.services.notifications
        return replace(notifications, policy=replace(notifications.policy, slack_app=replace(self.app, app_token=token)))

    async def send(self, secret: str = SECRET, age: float = 0.0, event: Any = None, **form: Any) -> httpx.Response:
        """A request as Slack signs it: https://docs.slack.dev/authentication/verifying-requests-from-slack."""
        body, stamp = json.dumps(event) if event else urlencode(form), str(int(time.time() - age))
        signed = hmac.new(secret.encode(), f"v0:{stamp}:{body}".encode(), hashlib.sha256).hexdigest()
        headers = {
            "X-Slack-Request-Timestamp": stamp,
            "X-Slack-Signature": f"v0={signed}",
            "Content-Type": "application/json" if event else "application/x-www-form-urlencoded",
        }
        return await self.api.post("/api/v1/slack", content=body, headers=headers)

    async def click(self, action: str, subject: str, user: str = "U1", answer_at: str = "", **more: Any) -> httpx.Response:
        payload = {
            "type": "block_actions",
            "user": {"id": user},
            "trigger_id": "t1",
            "response_url": answer_at or f"{self.slack.url}/respond",
            "container": {"type": "message", "channel_id": "C2", "message_ts": "1.1", "thread_ts": "1.0"},
            "actions": [{"action_id": action, "value": subject}],
        }
        return await self.send(payload=json.dumps(payload), **more)

    async def mention(self, text: str, ts: str, user: str = "U1", **more: Any) -> str:
        """A mention of the bot in the channel C2; return what only its user sees."""
        self.slack.replies.appendleft(json_reply(200, {"ok": True}))
        event = {"type": "app_mention", "user": user, "channel": "C2", "ts": ts, "text": f"<@UBOT> {text}", **more}
        assert (await self.send(event={"type": "event_callback", "event": event})).json() == {}
        reply = self.slack.seen.pop()
        assert (reply.path, reply.body["user"]) == ("/api/chat.postEphemeral", user)
        return reply.body["text"]

    async def delivered(self, target: str, *replies: str) -> list[tuple[str, dict[str, Any]]]:
        """Deliver what has happened; return the calls of Slack's API, which posts messages with these ids."""
        await self.notify.feed().advance()
        self.slack.replies.extend([json_reply(200, {"ok": True, "channel": "C2", "ts": ts}) for ts in replies])
        before = len(self.slack.seen)
        await self.notify.deliver(target)
        return [(request.path.removeprefix("/api/"), request.body) for request in self.slack.seen[before:]]

    @property
    def app(self) -> SlackApp:
        assert self.services.notifications.policy.slack_app
        return self.services.notifications.policy.slack_app

    async def state(self) -> list[Mapping[str, Any]]:
        """Everything that a request could have changed."""
        return await self.intake.rows(
            """
            SELECT 'session' AS kind, id::text, status, NULL AS who FROM alert_sessions
            UNION ALL SELECT 'question', id::text, content, author FROM chat_user_messages
            UNION ALL SELECT 'review', session_id::text, useful::text, reviewer FROM session_reviews
            UNION ALL SELECT 'approval', id::text, state, decided_by FROM approvals
            UNION ALL SELECT 'work', id::text, kind, NULL FROM work
            UNION ALL SELECT 'entry', id::text, action, actor FROM audit_log
            ORDER BY 1, 2
            """
        )

    async def command(self, text: str, user: str = "U1", **more: Any) -> str:
        return (await self.send(command="/tarsy", text=text, user_id=user, **more)).json()["text"]

    async def ended(self) -> tuple[str, str]:
        """An incident that was investigated, with its session."""
        taken = await self.intake.take(alert())
        assert taken.main
        assert taken.main.incident_id
        begun = await self.intake.begin()
        await self.intake.finish(begun)
        return taken.main.incident_id, begun.claim.subject_id

    async def waiting(self, claim: Claim, arguments: str = "{}") -> Approval:
        """A tool call of a running session that waits for a person."""
        run = await add_run(self.intake.engine, claim.subject_id, ended=False)
        request = ApprovalRequest(
            session_id=claim.subject_id,
            execution_id=run.execution_id,
            call_id="c9",
            evidence_id="A1",
            server="shell",
            tool="run",
            arguments=arguments,
            call_hash="h",
            expiry=600,
        )
        approval, _seconds = await self.services.repositories.approvals.request(request, claim)
        return approval


@asynccontextmanager
async def slack_world(database_url: str) -> AsyncGenerator[SlackWorld]:
    async with intake_world(database_url) as intake, vendor_server() as slack:
        app = SlackApp(
            token="xoxb-1",
            signing_secret=SECRET,
            users={
                "U1": AccessRole.RESPONDER,
                "U2": AccessRole.VIEWER,
                "U3": AccessRole.APPROVER,
                "U4": AccessRole.APPROVER,
                "U5": AccessRole.ADMIN,
            },
            api_url=f"{slack.url}/api/",
        )
        on_call = SlackSender(token="xoxb-1", channel="C2", api_url=f"{slack.url}/api/", has_buttons=True)
        policy = NotificationPolicy(
            targets={"on-call": on_call, SLACK_REPLIES: app.sender()},
            rules=[NotificationRule(name="all", on=frozenset(EventKind) - {EventKind.ANSWERED}, to=("on-call",))],
            dashboard_url="https://tarsy.example",
            slack_app=app,
        )
        notifications = NotificationServices(repository=NotificationRepository(intake.engine), policy=policy)
        # Slack has no login: its signature proves who sent a request.
        guarded = services_on(intake.engine, auth=AuthSettings(tokens=ApiTokens({"sender": TOKEN}), login_required=True))
        services = replace(guarded, notifications=notifications)
        transport = httpx.ASGITransport(create_app(services))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as api:
            notify = NotifyWorld(intake, policy)
            await notify.feed().advance()
            yield SlackWorld(intake, slack, api, services, notify)


@pytest.mark.parametrize("wrong", [{"secret": "another"}, {"age": 301.0}], ids=["a wrong signature", "an old timestamp"])
async def test_a_request_that_is_not_slacks_own_or_old_changes_nothing(database_url: str, wrong: dict[str, Any]) -> None:
    async with slack_world(database_url) as world:
        incident_id, _ = await world.ended()
        before = await world.state()
        event = {"type": "app_mention", "user": "U1", "channel": "C2", "ts": "5.2", "text": "<@UBOT> the disk"}
        for refused in (
            await world.click(Button.INVESTIGATE_AGAIN, incident_id, **wrong),
            await world.send(command="/tarsy", text="investigate the disk", user_id="U1", **wrong),
            await world.send(event={"type": "event_callback", "event": event}, **wrong),
        ):
            assert (refused.status_code, refused.json()["detail"]) == (401, "The signature is wrong, or older than five minutes.")
        assert (await world.api.post("/api/v1/slack", content="payload={}")).status_code == 401
        assert await world.state() == before
        assert world.slack.seen == []


@dataclass(frozen=True)
class Attempt:
    """One way to ask for something in Slack: what it is to be, its operation, and how a user does it; that returns the answer that the user gets."""

    request: type[SlackRequest]
    operation: str | None
    make: Callable[[str], Awaitable[str]]


async def attempts(world: SlackWorld) -> Mapping[str, Attempt]:
    """Every button, the form, every command, and every kind of mention."""
    incident_id, session_id = await world.ended()
    await world.delivered("on-call", "1.0", "1.0", "1.1")
    await world.command("investigate the disk")
    approval = await world.waiting((await world.intake.begin()).claim)

    def click(button: Button, subject: str) -> Callable[[str], Awaitable[str]]:
        async def make(user: str) -> str:
            world.slack.replies.append(json_reply(200, {"ok": True}))
            await world.click(button, subject, user)
            return world.slack.seen.pop().body.get("text", "")

        return make

    async def send_form(user: str) -> str:
        view = {
            "callback_id": "tarsy-question",
            "private_metadata": session_id,
            "state": {"values": {"question": {"text": {"value": "why?"}}}},
        }
        answer = await world.send(payload=json.dumps({"type": "view_submission", "user": {"id": user}, "view": view}))
        return answer.json()["view"]["blocks"][0]["text"]["text"]

    def command(text: str) -> Callable[[str], Awaitable[str]]:
        return lambda user: world.command(text, user)

    def mention(text: str, **more: Any) -> Callable[[str], Awaitable[str]]:
        return lambda user: world.mention(text, "9.0", user, **more)

    return {
        Button.INVESTIGATE_AGAIN: Attempt(InvestigateAgain, "investigateIncident", click(Button.INVESTIGATE_AGAIN, incident_id)),
        Button.USEFUL: Attempt(GiveReview, "reviewSession", click(Button.USEFUL, session_id)),
        Button.NOT_USEFUL: Attempt(GiveReview, "reviewSession", click(Button.NOT_USEFUL, session_id)),
        Button.ASK: Attempt(OpenForm, "askQuestion", click(Button.ASK, session_id)),
        Button.APPROVE: Attempt(Decide, "approveCall", click(Button.APPROVE, approval.id)),
        Button.REJECT: Attempt(Decide, "rejectCall", click(Button.REJECT, approval.id)),
        "form": Attempt(Ask, "askQuestion", send_form),
        "/tarsy ask": Attempt(Ask, "askQuestion", command(f"ask {session_id} why?")),
        "/tarsy investigate": Attempt(Investigate, "submitAlert", command("investigate the disk")),
        "/tarsy": Attempt(ShowHelp, None, command("")),
        "mention in a thread": Attempt(Ask, "askQuestion", mention("why?", thread_ts="1.0")),
        "mention": Attempt(Investigate, "submitAlert", mention("the disk")),
        "mention without a text": Attempt(ShowHelp, None, mention("")),
    }


async def test_every_role_may_ask_in_slack_for_its_own_and_nothing_else_and_a_refused_request_changes_nothing(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[tuple[type[Any], str | None]]()

    def spy(request: SlackRequest) -> str | None:
        operation = operation_of(request)
        asked.append((type(request), operation))
        return operation

    monkeypatch.setattr(slack, "operation_of", spy)
    async with slack_world(database_url) as world:
        found = await attempts(world)
        wrong, asked[:] = list[str](), []
        for user, role in {"U6": AccessRole.VIEWER, "U2": AccessRole.VIEWER, **world.app.users}.items():
            for name, attempt in found.items():
                before = await world.state()
                reply = await attempt.make(user)
                needed = REQUIRED_ROLES[attempt.operation] if attempt.operation else None
                refusal = f"This needs the role {needed}; slack:{user} has the role {role}."
                may = needed is None or role.includes(needed)
                if (reply != refusal) is not may or (not may and await world.state() != before):
                    wrong.append(f"{name} by {user}, {role}: {reply}")
        assert wrong == []
    # What was asked for is what was meant, and a new button or kind of request must be added above, with a rule.
    assert set(asked) == {(attempt.request, attempt.operation) for attempt in found.values()}
    assert {attempt.request for attempt in found.values()} == set(get_args(SlackRequest))
    assert {name for name in found if name in set(Button)} == set(Button) - {Button.OPEN}


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
        # What is done is done, even if Slack cannot show it: an error would say that it failed.
        assert (await world.click("tarsy-useful", session_id, answer_at="http://127.0.0.1:1/")).json() == {}
        assert [row["useful"] for row in await world.intake.rows("SELECT useful FROM session_reviews")] == [True]
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

        async def send_form(text: str | None) -> str:
            values = {"question": {"text": {"value": text}}}
            sent = {"type": "view_submission", "user": {"id": "U1"}, "view": {**view, "state": {"values": values}}}
            answer = await world.send(payload=json.dumps(sent))
            return answer.json()["view"]["blocks"][0]["text"]["text"]

        for text in (None, " \n", "x" * 100_001, "a\0b"):
            assert await send_form(text) == "Write a question of 1 to 100,000 characters."
        answered = f"TARSy answers in the thread and on the session's page: https://tarsy.example/sessions/{session_id}"
        assert await send_form("why?") == answered
        [asked] = await world.intake.rows("SELECT content, author, slack_thread FROM chat_user_messages")
        assert dict(asked) == {"content": "why?", "author": "slack:U1", "slack_thread": {"channel": "C2", "ts": "1.0"}}


async def test_the_command_investigates_a_text_and_asks_and_explains_itself(database_url: str) -> None:
    async with slack_world(database_url) as world:
        _, session_id = await world.ended()
        assert (await world.command("investigate the disk of node-7 is full")).startswith("TARSy investigates it: https://")
        assert [session["alert_data"] for session in await world.intake.sessions()][-1] == "the disk of node-7 is full"
        assert "answers on the session's page" in await world.command(f"ask {session_id} why?")
        for text in ("", "help", "ask nothing", "investigate"):
            assert (await world.command(text)).startswith("Write `/tarsy investigate TEXT`")


async def test_a_mention_is_investigated_once_and_the_result_is_posted_in_its_thread(database_url: str) -> None:
    async with slack_world(database_url) as world:
        for _ in range(2):
            reply = await world.mention("the disk of <https://n7.example|node-7> is full &amp; hot", "5.0")
            assert reply.startswith("TARSy investigates it: https://tarsy.example/sessions/")
        [session] = await world.intake.sessions()
        assert session["alert_data"] == "the disk of https://n7.example is full & hot"
        begun = await world.intake.begin()
        [(method, first)] = await world.delivered(SLACK_REPLIES, "5.1")
        assert (method, first["channel"], first["thread_ts"]) == ("chat.postMessage", "C2", "5.0")
        assert first["text"].startswith("Investigating: ")
        # Before it has ended, there is nothing to ask about.
        assert "wait until it has ended" in await world.mention("why?", "5.2", thread_ts="5.0")
        world.intake.later(minutes=1)
        await world.intake.finish(begun)
        updated, reply = await world.delivered(SLACK_REPLIES, "5.1", "5.3")
        assert (updated[0], updated[1]["ts"], reply[1]["thread_ts"]) == ("chat.update", "5.1", "5.0")
        # A sample belongs to no thread.
        assert await send_test(SLACK_REPLIES, world.app.sender()) == "only what someone asks for in Slack is posted there"
        # The rule for this channel does not post it a second time.
        assert await world.delivered("on-call") == []
        assert len(await world.intake.sessions()) == 1


async def test_a_mention_in_the_thread_of_an_incident_asks_and_the_answer_is_a_reply(database_url: str) -> None:
    async with slack_world(database_url) as world:
        _, session_id = await world.ended()
        await world.delivered("on-call", "1.0", "1.0", "1.1")
        for _ in range(2):
            reply = await world.mention("what filled it?", "1.2", thread_ts="1.0")
            assert reply == f"TARSy answers in the thread and on the session's page: https://tarsy.example/sessions/{session_id}"
        [asked] = await world.intake.rows("SELECT id, content, author FROM chat_user_messages")
        assert (asked["content"], asked["author"]) == ("what filled it?", "slack:U1")
        run, claimed = await add_run(world.intake.engine, session_id), await take(world.intake.engine, CHAT_ANSWER)
        assert claimed
        async with world.intake.engine.begin() as connection:
            await connection.execute(sa.update(chat_user_messages).values(stage_id=run.stage_id))
        close = WorkClose(status=RunStatus.COMPLETED, completed_at=world.intake.clock.at)
        await PostgresJournal(world.intake.engine, lambda _events: None).commit(Step(claim=claimed.claim, work_close=close))
        [(method, reply)] = await world.delivered(SLACK_REPLIES, "1.3")
        assert (method, reply["channel"], reply["thread_ts"]) == ("chat.postMessage", "C2", "1.0")
        assert "The disk is full." in reply["text"]
        # The command finds the same thread by the session.
        await world.command(f"ask {session_id} since when?", channel_id="C2")
        threads = await world.intake.rows("SELECT slack_thread FROM chat_user_messages")
        assert [row["slack_thread"] for row in threads] == [{"channel": "C2", "ts": "1.0"}] * 2
        assert len(await world.intake.sessions()) == 1


async def test_a_mention_by_a_bot_and_an_edit_change_nothing_and_the_address_is_verified(database_url: str) -> None:
    async with slack_world(database_url) as world:
        event = {"type": "app_mention", "user": "U1", "channel": "C2", "ts": "5.2", "text": "<@UBOT> the disk"}
        for more in ({"bot_id": "B1"}, {"edited": {"ts": "5.3"}}, {"type": "message"}):
            await world.send(event={"type": "event_callback", "event": {**event, **more}})
        assert (await world.send(event={"type": "url_verification", "challenge": "c1"})).json() == {"challenge": "c1"}
        assert await world.intake.sessions() == []


async def test_an_approver_decides_about_the_exact_call_once_and_the_message_shows_it(database_url: str) -> None:
    arguments = json.dumps({"command": "rm <!channel> *x* `y`"})
    async with slack_world(database_url) as world:
        taken = await world.intake.take(alert())
        begun = await world.intake.begin()
        await world.delivered("on-call", "1.0")
        assert taken.main
        approval = await world.waiting(begun.claim, arguments)
        (_, incident), (_, asked) = await world.delivered("on-call", "1.0", "1.1")
        assert (incident["ts"], asked["thread_ts"], asked["reply_broadcast"]) == ("1.0", "1.0", True)
        section, call, actions = asked["blocks"]
        assert section["text"]["text"].splitlines()[:2] == ["Approval needed: Disk f1 is full", "`shell.run`"]
        assert call["elements"][0] == {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": arguments}]}
        assert [(one["text"]["text"], one.get("value")) for one in actions["elements"]][1:] == [
            ("Approve", approval.id),
            ("Reject", approval.id),
        ]
        world.slack.replies.extend([json_reply(200, {})] * 3)
        before = len(world.slack.seen)
        for user, action in (("U1", "tarsy-approve"), ("U3", "tarsy-approve"), ("U4", "tarsy-reject")):
            await world.click(action, approval.id, user)
        refused, approved, late = (request.body["text"] for request in world.slack.seen[before:])
        assert refused == "This needs the role approver; slack:U1 has the role responder."
        assert approved == "You have approved shell.run."
        assert late.startswith("slack:U3 approved this call at")
        (_, incident), (method, decided) = await world.delivered("on-call", "1.0", "1.1")
        assert (method, decided["ts"], incident["ts"]) == ("chat.update", "1.1", "1.0")
        assert decided["text"].startswith("Call approved: Disk f1 is full")
        assert [one["text"]["text"] for one in decided["blocks"][2]["elements"]] == ["Open"]


@pytest.mark.parametrize("ends", ["agent", "session"])
async def test_the_message_of_a_call_loses_its_buttons_when_its_agent_or_session_ends(database_url: str, ends: str) -> None:
    async with slack_world(database_url) as world:
        await world.intake.take(alert())
        begun = await world.intake.begin()
        approval = await world.waiting(begun.claim)
        await world.delivered("on-call", "1.0", "1.1", "1.2")
        if ends == "agent":
            stopped = ExecutionChange(execution_id=approval.execution_id, at=world.intake.clock.now(), status=RunStatus.CANCELLED)
            await PostgresJournal(world.intake.engine, lambda _events: None).commit(Step(claim=begun.claim, execution_changes=(stopped,)))
        else:
            await world.intake.finish(begun)
        calls = await world.delivered("on-call", *["1.3"] * 5)
        (shown,) = [body for method, body in calls if method == "chat.update" and body["ts"] == "1.2"]
        assert shown["text"].startswith("Call expired")
        assert [one["text"]["text"] for one in shown["blocks"][2]["elements"]] == ["Open"]


async def test_an_alert_that_names_the_message_by_a_fingerprint_is_answered_in_its_thread(database_url: str) -> None:
    async with slack_world(database_url) as world:
        world.api.headers["Authorization"] = f"Bearer {TOKEN}"
        body = {"data": "the disk is full", "slack_message_fingerprint": "Fingerprint:  ABC-1"}
        assert (await world.api.post("/api/v1/alerts", json=body)).status_code == 202
        await world.intake.begin()
        found = [{"ts": "0.2", "text": "deployed"}, {"ts": "0.1", "attachments": [{"text": "Disk full\nfingerprint: abc-1"}]}]
        world.slack.replies.append(json_reply(200, {"ok": True, "messages": found}))
        _, (method, posted) = await world.delivered("on-call", "1.0")
        assert (method, posted["thread_ts"]) == ("chat.postMessage", "0.1")
        # One page of the history is read, whatever is in the channel.
        history = urlsplit(next(request.path for request in world.slack.seen if "conversations.history" in request.path))
        assert parse_qs(history.query)["limit"] == ["200"]
        # Without the scope for it, the message is posted anyway.
        assert (await world.api.post("/api/v1/alerts", json=body)).status_code == 202
        await world.intake.begin()
        world.slack.replies.append(json_reply(200, {"ok": False, "error": "missing_scope"}))
        _, (_, posted) = await world.delivered("on-call", "2.0")
        assert "thread_ts" not in posted
        # An empty one names no message.
        assert (await world.api.post("/api/v1/alerts", json={**body, "slack_message_fingerprint": " "})).status_code == 202
        await world.intake.begin()
        [(method, _)] = await world.delivered("on-call", "3.0")
        assert method == "chat.postMessage"


async def test_socket_mode_takes_the_same_requests_without_an_address_of_its_own(database_url: str) -> None:
    answers: list[dict[str, Any]] = []
    answered = asyncio.Event()

    async def play_slack(socket: ServerConnection) -> None:
        command = {"command": "/tarsy", "text": "investigate the disk", "user_id": "U1"}
        mention = {"type": "app_mention", "user": "U1", "channel": "C2", "ts": "5.0", "text": "<@UBOT> the disk"}
        for message in (
            {"type": "hello"},
            {"type": "slash_commands", "envelope_id": "e1", "payload": command},
            {"type": "slash_commands", "envelope_id": "e2", "payload": {**command, "user_id": "U2"}},
            {"type": "events_api", "envelope_id": "e3", "payload": {"type": "event_callback", "event": mention}},
        ):
            await socket.send(json.dumps(message))
        async for text in socket:
            answers.append(json.loads(text))
            if len(answers) == 3:
                answered.set()

    async with slack_world(database_url) as world, serve(play_slack, "127.0.0.1", 0) as socket:
        port = next(iter(socket.sockets)).getsockname()[1]
        world.slack.replies.extend([json_reply(200, {"ok": True, "url": f"ws://127.0.0.1:{port}/link"}), json_reply(200, {"ok": True})])
        services = replace(world.services, notifications=world.with_app_token("xapp-1"))
        connection = SlackSocket(lambda: services)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(connection.run)
            with anyio.fail_after(30):
                await answered.wait()
            tasks.cancel_scope.cancel()
        opened, mentioned = world.slack.seen
        assert mentioned.body["text"].startswith("TARSy investigates it: ")
        assert (opened.path, opened.headers["authorization"]) == ("/api/apps.connections.open", "Bearer xapp-1")
        reply = {answer["envelope_id"]: answer["payload"]["text"] for answer in answers if answer["envelope_id"] != "e3"}
        assert reply["e1"].startswith("TARSy investigates it: https://tarsy.example/sessions/")
        assert reply["e2"] == "This needs the role responder; slack:U2 has the role viewer."
        assert len(await world.intake.sessions()) == 2


async def test_without_a_signing_secret_there_is_no_such_address(database_url: str) -> None:
    async with intake_world(database_url) as intake:
        transport = httpx.ASGITransport(create_app(services_on(intake.engine)))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as api:
            assert (await api.post("/api/v1/slack", content="payload={}")).status_code == 404
