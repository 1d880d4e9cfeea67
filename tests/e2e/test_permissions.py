"""Who may do what: every operation, for every role, by every way in."""

import re
import time
from collections.abc import AsyncGenerator, Mapping
from datetime import timedelta
from typing import get_args

import anyio
import httpx
import orjson
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute, APIWebSocketRoute, iter_route_contexts
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncEngine
from structlog.testing import capture_logs
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from support.api_world import services_on
from support.live_node import GIVE_UP_SECONDS, LiveNode, live_node, new_id
from support.live_server import live_server
from tarsy.api import live
from tarsy.api.app import create_app, describe_app
from tarsy.api.auth import AuthSettings, auth_settings
from tarsy.api.permissions import REQUIRED_ROLES
from tarsy.api.router import GuardedRoute
from tarsy.api.tokens import COOKIE_NAME, ApiTokens
from tarsy.config.schema.oidc import OidcConfig, RoleRule
from tarsy.db.api_tokens import TokenRepository
from tarsy.db.errors import DatabaseUnavailableError
from tarsy.db.sign_ins import SIGN_IN_COOKIE, SignInRepository
from tarsy.domain.access_role import AccessRole
from tarsy.domain.live_events import session_channel
from tarsy.events.messages import ClientAction
from tarsy.intake.authentication import Token
from tarsy.intake.policy import Policy
from tarsy.mcp_server.endpoint import McpEndpoint

# What anybody may do: see whether the server is alive, read its manual, log in and out.
OPEN = {
    "startSignIn",
    "completeSignIn",
    "getHealth",
    "getLive",
    "getReady",
    "redirectToManual",
    "page",
    "login",
    "logout",
    "getMe",
    "permitWebhook",
    # Slack signs its requests.
    "receiveSlackRequest",
}
# Reading is for viewers, with these exceptions: they are about tokens, or about what colleagues did and from where.
SECRET_READS = {"getFirstAlert", "listTokens", "listAuditEntries", "exportAuditLog"}
# Whatever changes something: the role that a person with this task has.
CHANGES: Mapping[str, AccessRole] = {
    "submitAlert": AccessRole.RESPONDER,
    "submitWebhook": AccessRole.RESPONDER,
    "submitWebhookOf": AccessRole.RESPONDER,
    "investigateIncident": AccessRole.RESPONDER,
    "resolveIncident": AccessRole.RESPONDER,
    "mergeIncidents": AccessRole.RESPONDER,
    "splitIncident": AccessRole.RESPONDER,
    "muteIncident": AccessRole.RESPONDER,
    "addMute": AccessRole.RESPONDER,
    "endMute": AccessRole.RESPONDER,
    "cancelSession": AccessRole.RESPONDER,
    "cancelExecution": AccessRole.RESPONDER,
    "cancelSessions": AccessRole.RESPONDER,
    "deleteSession": AccessRole.RESPONDER,
    "deleteSessions": AccessRole.RESPONDER,
    "giveHint": AccessRole.RESPONDER,
    "askQuestion": AccessRole.RESPONDER,
    "cancelQuestion": AccessRole.RESPONDER,
    "requestScore": AccessRole.RESPONDER,
    "reviewSession": AccessRole.RESPONDER,
    "triageSession": AccessRole.RESPONDER,
    "commentSession": AccessRole.RESPONDER,
    "triageIncident": AccessRole.RESPONDER,
    "commentIncident": AccessRole.RESPONDER,
    "forkSession": AccessRole.RESPONDER,
    "sendNotificationAgain": AccessRole.RESPONDER,
    "testNotificationTarget": AccessRole.RESPONDER,
    "pause": AccessRole.RESPONDER,
    "resume": AccessRole.RESPONDER,
    "approveCall": AccessRole.APPROVER,
    "rejectCall": AccessRole.APPROVER,
    "eraseSession": AccessRole.ADMIN,
    "reloadConfig": AccessRole.ADMIN,
    "openSetup": AccessRole.ADMIN,
    "findModels": AccessRole.ADMIN,
    "setUpKey": AccessRole.ADMIN,
    "setUpLocalModel": AccessRole.ADMIN,
    "setUpToolServer": AccessRole.ADMIN,
    "acceptTools": AccessRole.ADMIN,
    "createToken": AccessRole.ADMIN,
    "revokeToken": AccessRole.ADMIN,
}
# What every token could do before there were roles, beyond what a responder may do.
BEFORE_ROLES = {
    "eraseSession",
    "reloadConfig",
    "openSetup",
    "findModels",
    "setUpKey",
    "setUpLocalModel",
    "setUpToolServer",
    "getFirstAlert",
}
ID = "4f0c6d0e-2f4b-4a57-9d1d-6a4f6f1d7e21"
AUTH = auth_settings(
    host="0.0.0.0",  # noqa: S104 - an address that needs a login
    tokens=ApiTokens(
        {**{f"env-{role}": f"env-{role}-token" for role in AccessRole}, "old": "old-token"}, {f"env-{role}": role for role in AccessRole}
    ),
    trusted_proxies=["127.0.0.1"],
    proxy_roles={f"{role}s": role for role in AccessRole},
    oidc=OidcConfig(
        issuer="https://id.example.com",
        client_id="tarsy",
        roles=tuple(RoleRule(claim="groups", value=f"{role}s", role=role) for role in AccessRole),
    ),
)


