"""The ASGI application behind `/mcp`."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import anyio
from anyio import to_thread
from fastapi import FastAPI
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tarsy.api.middleware import MCP


class McpEndpoint:
    """Serves MCP over streamable HTTP while `run` runs.

    Importing the SDK takes a second, and few installations need it: that waits for the first request.
    """

    def __init__(self) -> None:
        self._requested = anyio.Event()
        self._ready = anyio.Event()
        self._serve: ASGIApp = self._serve_when_ready

    def mount(self, api: FastAPI) -> None:
        """Serve the path `/mcp` of `api`, behind its middleware."""
        # Clients would use GET to wait for messages that belong to no request, and there are none.
        api.router.routes.append(Route(MCP, self, methods=["POST"]))

    async def run(self) -> None:
        await self._requested.wait()
        session_manager: Callable[[], Any] = (await to_thread.run_sync(import_module, "tarsy.mcp_server.server")).session_manager
        manager = session_manager()
        async with manager.run():
            self._serve = manager.handle_request
            self._ready.set()
            await anyio.sleep_forever()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._serve(scope, receive, send)

    async def _serve_when_ready(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._requested.set()
        await self._ready.wait()
        await self._serve(scope, receive, send)
