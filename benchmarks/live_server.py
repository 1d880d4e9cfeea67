"""A server process of the live benchmark: real delivery and real sockets, its sessions made up. Commands come by standard input."""

import logging
import socket
import sys
import time
from types import SimpleNamespace
from uuid import uuid4

import anyio
from fastapi import FastAPI
from uvicorn.config import Config
from uvicorn.server import Server

from tarsy.api import live as live_routes
from tarsy.api.auth import AuthSettings
from tarsy.api.http_server import prepare_listener
from tarsy.api.services import LiveServices
from tarsy.db.api_tokens import TokenRepository
from tarsy.db.connection import create_engine
from tarsy.db.notifications import NotificationListener, NotificationSender
from tarsy.db.outbox import EVENTS_NOTIFICATION, Outbox, Publisher
from tarsy.db.sign_ins import SignInRepository
from tarsy.domain.live_events import LiveEvent, LiveEventType, StreamDelta, session_channel
from tarsy.events.live_updates import LiveUpdates
from tarsy.kit.logs import configure_logs


async def any_session(_session_id: str) -> bool:
    return True


async def main(url: str, pieces_per_second: float) -> None:
    # Standard output belongs to the benchmark.
    configure_logs(level=logging.WARNING)
    engine = create_engine(url)
    listener, sender = NotificationListener(url), NotificationSender(url)
    live = LiveUpdates(
        store=Outbox(engine), source=listener, broadcast=sender, session_exists=any_session, events_notification=EVENTS_NOTIFICATION
    )
    app = FastAPI()
    app.include_router(live_routes.router)
    app.state.services = SimpleNamespace(
        live=LiveServices(hub=live.hub), auth=AuthSettings(), tokens=TokenRepository(engine), sign_ins=SignInRepository(engine)
    )
    server = Server(Config(app, log_level="error", lifespan="off", ws_per_message_deflate=False))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        prepare_listener(listening)
        async with anyio.create_task_group() as tasks:
            await tasks.start(listener.run)
            await tasks.start(sender.run)
            await tasks.start(live.run)
            tasks.start_soon(server.serve, [listening])
            print(listening.getsockname()[1], flush=True)
            async for line in anyio.wrap_file(sys.stdin):
                seconds, per_session, *sessions = line.split()
                streams = [(session, str(uuid4())) for session in sessions for _ in range(int(per_session))]
                async with Publisher(engine, live.deliver).transaction() as transaction:
                    for session, event in streams:
                        payload = {"session_id": session, "event": {"id": event, "status": "streaming"}}
                        created = LiveEvent(session_channel(session), LiveEventType.TIMELINE_CREATED, payload)
                        await transaction.publish([created], session_id=None)
                await generate(live, streams, float(seconds), pieces_per_second)
                print("done", flush=True)
            tasks.cancel_scope.cancel()


async def generate(live: LiveUpdates, streams: list[tuple[str, str]], seconds: float, pieces_per_second: float) -> None:
    """Every stream sends the time at its rate, the streams evenly spread: models do not answer in step."""
    begin, answered, interval = time.monotonic(), 0, 1 / (pieces_per_second * len(streams))
    lengths = dict.fromkeys(streams, 0)
    while (elapsed := time.monotonic() - begin) < seconds:
        while answered * interval < elapsed:
            session, event = streams[answered % len(streams)]
            word = f"{time.time():.6f} "
            live.publish(StreamDelta(session, event, lengths[session, event], word))
            lengths[session, event] += len(word)
            answered += 1
        await anyio.sleep(max(0.001, answered * interval - elapsed))


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], float(sys.argv[2]))