def http_operations() -> dict[str, tuple[str, str]]:
    """Every operation of the HTTP API, with a request for it."""
    found: dict[str, tuple[str, str]] = {}
    for context in iter_route_contexts(describe_app().routes):
        route = context.original_route
        if isinstance(route, APIRoute):
            assert isinstance(route, GuardedRoute), f"{context.path} is not guarded"
            path = re.sub(r"\{[^}]+\}", ID, context.path or "")
            found[route.unique_id] = min(context.methods or ()), path
        else:
            assert isinstance(route, APIWebSocketRoute), f"{context.path} is of an unknown kind"
    found["eraseSession"] = "DELETE", f"/api/v1/sessions/{ID}?hard=true&confirm={ID}"
    return found


HTTP = http_operations()
GUARDED = tuple(operation for operation in HTTP if operation not in OPEN)
ACTIONS = {get_args(action.model_fields["action"].annotation)[0] for action in get_args(ClientAction)}

# The operation of each tool of the MCP server, and arguments for it.
MCP_TOOLS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "investigate": ("submitAlert", {"alert": " "}),
    "get_investigation": ("getSession", {"session_id": ID}),
    "list_incidents": ("listIncidents", {}),
    "search": ("listSessions", {"text": "x"}),
    "get_evidence": ("getEvidence", {"session_id": ID, "evidence_id": "A1"}),
    "ask": ("askQuestion", {"session_id": ID, "question": "Why?"}),
    "hint": ("giveHint", {"session_id": ID, "text": "Look at web-3."}),
}


def needed(operation: str) -> AccessRole:
    method, _ = HTTP[operation]
    if method != "GET":
        return CHANGES[operation]
    return AccessRole.ADMIN if operation in SECRET_READS else AccessRole.VIEWER


def test_every_route_and_every_websocket_action_has_a_rule_and_no_rule_is_left_over() -> None:
    assert set(REQUIRED_ROLES) == set(HTTP) | ACTIONS


def test_a_route_without_a_rule_cannot_be_defined() -> None:
    with pytest.raises(LookupError, match="newIdea"):
        GuardedRoute("/new", lambda: None, operation_id="newIdea")


async def ways_in(engine: AsyncEngine) -> dict[str, tuple[dict[str, str], AccessRole | None]]:
    """The headers of every kind of caller, with the caller's role."""
    tokens, sign_ins = TokenRepository(engine), SignInRepository(engine)
    found: dict[str, tuple[dict[str, str], AccessRole | None]] = {}
    for role in AccessRole:
        token, stored = await tokens.create(f"stored-{role}", role, expires_at=None, actor="test")
        logged_in = await sign_ins.with_token(token.name, token.id, timedelta(hours=1))
        cookie = await sign_ins.with_claims("p", {"groups": [f"{role}s"]}, id_token="", state=role, lifetime=timedelta(hours=1))
        found |= {
            f"token of the environment, {role}": ({"Authorization": f"Bearer env-{role}-token"}, role),
            f"cookie for a token of the environment, {role}": (
                {"Cookie": f"{COOKIE_NAME}={AUTH.tokens.cookie_for(f'env-{role}', now=time.time())}"},
                role,
            ),
            f"stored token, {role}": ({"Authorization": f"Bearer {stored}"}, role),
            f"cookie for a stored token, {role}": ({"Cookie": f"{SIGN_IN_COOKIE}={logged_in}"}, role),
            f"proxy, {role}": ({"X-Forwarded-User": "p", "X-Forwarded-Groups": f"others,{role}s"}, role),
            f"OpenID Connect, {role}": ({"Cookie": f"{SIGN_IN_COOKIE}={cookie}"}, role),
        }
    stranger = await sign_ins.with_claims("p", {"groups": ["others"]}, id_token="", state="s", lifetime=timedelta(hours=1))
    found["proxy, no group of ours"] = {"X-Forwarded-User": "p", "X-Forwarded-Groups": "others"}, None
    found["OpenID Connect, no group of ours"] = {"Cookie": f"{SIGN_IN_COOKIE}={stranger}"}, None
    return found


