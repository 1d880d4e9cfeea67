"""Live delivery to clients over WebSocket, and as server-sent events for curl and scripts. `tarsy.events` decides which messages are sent."""

from collections.abc import AsyncGenerator
from typing import Annotated, assert_never

import anyio
import orjson
import structlog
from fastapi import Depends, Header, Query, Request, WebSocket, WebSocketDisconnect
from fastapi.requests import HTTPConnection
from fastapi.responses import PlainTextResponse, StreamingResponse
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from tarsy.api.auth import Identity, host_allowed, origin_allowed
from tarsy.api.http_server import Streams
from tarsy.api.permissions import missing_role, require
from tarsy.api.problems import ProblemKind, RequestRefusedError
from tarsy.api.router import plain_router
from tarsy.api.services import ServicesDep, identity_in
from tarsy.db.errors import DatabaseUnavailableError
from tarsy.domain.live_events import UnknownChannelError, session_channel
from tarsy.events.connection import Connection
from tarsy.events.hub import Hub, RefusedError
from tarsy.events.messages import (
    BadActionError,
    Catchup,
    ConnectionEstablished,
    ErrorMessage,
    Ping,
    Pong,
    Subscribe,
    SubscriptionError,
    Unsubscribe,
    parse_action,
)

log = structlog.stdlib.get_logger(__name__)

router = plain_router(tag="live")

# The longest action has some 200 bytes.
MAX_ACTION_BYTES = 4_096
# A client that reads no message for this long is gone, even if its machine still answers pings.
SEND_SECONDS = 30.0
# RFC 6455, section 7.4.1.
POLICY_VIOLATION = 1008
TOO_BIG = 1009
# Below the idle limit of common proxies (60 s), and how long a vanished client goes unnoticed.
KEEPALIVE_SECONDS = 15.0
# For so long, a revoked token or an ended sign-in still receives events.
IDENTITY_SECONDS = 60.0
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}

_LAST_EVENT_ID = (
    "Continue after this event; 0: from the first one. If more than 200 events follow it, or some are no longer stored, `catchup.overflow` "
    "comes instead of them."
)
LastEventId = Annotated[int | None, Header(ge=0, lt=2**63, description=_LAST_EVENT_ID)]
LastEventIdQuery = Annotated[
    int | None, Query(alias="last_event_id", ge=0, lt=2**63, description="The same, for clients that cannot set headers.")
]


@router.websocket("/ws")
@router.websocket("/api/v1/ws")
async def live_socket(websocket: WebSocket, services: ServicesDep) -> None:
    """Deliver live events until the client leaves."""
    headers, auth = websocket.headers, services.auth
    ours = host_allowed(websocket, auth) and origin_allowed(headers.get("origin"), headers.get("host"), auth.allowed_origins)
    identity = await identity_in(websocket) if ours else None
    if identity is None or missing_role("subscribe", identity):
        # Before the handshake is accepted, this is HTTP 403.
        await websocket.close(POLICY_VIOLATION)
        return
    try:
        with services.live.hub.connect() as connection:
            log.debug("live.connected", connection_id=connection.id, author=identity.author)
            await websocket.accept()
            connection.reply(ConnectionEstablished(connection_id=connection.id))
            async with anyio.create_task_group() as tasks:

                async def handle_then_leave() -> None:
                    await _handle_actions(websocket, services.live.hub, connection, identity)
                    tasks.cancel_scope.cancel()

                async def leave_with_login() -> None:
                    await anyio.sleep(IDENTITY_SECONDS)
                    while await _is_still(identity, websocket):  # noqa: ASYNC110 - nothing announces that a login has ended
                        await anyio.sleep(IDENTITY_SECONDS)
                    log.info("live.login_ended", connection_id=connection.id, author=identity.author)
                    await websocket.close(POLICY_VIOLATION, "Log in again.")
                    tasks.cancel_scope.cancel()

                tasks.start_soon(handle_then_leave, name="live.read")
                tasks.start_soon(leave_with_login, name="live.login")
                await _send_messages(websocket, connection)
                tasks.cancel_scope.cancel()
            log.debug("live.disconnected", connection_id=connection.id)
    except RefusedError as error:
        await websocket.send_denial_response(PlainTextResponse(str(error), status_code=503))


