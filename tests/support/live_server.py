"""A real HTTP server around one live node, on a port of the system's choice."""

import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import anyio
from fastapi import FastAPI
from starlette.middleware import Middleware
from uvicorn.config import Config
from uvicorn.server import Server

from support.live_node import LiveNode
from tarsy.api import live, problems
from tarsy.api.auth import AuthSettings
from tarsy.api.middleware import AccessControl
from tarsy.api.routes.system import health_router
from tarsy.api.services import DATABASE, Health, HealthServices, LiveServices
from tarsy.db.api_tokens import TokenRepository
from tarsy.db.connection import ping
from tarsy.db.sign_ins import SignInRepository


@asynccontextmanager
async def live_server(node: LiveNode, *, auth: AuthSettings | None = None, **options: Any) -> AsyncGenerator[str]:
    """Serve until the block ends; yields host and port."""
    app = FastAPI(middleware=[Middleware(AccessControl)])
    problems.install(app)
    app.include_router(live.router)
    app.include_router(health_router)

    async def database() -> Health:
        await ping(node.engine)
        return Health(healthy=True)

    app.state.services = SimpleNamespace(
        live=LiveServices(hub=node.live.hub),
        auth=auth or AuthSettings(),
        tokens=TokenRepository(node.engine),
        sign_ins=SignInRepository(node.engine),
        health=HealthServices(probes={DATABASE: database}),
        system=SimpleNamespace(version="test"),
    )
    server = Server(Config(app, log_level="error", lifespan="off", **options))
    # Listening before the server runs: a client that is early waits in the queue.
    with socket.create_server(("127.0.0.1", 0)) as listening:
        host, port = listening.getsockname()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [listening])
            yield f"{host}:{port}"
            server.should_exit = server.force_exit = True