async def statuses(app: FastAPI, headers: Mapping[str, str]) -> dict[str, int]:
    """The status of the response to each operation. The requests are too short to be carried out."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost", headers=dict(headers)) as client:
        return {operation: (await client.request(*HTTP[operation], content=b"x")).status_code for operation in GUARDED}


async def wrong_statuses(app: FastAPI, headers: Mapping[str, str], role: AccessRole | None) -> dict[str, int]:
    """What a caller of this role may do and is refused, or may not and is not."""
    found = await statuses(app, headers)
    return {
        operation: status
        for operation, status in found.items()
        if (status not in {401, 403}) is not (role is not None and role.includes(needed(operation)))
    }


async def test_every_role_may_do_its_own_and_nothing_else_whichever_way_it_comes_in(node: LiveNode) -> None:
    app = create_app(services_on(node.engine, auth=AUTH))
    assert {needed(operation) for operation in GUARDED} == set(AccessRole)
    found = {way: await wrong_statuses(app, headers, role) for way, (headers, role) in (await ways_in(node.engine)).items()}
    assert {way: wrong for way, wrong in found.items() if wrong} == {}


async def test_behind_a_proxy_whose_groups_have_no_roles_everybody_is_a_responder(node: LiveNode) -> None:
    app = create_app(services_on(node.engine, auth=AuthSettings(trusted_proxies=AUTH.trusted_proxies, login_required=True)))
    for headers in ({"X-Forwarded-User": "p", "X-Forwarded-Groups": "admins"}, {}):
        assert await wrong_statuses(app, headers, AccessRole.RESPONDER) == {}


async def test_every_role_may_call_its_own_mcp_tools_and_no_others_whichever_way_it_comes_in(node: LiveNode) -> None:
    wrong, app, endpoint = list[str](), create_app(services_on(node.engine, auth=AUTH)), McpEndpoint()
    endpoint.mount(app)
    accepted = {"Accept": "application/json, text/event-stream"}
    async with (
        anyio.create_task_group() as tasks,
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost", headers=accepted) as client,
    ):
        tasks.start_soon(endpoint.run)

        async def request(headers: Mapping[str, str], method: str, params: Mapping[str, object]) -> httpx.Response:
            body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            return await client.post("/mcp", json=body, headers=dict(headers))

        ways = await ways_in(node.engine)
        listed = await request(next(iter(ways.values()))[0], "tools/list", {})
        assert {name for name in MCP_TOOLS if f'"name":"{name}"' in listed.text} == set(MCP_TOOLS)
        assert listed.text.count('"inputSchema"') == len(MCP_TOOLS)
        for way, (headers, role) in ways.items():
            for tool, (operation, arguments) in MCP_TOOLS.items():
                response = await request(headers, "tools/call", {"name": tool, "arguments": arguments})
                refused = "This needs the role" in response.text or "has no role here" in response.text
                if refused is (role is not None and role.includes(needed(operation))):
                    wrong.append(f"{tool} by {way}: {response.status_code} {response.text}")
        tasks.cancel_scope.cancel()
    assert wrong == []


async def test_without_a_login_everything_else_is_refused(node: LiveNode) -> None:
    assert set((await statuses(create_app(services_on(node.engine, auth=AUTH)), {})).values()) == {401}


async def test_on_loopback_without_a_login_everything_may_be_done(node: LiveNode) -> None:
    assert not {401, 403} & set((await statuses(create_app(services_on(node.engine, auth=AuthSettings())), {})).values())


async def test_a_token_without_a_role_may_still_do_what_it_could_and_each_time_the_log_warns(node: LiveNode) -> None:
    with capture_logs() as logs:
        found = await statuses(create_app(services_on(node.engine, auth=AUTH)), {"Authorization": "Bearer old-token"})
    refused = {operation for operation, status in found.items() if status in {401, 403}}
    warned = {entry["operation"] for entry in logs if entry["event"] == "token.role_missing"}
    beyond = {operation for operation in found if not AccessRole.RESPONDER.includes(needed(operation))}
    assert refused == beyond - BEFORE_ROLES
    assert warned == BEFORE_ROLES


async def test_the_token_of_a_sender_delivers_alerts_and_does_nothing_else(node: LiveNode) -> None:
    policy = Policy(default_alert_type="kubernetes", credentials={"ours": Token(("token-of-the-sender",))}, senders=frozenset({"ours"}))
    app = create_app(services_on(node.engine, auth=AUTH, policy=policy))
    sender = {"Authorization": "Bearer token-of-the-sender"}
    found = await statuses(app, sender)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        delivered = await client.post("/api/v1/webhook/ours", content=b"pod is down", headers=sender)
        by_viewer = await client.post("/api/v1/webhook/ours", content=b"x", headers={"Authorization": "Bearer env-viewer-token"})
    assert set(found.values()) == {401}
    assert (delivered.status_code, by_viewer.status_code) == (202, 403)


@pytest.fixture
async def node(database_url: str) -> AsyncGenerator[LiveNode]:
    async with live_node(database_url) as node:
        yield node


async def test_live_connections_are_for_viewers_and_all_above_by_every_way_in(node: LiveNode) -> None:
    async with live_server(node, auth=AUTH) as address:
        for headers, role in (*(await ways_in(node.engine)).values(), ({}, None)):
            if role is None:
                with pytest.raises(InvalidStatus):
                    await connect(f"ws://{address}/ws", additional_headers=headers)
                continue
            async with connect(f"ws://{address}/ws", additional_headers=headers) as client:
                for action in sorted(ACTIONS):
                    await client.send(orjson.dumps({"action": action, "channel": "sessions", "last_event_id": 0}).decode())
                await client.send('{"action": "ping"}')
                kinds: list[str] = []
                with anyio.fail_after(GIVE_UP_SECONDS):
                    while kinds.count("pong") < 2:
                        kinds.append(orjson.loads(await client.recv())["type"])
                assert "error" not in kinds


async def test_a_live_connection_ends_when_its_token_is_revoked(node: LiveNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "IDENTITY_SECONDS", 0.01)
    monkeypatch.setattr(live, "KEEPALIVE_SECONDS", 0.01)
    tokens, session = TokenRepository(node.engine), new_id()
    _, secret = await tokens.create("bot", AccessRole.VIEWER, expires_at=None, actor="test")
    other = {"Authorization": "Bearer env-viewer-token"}
    async with (
        live_server(node, auth=AUTH) as address,
        connect(f"ws://{address}/ws", additional_headers={"Authorization": f"Bearer {secret}"}) as revoked,
        connect(f"ws://{address}/ws", additional_headers=other) as kept,
        httpx.AsyncClient(base_url=f"http://{address}", headers={"Authorization": f"Bearer {secret}"}) as http,
        http.stream("GET", f"/api/v1/sessions/{session}/events") as events,
    ):
        assert orjson.loads(await revoked.recv())["type"] == orjson.loads(await kept.recv())["type"] == "connection.established"
        assert events.status_code == 200
        await tokens.revoke("bot", actor="test")
        with anyio.fail_after(GIVE_UP_SECONDS):
            with pytest.raises(ConnectionClosed) as closed:
                await revoked.recv()
            await events.aread()
        await kept.send(orjson.dumps({"action": "subscribe", "channel": session_channel(session)}).decode())
        assert orjson.loads(await kept.recv())["type"] == "subscription.confirmed"
    assert (closed.value.rcvd.code if closed.value.rcvd else None) == live.POLICY_VIOLATION


async def test_a_live_connection_stays_while_the_database_does_not_answer(node: LiveNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "IDENTITY_SECONDS", 0.01)
    checked = anyio.Event()
    causes = [
        OperationalError(None, None, OSError()),
        PoolTimeoutError("QueuePool limit of size 7 reached"),
        DatabaseUnavailableError("", ""),
    ]

    async def away(_: object) -> None:
        if not causes:
            checked.set()
            await anyio.sleep_forever()
        raise causes.pop()

    async with (
        live_server(node, auth=AUTH) as address,
        connect(f"ws://{address}/ws", additional_headers={"Authorization": "Bearer env-viewer-token"}) as kept,
    ):
        assert orjson.loads(await kept.recv())["type"] == "connection.established"
        monkeypatch.setattr(live, "identity_in", away)
        with anyio.fail_after(GIVE_UP_SECONDS):
            await checked.wait()
            await kept.send('{"action": "ping"}')
            assert orjson.loads(await kept.recv())["type"] == "pong"
