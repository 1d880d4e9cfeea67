"""The live events of one session as server-sent events, for curl and scripts; the same delivery as over WebSocket."""

from collections.abc import AsyncGenerator
from typing import Annotated

import orjson
from fastapi import Depends, Header, Query, Request
from fastapi.responses import StreamingResponse

from tarsy.api.problems import ProblemKind, RequestRefusedError
from tarsy.api.router import plain_router
from tarsy.api.services import ServicesOf
from tarsy.api.streams import Streams
from tarsy.domain.live_events import UnknownChannelError, session_channel
from tarsy.events.connection import Connection
from tarsy.events.hub import ConnectionManager, RefusedError

router = plain_router(tag="live")

# Below the idle limit of common proxies (60 s), and how long a vanished client goes unnoticed.
KEEPALIVE_SECONDS = 15.0
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}

LastEventId = Annotated[int | None, Header(ge=0, lt=2**63, description="Continue after this event; 0 returns all stored events.")]
LastEventIdQuery = Annotated[
    int | None, Query(alias="last_event_id", ge=0, lt=2**63, description="The same, for clients that cannot set headers.")
]


async def hub_of(request: Request) -> ConnectionManager:
    return request.app.state.services.hub


async def connection_of(hub: Annotated[ConnectionManager, Depends(hub_of)]) -> AsyncGenerator[Connection]:
    """A connection that lasts as long as the response."""
    try:
        with hub.connect() as connection:
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
    services: ServicesOf,
    hub: Annotated[ConnectionManager, Depends(hub_of)],
    connection: Annotated[Connection, Depends(connection_of)],
    last_event_id: LastEventId = None,
    last_event_id_query: LastEventIdQuery = None,
) -> StreamingResponse:
    """Follow a session: its stored events from `Last-Event-ID` (or from now) and the text that is being written."""
    start = last_event_id if last_event_id is not None else last_event_id_query
    try:
        await hub.subscribe(connection, session_channel(session_id), start)
    except (RefusedError, UnknownChannelError) as error:
        raise RequestRefusedError(ProblemKind.NOT_FOUND, f"There is no session {session_id}.") from error
    return StreamingResponse(_events(connection, services.streams), media_type="text/event-stream", headers=_HEADERS)


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
