"""The HTTP client of the command line."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar, cast

import anyio
import httpx

from tarsy.cli.terminal import ServerRefusedError

# Longer than the time between two keep-alives of the event stream.
SILENCE_SECONDS = 60.0
RECONNECT_SECONDS = 1.0
MAX_RECONNECTS = 30


class TarsyClient:
    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def submit(self, data: str, alert_type: str | None, runbook: str | None, budget: Mapping[str, Any] | None = None) -> str:
        optional = {"alert_type": alert_type, "runbook": runbook, "budget": budget}
        body = {"data": data, **{name: value for name, value in optional.items() if value}}
        answer = await self._ask("POST", "/api/v1/alerts", json=body)
        return str(answer["session_id"])

    async def session(self, session_id: str) -> dict[str, Any]:
        return await self._ask("GET", f"/api/v1/sessions/{session_id}")

    async def ask_question(self, session_id: str, content: str) -> dict[str, Any]:
        return await self._ask("POST", f"/api/v1/sessions/{session_id}/chat/messages", json={"content": content})

    async def give_hint(self, session_id: str, text: str) -> dict[str, Any]:
        """Give the agents of a running session a hint."""
        return await self._ask("POST", f"/api/v1/sessions/{session_id}/hints", json={"text": text})

    async def trace(self, session_id: str) -> dict[str, Any]:
        """Return the agents of a session and their calls in order."""
        return await self._ask("GET", f"/api/v1/sessions/{session_id}/trace")

    async def fork(self, session_id: str, wanted: Mapping[str, Any]) -> str:
        """Continue from a step of a session in a new one; return its id."""
        return str((await self._ask("POST", f"/api/v1/sessions/{session_id}/fork", json=dict(wanted)))["session_id"])

    async def reload(self) -> dict[str, Any]:
        """Reload the configuration; return what changed."""
        return await self._ask("POST", "/api/v1/system/reload")

    async def last_event(self, session_id: str) -> int:
        """Return the id of the newest live event of a session."""
        return (await self._ask("GET", f"/api/v1/sessions/{session_id}/timeline", params={"limit": 1}))["last_event_id"]

    async def events(self, session_id: str, *, after: int = 0) -> AsyncGenerator[dict[str, Any]]:
        """Yield the live events of a session after the event `after`; reconnects when the connection is lost."""
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
            if not response.is_success:
                await response.aread()
                raise ServerRefusedError(_problem(response))
            async for line in response.aiter_lines():
                if line.startswith("data:"):
                    yield json.loads(line.removeprefix("data:"))

    async def _ask(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        try:
            response = await self._http.request(method, path, **options)
        except httpx.TransportError as error:
            raise ServerRefusedError(f"Cannot reach TARSy at {self._http.base_url}: {error}") from error
        if not response.is_success:
            raise ServerRefusedError(_problem(response))
        answer = _object(response)
        if answer is None:
            raise ServerRefusedError(f"The server at {self._http.base_url} is not TARSy: {response.text[:200]}")
        return answer


Result = TypeVar("Result")


def call_server(url: str, token: str | None, call: Callable[[TarsyClient], Awaitable[Result]]) -> Result:
    """Connect to the server at `url`, run `call` and return its result.

    Raises:
        ServerRefusedError: that is not an address, or the server rejected a request or did not answer.
    """

    async def run() -> Result:
        async with connect(url, token) as client:
            return await call(client)

    return anyio.run(run)


@asynccontextmanager
async def connect(url: str, token: str | None = None) -> AsyncGenerator[TarsyClient]:
    """Open a client of the server at `url`.

    Raises:
        ServerRefusedError: that is not an address.
    """
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        address = httpx.URL(url)
    except httpx.InvalidURL:
        address = httpx.URL()
    if address.scheme not in {"http", "https"}:
        raise ServerRefusedError(f"{url} is not a web address: write http://… or https://…")
    # A proxy for outgoing requests does not know this machine's own addresses.
    by_proxy = address.host not in {"localhost", "127.0.0.1", "::1"}
    timeout = httpx.Timeout(30.0, read=SILENCE_SECONDS)
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=timeout, trust_env=by_proxy) as http:
        yield TarsyClient(http)


def _problem(response: httpx.Response) -> str:
    problem = _object(response) or {}
    text = problem.get("detail") or problem.get("title")
    return str(text) if text else f"The server answered {response.status_code}: {response.text[:500]}"


def _object(response: httpx.Response) -> dict[str, Any] | None:
    """Return the body as a JSON object, or None if it is not one."""
    try:
        body = response.json()
    except ValueError:
        return None
    return cast("dict[str, Any]", body) if isinstance(body, dict) else None
