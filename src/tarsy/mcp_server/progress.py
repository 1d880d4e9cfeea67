"""Waiting for the end of an investigation or an answer, with a report of its progress."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
import orjson

from tarsy.api.services import LiveServices
from tarsy.domain.approval import ApprovalState
from tarsy.domain.live_events import LiveEventType, session_channel
from tarsy.domain.timeline import TimelineEventType
from tarsy.events.hub import RefusedError

Event = Mapping[str, Any]
# Below the idle limit of common proxies and clients (60 s).
REPORT_SECONDS = 15.0


def progress_text(event: Event) -> str:
    """Return what a live event says about the progress of a session; empty if that is nothing."""
    text = ""
    match event:
        case {"type": LiveEventType.STAGE_STARTED, "stage_name": stage}:
            text = f"Stage {stage}"
        case {
            "type": LiveEventType.TIMELINE_CREATED,
            "event": {"event_type": TimelineEventType.TOOL_RESULT, "metadata": {"server_name": server, "tool_name": tool}},
        }:
            text = f"Calls {server}.{tool}"
        case {"type": LiveEventType.TIMELINE_CREATED, "event": {"event_type": TimelineEventType.LLM_THINKING}}:
            text = "Thinks"
        case {"type": LiveEventType.APPROVAL_CHANGED, "state": ApprovalState.PENDING, "server": server, "tool": tool}:
            text = f"Waits for a person's approval of {server}.{tool}"
        case {"type": LiveEventType.SESSION_STATUS, "status": status}:
            text = event.get("waiting_reason") or f"Is {status.replace('_', ' ')}"
        case {"type": LiveEventType.SESSION_CONCLUDED}:
            text = "Has a verdict"
        case _:
            pass
    return text


async def wait_for_end(
    live: LiveServices,
    session_id: str,
    seconds: float,
    *,
    has_ended: Callable[[], Awaitable[bool]],
    is_end: Callable[[Event], bool],
    report: Callable[[float, float | None, str], Awaitable[None]],
) -> None:
    """Wait until something about a session has ended, for at most `seconds` and until the server stops.

    `report` gets the seconds so far, None and what happens: at first, with every news, and often enough to keep the connection open.
    """
    try:
        with live.hub.connect() as connection:
            await live.hub.subscribe(connection, session_channel(session_id), None)
            # From here on no event is missed.
            started, text = anyio.current_time(), "Follows the session"
            await report(0.0, None, text)
            ended = await has_ended()
            while not ended and not live.streams.ended and (left := started + seconds - anyio.current_time()) > 0:
                events: list[Event] = []
                with live.streams.waiting(min(left, REPORT_SECONDS)):
                    events = [orjson.loads(message) for message in await connection.next_messages()]
                # After a gap, the end may be among the events that were left out.
                has_gap = any(event["type"] == "catchup.overflow" for event in events)
                ended = any(map(is_end, events)) or (has_gap and await has_ended())
                news = [new for new in map(progress_text, events) if new]
                if news or not events:
                    text = news[-1] if news else text
                    await report(anyio.current_time() - started, None, text)
    except RefusedError:
        # Too many live connections, or no such session: the caller reads the present state next.
        return
