"""The live connection: reads a client's actions, writes what its `Connection` has to tell. What is told is decided in `tarsy.events`."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Annotated, assert_never

import anyio
import orjson
import structlog
from fastapi import Depends, Header, Query, WebSocket, WebSocketDisconnect
from fastapi.responses import PlainTextResponse, StreamingResponse

from tarsy.api.auth import authenticate_websocket
from tarsy.api.http_server import Streams
from tarsy.api.live_socket import write_now_of
from tarsy.api.problems import ProblemKind, RequestRefusedError
from tarsy.api.router import plain_router
from tarsy.api.services import LiveDep
from tarsy.domain.live_events import UnknownChannelError, session_channel
from tarsy.events.connection import Connection
from tarsy.events.hub import ConnectionManager, RefusedError
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

# The longest action is some 200 bytes; a client that sends more than this means something else.
MAX_ACTION_BYTES = 4_096
# A client that takes nothing for this long is gone, even if its machine still answers pings. It is looked at as often, since a timer
# for every message would cost more than most messages do: twice the time may pass before it is noticed.
SEND_SECONDS = 30.0
# RFC 6455, section 7.4.1.
POLICY_VIOLATION = 1008
TOO_BIG = 1009


@router.websocket("/ws")
@router.websocket("/api/v1/ws")
async def live(websocket: WebSocket, services: LiveDep) -> None:
    """Deliver live events until the client leaves."""
    author = await authenticate_websocket(websocket)
    if author is None:
        # Before the handshake is accepted, this is HTTP 403.
        await websocket.close(POLICY_VIOLATION)
        return
    hub = services.hub
    try:
        with hub.connect() as connection:
            log.debug("live.connected", connection_id=connection.id, author=author)
            await _converse(websocket, hub, connection)
    except RefusedError as error:
        await websocket.send_denial_response(PlainTextResponse(str(error), status_code=503))


@dataclass(slots=True)
class _Sends:
    """How many messages were handed to the client's socket, and how many it took."""

    begun: int = 0
    ended: int = 0


async def _converse(websocket: WebSocket, hub: ConnectionManager, connection: Connection) -> None:
    await websocket.accept()
    connection.answer(ConnectionEstablished(connection_id=connection.id))
    connection.write_now = write_now_of(websocket.scope)
    sends = _Sends()
    async with anyio.create_task_group() as tasks:

        async def read_then_leave() -> None:
            await _read(websocket, hub, connection)
            tasks.cancel_scope.cancel()

        async def leave_when_stuck() -> None:
            await _stuck(sends)
            log.info("live.client_stuck", connection_id=connection.id)
            tasks.cancel_scope.cancel()

        tasks.start_soon(read_then_leave, name="live.read")
        tasks.start_soon(leave_when_stuck, name="live.watch")
        await _write(websocket, connection, sends)
        tasks.cancel_scope.cancel()
    log.debug("live.disconnected", connection_id=connection.id)


async def _write(websocket: WebSocket, connection: Connection, sends: _Sends) -> None:
    """Send until the client is gone."""
    try:
        while True:
            for message in await connection.next_messages():
                sends.begun += 1
                await websocket.send_text(message)
                sends.ended += 1
    except WebSocketDisconnect:
        return


async def _stuck(sends: _Sends) -> None:
    """Wait until one message has been on its way for too long."""
    seen = -1
    while sends.begun != seen or sends.ended == seen:
        seen = sends.begun
        await anyio.sleep(SEND_SECONDS)


async def _read(websocket: WebSocket, hub: ConnectionManager, connection: Connection) -> None:
    while True:
        await connection.room_for_answers()
        message = await websocket.receive()
        if message["type"] == "websocket.disconnect":
            return
        action: str | bytes = message.get("text") or message.get("bytes") or ""
        if len(action) > MAX_ACTION_BYTES:
            await websocket.close(TOO_BIG, f"An action has {MAX_ACTION_BYTES} bytes at most.")
            return
        await _act(action, hub, connection)


async def _act(text: str | bytes, hub: ConnectionManager, connection: Connection) -> None:
    try:
        action = parse_action(text)
    except BadActionError as error:
        connection.answer(ErrorMessage(message=str(error)))
        return
    match action:
        case Ping():
            connection.answer(Pong())
        case Unsubscribe():
            hub.unsubscribe(connection, action.channel)
        case Subscribe() | Catchup():
            await _follow(action, hub, connection)
        case _:
            assert_never(action)


async def _follow(action: Subscribe | Catchup, hub: ConnectionManager, connection: Connection) -> None:
    try:
        match action:
            case Subscribe():
                await hub.subscribe(connection, action.channel, action.last_event_id)
            case Catchup():
                await hub.catch_up(connection, action.channel, action.last_event_id)
    except (UnknownChannelError, RefusedError) as error:
        connection.answer(SubscriptionError(channel=action.channel, message=str(error)))


# Below the idle limit of common proxies (60 s), and how long a vanished client goes unnoticed.
KEEPALIVE_SECONDS = 15.0
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}

LastEventId = Annotated[int | None, Header(ge=0, lt=2**63, description="Continue after this event; 0 returns all stored events.")]
LastEventIdQuery = Annotated[
    int | None, Query(alias="last_event_id", ge=0, lt=2**63, description="The same, for clients that cannot set headers.")
]


async def connection_of(live: LiveDep) -> AsyncGenerator[Connection]:
    """A connection that lasts as long as the response."""
    try:
        with live.hub.connect() as connection:
            yield connection
    except RefusedError as error:
        raise RequestRefusedError(ProblemKind.QUEUE_FULL, str(error)) from error


@router.get(
    "/api/v1/sessions/{session_id}/events",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}, "description": "Events until the client leaves."}},
)
async def session_events(
    session_id: str,
    live: LiveDep,
    connection: Annotated[Connection, Depends(connection_of)],
    last_event_id: LastEventId = None,
    last_event_id_query: LastEventIdQuery = None,
) -> StreamingResponse:
    """Follow a session: its stored events from `Last-Event-ID` (or from now) and the text that is being written."""
    start = last_event_id if last_event_id is not None else last_event_id_query
    try:
        await live.hub.subscribe(connection, session_channel(session_id), start)
    except (RefusedError, UnknownChannelError) as error:
        raise RequestRefusedError(ProblemKind.NOT_FOUND, f"There is no session {session_id}.") from error
    return StreamingResponse(_events(connection, live.streams), media_type="text/event-stream", headers=_HEADERS)


async def _events(connection: Connection, streams: Streams) -> AsyncGenerator[str]:
    while not streams.ended:
        messages = None
        with streams.waiting(KEEPALIVE_SECONDS):
            messages = await connection.next_messages()
        yield "".join(_event(message) for message in messages) if messages else ": still here\n\n"


def _event(message: str) -> str:
    fields = orjson.loads(message)
    # Text and answers have no id: a client that comes back continues after the last stored event it has.
    identity = f"id: {fields['id']}\n" if "id" in fields else ""
    return f"{identity}event: {fields['type']}\ndata: {message}\n\n"