async def _is_still(identity: Identity, connection: HTTPConnection) -> bool:
    """Whether the credentials that a connection was opened with still identify the same caller, with the same role."""
    try:
        return await identity_in(connection) == identity
    except (DBAPIError, PoolTimeoutError, DatabaseUnavailableError):
        # No events arrive without the database either; the next check decides.
        return True


async def _send_messages(websocket: WebSocket, connection: Connection) -> None:
    """Send until the client is gone or has stopped reading."""
    try:
        while True:
            for message in await connection.next_messages():
                with anyio.fail_after(SEND_SECONDS):
                    await websocket.send_text(message)
    except TimeoutError:
        log.info("live.client_stuck", connection_id=connection.id)
    except WebSocketDisconnect:
        return


async def _handle_actions(websocket: WebSocket, hub: Hub, connection: Connection, identity: Identity) -> None:
    """Handle the client's actions until it leaves."""
    while True:
        await connection.wait_for_room()
        message = await websocket.receive()
        if message["type"] == "websocket.disconnect":
            return
        text: str | bytes = message.get("text") or message.get("bytes") or ""
        if len(text) > MAX_ACTION_BYTES:
            await websocket.close(TOO_BIG, f"An action has {MAX_ACTION_BYTES} bytes at most.")
            return
        try:
            action = parse_action(text)
            require(action.action, identity)
        except (BadActionError, RequestRefusedError) as error:
            connection.reply(ErrorMessage(message=str(error)))
            continue
        match action:
            case Ping():
                connection.reply(Pong())
            case Unsubscribe():
                hub.unsubscribe(connection, action.channel)
            case Subscribe() | Catchup():
                try:
                    if isinstance(action, Subscribe):
                        await hub.subscribe(connection, action.channel, action.last_event_id)
                    else:
                        await hub.catch_up(connection, action.channel, action.last_event_id)
                except (UnknownChannelError, RefusedError) as error:
                    connection.reply(SubscriptionError(channel=action.channel, message=str(error)))
            case _:
                assert_never(action)


async def connection_of(services: ServicesDep) -> AsyncGenerator[Connection]:
    """Yield a connection that lasts as long as the response."""
    try:
        with services.live.hub.connect() as connection:
            yield connection
    except RefusedError as error:
        raise RequestRefusedError(ProblemKind.QUEUE_FULL, str(error)) from error


@router.get(
    "/api/v1/sessions/{session_id}/events",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}, "description": "Events until the client disconnects."}},
)
async def session_events(
    session_id: str,
    services: ServicesDep,
    connection: Annotated[Connection, Depends(connection_of)],
    request: Request,
    last_event_id: LastEventId = None,
    last_event_id_query: LastEventIdQuery = None,
) -> StreamingResponse:
    """Follow a session: its stored events from `Last-Event-ID` (or from now) and the text that is being written."""
    start = last_event_id if last_event_id is not None else last_event_id_query
    try:
        await services.live.hub.subscribe(connection, session_channel(session_id), start)
    except (RefusedError, UnknownChannelError) as error:
        raise RequestRefusedError(ProblemKind.NOT_FOUND, f"There is no session {session_id}.") from error
    events = _server_sent_events(connection, services.live.streams, request)
    return StreamingResponse(events, media_type="text/event-stream", headers=_HEADERS)


async def _server_sent_events(connection: Connection, streams: Streams, request: Request) -> AsyncGenerator[str]:
    identity, checked_at = request.state.identity, anyio.current_time()
    while not streams.ended:
        if anyio.current_time() - checked_at >= IDENTITY_SECONDS:
            if not await _is_still(identity, request):
                return
            checked_at = anyio.current_time()
        messages = None
        with streams.waiting(KEEPALIVE_SECONDS):
            messages = await connection.next_messages()
        if not messages:
            yield ": still here\n\n"
            continue
        for message in messages:
            fields = orjson.loads(message)
            # Text and replies have no id: a client that reconnects continues after the last stored event it has.
            event_id = f"id: {fields['id']}\n" if "id" in fields else ""
            yield f"{event_id}event: {fields['type']}\ndata: {message}\n\n"
