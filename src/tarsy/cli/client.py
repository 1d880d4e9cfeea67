"""A TARSy server as the command line talks to it."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx

from tarsy.cli.mistakes import ServerRefusedError

# Between keep-alives of the event stream a silent server is a dead one.
SILENCE_SECONDS = 60.0
RECONNECT_SECONDS = 1.0
MAX_RECONNECTS = 30


class TarsyClient:
    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def submit(self, data: str, alert_type: str | None, runbook: str | None) -> str:
        body = {"data": data, **({"alert_type": alert_type} if alert_type else {}), **({"runbook": runbook} if runbook else {})}
        answer = await self._ask("POST", "/api/v1/alerts", json=body)
        return str(answer["session_id"])

    async def session(self, session_id: str) -> dict[str, Any]:
        return await self._ask("GET", f"/api/v1/sessions/{session_id}")

    async def ask_question(self, session_id: str, content: str) -> dict[str, Any]:
        return await self._ask("POST", f"/api/v1/sessions/{session_id}/chat/messages", json={"content": content})

    async def events(self, session_id: str, *, after: int = 0) -> AsyncGenerator[dict[str, Any]]:
        """The session's live events from `after` on, over as many connections as it takes."""
        last, failures = after, 0
        while True:
            try:
                async for event in self._stream(session_id, last):
                    last, failures = event.get("id", last), 0
                    yield event
            except httpx.TransportError as error:
                failures += 1
                if failures > MAX_RECONNECTS:
                    raise ServerRefusedError(f"The connection to {self._http.base_url} was lost: {error}") from error
            await anyio.sleep(RECONNECT_SECONDS)

    async def _stream(self, session_id: str, last: int) -> AsyncGenerator[dict[str, Any]]:
        headers = {"Last-Event-ID": str(last)}
        async with self._http.stream("GET", f"/api/v1/sessions/{session_id}/events", headers=headers) as response:
            if response.is_error:
                await response.aread()
                raise ServerRefusedError(_problem(response))
            async for line in response.aiter_lines():
                if line.startswith("data:"):
                    yield json.loads(line.removeprefix("data:"))

    async def _ask(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        try:
            response = await self._http.request(method, path, **options)
        except httpx.TransportError as error:
            raise ServerRefusedError(f"No TARSy answers at {self._http.base_url}: {error}") from error
        if response.is_error:
            raise ServerRefusedError(_problem(response))
        return response.json()


@asynccontextmanager
async def connect(url: str, token: str | None = None) -> AsyncGenerator[TarsyClient]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=httpx.Timeout(30.0, read=SILENCE_SECONDS)) as http:
        yield TarsyClient(http)


def _problem(response: httpx.Response) -> str:
    try:
        body = response.json()
    except ValueError:
        return f"The server answered {response.status_code}: {response.text[:500]}"
    return str(body.get("detail") or body.get("title") or f"The server answered {response.status_code}")
