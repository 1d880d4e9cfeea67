"""The HTTP client of the command line, and how a command finds the server."""

import json
import re
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast
from urllib.parse import quote
from uuid import UUID

import anyio
import httpx

from tarsy.cli.environment import process_settings
from tarsy.cli.terminal import OtherVersionError, ServerRefusedError

if TYPE_CHECKING:
    from tarsy.settings import Settings

# Longer than the time between two keep-alives of the event stream.
SILENCE_SECONDS = 60.0
RECONNECT_SECONDS = 1.0
# The event without an id by which the server reports that it left out events: what they were about is read by REST.
OVERFLOW = "catchup.overflow"
MAX_RECONNECTS = 30
# Where nothing listens, the answer is immediate: only a server on a very busy machine needs so long.
PROBE_SECONDS = 10.0
LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
# The most that the API returns at once.
MAX_PAGE = 200
MAX_PORT = 65_535
# Where `tarsy serve` listens unless it is told otherwise.
DEFAULT_URL = "http://127.0.0.1:8080"
# Who acts, in the audit log, if a command works on the database without a server.
COMMAND_LINE = "command line"
LATEST = "latest"
# An id, or the first digits of one.
ID_DIGITS = re.compile(r"[0-9a-fA-F-]{1,36}")


class _Answer(dict[str, Any]):
    """An object in an answer of the server at `url`. A field that it lacks is reported as the difference of two versions, not as a KeyError."""

    def __init__(self, fields: Mapping[str, Any], url: str) -> None:
        super().__init__(fields)
        self._url = url

    def __missing__(self, name: str) -> NoReturn:
        raise OtherVersionError(self._url, name)


class _UnavailableError(Exception):
    """The server, or a proxy in front of it, cannot answer now: it may be restarting."""


class TarsyClient:
    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    @property
    def url(self) -> str:
        return str(self._http.base_url).rstrip("/")

    @property
    def _address(self) -> str:
        """The address for messages: without a password."""
        return str(self._http.base_url.copy_with(userinfo=b""))

    @property
    def is_local(self) -> bool:
        return self._http.base_url.host in LOCAL_HOSTS

    async def submit(self, data: str, alert_type: str | None, runbook: str | None, budget: Mapping[str, Any] | None = None) -> str:
        optional = {"alert_type": alert_type, "runbook": runbook, "budget": budget}
        body = {"data": data, **{name: value for name, value in optional.items() if value}}
        answer = await self._ask("POST", "/api/v1/alerts", json=body)
        return str(answer["session_id"])

    async def sessions(self, limit: int, **query: Any) -> list[dict[str, Any]]:
        """Return the first sessions that match the filters."""
        found: list[dict[str, Any]] = []
        while len(found) < limit:
            asked = {**_given(query), "limit": min(limit - len(found), MAX_PAGE), "offset": len(found)}
            page = await self._list("sessions", "GET", "/api/v1/sessions", params=asked)
            found += page
            if len(page) < asked["limit"]:
                break
        return found

    async def incidents(self, limit: int, **query: Any) -> dict[str, Any]:
        """Return the latest incidents that match the filters, and how many there are in all."""
        page = await self._ask("GET", "/api/v1/incidents", params={**_given(query), "limit": min(limit, MAX_PAGE)})
        found = page["incidents"]
        while page["next_cursor"] and len(found) < limit:
            asked = {**_given(query), "limit": min(limit - len(found), MAX_PAGE), "cursor": page["next_cursor"]}
            page = await self._ask("GET", "/api/v1/incidents", params=asked)
            found += page["incidents"]
        page["incidents"] = found
        return page

    async def session_id(self, wanted: str) -> str:
        """Return the id of a session that was given as its id, the first digits of it, or `latest`.

        Raises:
            ServerRefusedError: there is none, or several ids begin with these digits.
        """
        if wanted == LATEST:
            newest = await self.sessions(limit=1)
            if not newest:
                raise ServerRefusedError("There are no sessions yet.")
            return str(newest[0]["id"])
        if whole := _whole_id(wanted):
            return whole
        return _only("session", wanted, await self.sessions(limit=2, id_prefix=wanted) if ID_DIGITS.fullmatch(wanted) else [])

    async def incident_id(self, wanted: str) -> str:
        """Return the id of an incident that was given as its id or the first digits of it.

        Raises:
            ServerRefusedError: as above.
        """
        if whole := _whole_id(wanted):
            return whole
        found: list[dict[str, Any]] = []
        if ID_DIGITS.fullmatch(wanted):
            found = (await self.incidents(limit=2, id_prefix=wanted))["incidents"]
        return _only("incident", wanted, found)

    async def notification_id(self, wanted: str) -> str:
        """Return the id of a notification that was given as its id or the first digits of it; only the latest are searched.

        Raises:
            ServerRefusedError: as above.
        """
        if whole := _whole_id(wanted):
            return whole
        latest = (await self.notifications(limit=MAX_PAGE))["notifications"]
        return _only("notification", wanted, _beginning_with(wanted, latest), command="tarsy notify list")

    async def approval_id(self, wanted: str) -> str:
        """Return the id of an approval that was given as its id or the first digits of it; only the latest are searched.

        Raises:
            ServerRefusedError: as above.
        """
        if whole := _whole_id(wanted):
            return whole
        return _only("approval", wanted, _beginning_with(wanted, await self.approvals("")))

    async def session(self, session_id: str) -> dict[str, Any]:
        return await self._ask("GET", f"/api/v1/sessions/{session_id}")

    async def incident(self, incident_id: str) -> dict[str, Any]:
        return await self._ask("GET", f"/api/v1/incidents/{incident_id}")

    async def timeline(self, session_id: str, *, after: int = 0) -> list[dict[str, Any]]:
        """Return the entries of a session's timeline that follow the live event `after`."""
        return await self._list("events", "GET", f"/api/v1/sessions/{session_id}/timeline", params={"after": after})

    async def cancel(self, session_id: str) -> str:
        """Cancel a session; return what became of it: `cancelled`, `cancelling` or `already_ended`."""
        return str((await self._ask("POST", f"/api/v1/sessions/{session_id}/cancel"))["result"])

    async def erase(self, session_id: str) -> None:
        """Erase a finished session permanently."""
        await self._request("DELETE", f"/api/v1/sessions/{session_id}", params={"hard": True, "confirm": session_id})

    async def report(self, session_id: str, form: str) -> str:
        """Return the report of a session as `html` or `md`."""
        return (await self._request("GET", f"/api/v1/sessions/{session_id}/report", params={"format": form})).text

    async def recording(self, session_id: str) -> str:
        return (await self._request("GET", f"/api/v1/sessions/{session_id}/recording")).text

    async def notifications(self, limit: int, **query: Any) -> dict[str, Any]:
        """Return the latest notifications that match the filters, and all targets."""
        return await self._ask("GET", "/api/v1/notifications", params={**_given(query), "limit": min(limit, MAX_PAGE)})

    async def send_notification_again(self, notification_id: str) -> dict[str, Any]:
        return await self._ask("POST", f"/api/v1/notifications/{notification_id}/send")

    async def test_notification_target(self, target: str) -> dict[str, Any]:
        return await self._ask("POST", "/api/v1/notifications/test", json={"target": target})

    async def usage(self, period: str) -> dict[str, Any]:
        return await self._ask("GET", "/api/v1/usage", params={"period": period})

    async def usage_table(self, period: str) -> str:
        """Return all sums of the usage as CSV."""
        return (await self._request("GET", "/api/v1/usage/table.csv", params={"period": period})).text

    async def pause(self, chain: str | None, reason: str, *, now: bool) -> list[dict[str, Any]]:
        """Pause a chain, or everything; return what is paused then."""
        return await self._list("pauses", "POST", "/api/v1/system/pause", json={"chain_id": chain, "reason": reason, "now": now})

    async def resume(self, chain: str | None) -> list[dict[str, Any]]:
        """End a pause; return what is still paused."""
        return await self._list("pauses", "DELETE", "/api/v1/system/pause", params=_given({"chain_id": chain}))

    async def ask_question(self, session_id: str, content: str) -> dict[str, Any]:
        return await self._ask("POST", f"/api/v1/sessions/{session_id}/chat/messages", json={"content": content})

    async def question(self, session_id: str, message_id: str) -> dict[str, Any]:
        asked = await self._list("messages", "GET", f"/api/v1/sessions/{session_id}/chat/messages")
        return next(one for one in asked if one["id"] == message_id)

    async def give_hint(self, session_id: str, text: str) -> dict[str, Any]:
        """Give the agents of a running session a hint."""
        return await self._ask("POST", f"/api/v1/sessions/{session_id}/hints", json={"text": text})

    async def session_review(self, session_id: str) -> dict[str, Any]:
        """Return the review of a session and its triage."""
        return await self._ask("GET", f"/api/v1/sessions/{session_id}/review")

    async def review(self, session_id: str, given: Mapping[str, Any]) -> None:
        await self._ask("POST", f"/api/v1/sessions/{session_id}/review", json=dict(given))

    async def triage(self, collection: str, subject_id: str, wanted: Mapping[str, Any]) -> None:
        """Acknowledge or assign one of the `sessions` or `incidents`."""
        await self._ask("PATCH", f"/api/v1/{collection}/{subject_id}/triage", json=dict(wanted))

    async def comment(self, collection: str, subject_id: str, text: str) -> None:
        """Comment on one of the `sessions` or `incidents`."""
        await self._ask("POST", f"/api/v1/{collection}/{subject_id}/comments", json={"text": text})

    async def audit(self, limit: int, **query: Any) -> list[dict[str, Any]]:
        """Return the newest entries of the audit log that match the filters."""
        return await self._list("entries", "GET", "/api/v1/audit", params={**_given(query), "limit": limit})

    async def audit_lines(self, **query: Any) -> str:
        """Return all entries of the audit log that match the filters as JSON lines."""
        return (await self._request("GET", "/api/v1/audit-export", params=_given(query))).text

    async def trace(self, session_id: str) -> dict[str, Any]:
        """Return the agents of a session and their calls in order."""
        return await self._ask("GET", f"/api/v1/sessions/{session_id}/trace")

    async def fork(self, session_id: str, wanted: Mapping[str, Any]) -> str:
        """Continue from a step of a session in a new one; return its id."""
        return str((await self._ask("POST", f"/api/v1/sessions/{session_id}/fork", json=dict(wanted)))["session_id"])

    async def approvals(self, state: str) -> list[dict[str, Any]]:
        """Return the newest approvals, in any state if `state` is empty."""
        return await self._list("approvals", "GET", "/api/v1/approvals", params={"state": state} if state else {})

    async def decide_approval(self, approval_id: str, decision: str, reason: str) -> dict[str, Any]:
        """Carry out the decision `approve` or `reject`; return the approval."""
        return await self._ask("POST", f"/api/v1/approvals/{approval_id}/{decision}", json={"reason": reason})

    async def create_token(self, name: str, role: str, expires_at: datetime | None) -> dict[str, Any]:
        """Create an API token; the result contains its secret."""
        body = {"name": name, "role": role, "expires_at": expires_at.isoformat() if expires_at else None}
        return await self._ask("POST", "/api/v1/tokens", json=body)

    async def tokens(self) -> list[dict[str, Any]]:
        return await self._list("tokens", "GET", "/api/v1/tokens")

    async def revoke_token(self, name: str) -> None:
        # Such a name would be another path of the API.
        if not name or "/" in name:
            raise ServerRefusedError(f'There is no token "{name}". To see their names: tarsy tokens list')
        await self._request("DELETE", f"/api/v1/tokens/{quote(name, safe='')}")

    async def mcp_servers(self) -> list[dict[str, Any]]:
        return await self._list("servers", "GET", "/api/v1/system/mcp-servers")

    async def accept_tools(self, server: str, fingerprint: str) -> None:
        await self._ask("POST", f"/api/v1/system/mcp-servers/{quote(server, safe='')}/accept", json={"fingerprint": fingerprint})

    async def reload(self) -> dict[str, Any]:
        """Reload the configuration; return what changed."""
        return await self._ask("POST", "/api/v1/system/reload")

    async def last_event(self, session_id: str) -> int:
        """Return the id of the newest live event of a session."""
        return (await self._ask("GET", f"/api/v1/sessions/{session_id}/timeline", params={"limit": 1}))["last_event_id"]

    async def events(self, session_id: str, *, after: int = 0) -> AsyncGenerator[dict[str, Any]]:
        """Yield the live events of a session after the event `after`; reconnects when the connection is lost.

        After an OVERFLOW, the events follow that are newer than what the API returns by then.
        """
        last, failures = after, 0
        while True:
            try:
                async with aclosing(self._stream(session_id, last)) as stream:
                    async for event in stream:
                        newest = event["last_event_id"] if event.get("type") == OVERFLOW else event.get("id", last)
                        last, failures = newest, 0
                        yield event
            except (httpx.TransportError, _UnavailableError) as error:
                failures += 1
                if failures > MAX_RECONNECTS:
                    raise ServerRefusedError(f"The connection to {self._address} was lost: {error}") from error
            await anyio.sleep(RECONNECT_SECONDS)

    async def _stream(self, session_id: str, last: int) -> AsyncGenerator[dict[str, Any]]:
        headers = {"Last-Event-ID": str(last)}
        async with self._http.stream("GET", f"/api/v1/sessions/{session_id}/events", headers=headers) as response:
            if not response.is_success:
                await response.aread()
                raise (_UnavailableError if response.is_server_error else ServerRefusedError)(_problem(response))
            if _is_page(response):
                await response.aread()
                raise self._not_tarsy(response)
            async for line in response.aiter_lines():
                if line.startswith("data:"):
                    yield _parsed(line.removeprefix("data:"), response)

    async def _request(self, method: str, path: str, **options: Any) -> httpx.Response:
        try:
            response = await self._http.request(method, path, **options)
        except httpx.TransportError as error:
            raise ServerRefusedError(f"Cannot reach TARSy at {self._address}: {error}") from error
        if not response.is_success:
            raise ServerRefusedError(_problem(response))
        if _is_page(response):
            raise self._not_tarsy(response)
        return response

    async def _ask(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        response = await self._request(method, path, **options)
        answer = _object(response)
        if answer is None:
            raise self._not_tarsy(response)
        return answer

    async def _list(self, name: str, method: str, path: str, **options: Any) -> list[dict[str, Any]]:
        """Return the field `name` of an answer, a list of objects."""
        found = (await self._ask(method, path, **options))[name]
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in cast("list[object]", found)):
            raise OtherVersionError(f"{self._address}{path}", name)
        return cast("list[dict[str, Any]]", found)

    def _not_tarsy(self, response: httpx.Response) -> ServerRefusedError:
        return ServerRefusedError(
            f"The server at {self._address} is not TARSy, or a proxy in front of it wants a login; check --url (or TARSY_URL). "
            f"It answered: {_beginning(response)}"
        )


Result = TypeVar("Result")


def call_server(url: str | None, token: str | None, call: Callable[[TarsyClient], Awaitable[Result]]) -> Result:
    """Run `call` with a client of the server at `url`, of the running server of this data directory, or of one on the default port.

    Raises:
        ServerRefusedError: no server was found, or it rejected a request or did not answer.
    """

    async def run() -> Result:
        async with connect(url or await _running_url(process_settings()), token) as client:
            return await call(client)

    return anyio.run(run)


def call_server_or_database(
    call: Callable[[TarsyClient], Awaitable[Result]],
    *,
    url: str | None,
    token: str | None,
    database_url: str | None,
    data_dir: Path | None,
    config: Path | None = None,
) -> Result:
    """Run `call` as `call_server` does; while no server runs, with a client of the API on the database, in this process.

    Raises:
        ServerRefusedError: there is neither a server nor a database, or a request was rejected.
    """

    async def run() -> Result:
        if url:
            async with connect(url, token) as client:
                return await call(client)
        settings = process_settings(config, database_url=database_url, data_dir=data_dir)
        running = await _running_server(settings, accepts_login=token is not None)
        if running is None and (settings.database_url or (settings.data_directory / "postgres").exists()):
            async with _on_database(settings) as client:
                return await call(client)
        async with connect(running or await _running_url(settings), token) as client:
            return await call(client)

    return anyio.run(run)


@asynccontextmanager
async def connect(url: str, token: str | None = None) -> AsyncGenerator[TarsyClient]:
    """Open a client of the server at `url`.

    Raises:
        ServerRefusedError: that is not an address, the token cannot be one, or both say who asks.
    """
    # Checked here, because the HTTP library quotes the token in its error.
    if token and not (token.isascii() and token.isprintable() and token == token.strip()):
        raise ServerRefusedError("The API token (--token or TARSY_TOKEN) has a line break, a blank at an end or a letter beyond ASCII.")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        address = httpx.URL(url)
    except httpx.InvalidURL:
        address = httpx.URL()
    if address.scheme not in {"http", "https"} or not address.host or (address.port or 0) > MAX_PORT:
        raise ServerRefusedError(f"{url} is not a web address: write http://… or https://…")
    if token and address.userinfo:
        # Both would be the Authorization header, and the HTTP library would send the user.
        raise ServerRefusedError(
            "A request can have an API token (--token or TARSY_TOKEN) or the user in --url (or TARSY_URL), not both: leave one of them out."
        )
    # A proxy for outgoing requests does not know this machine's own addresses.
    by_proxy = address.host not in LOCAL_HOSTS
    timeout = httpx.Timeout(30.0, read=SILENCE_SECONDS)
    # Reading the trusted certificates takes longer than most commands.
    verify = address.scheme == "https"
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=timeout, trust_env=by_proxy, verify=verify) as http:
        yield TarsyClient(http)


@asynccontextmanager
async def _on_database(settings: "Settings") -> AsyncGenerator[TarsyClient]:
    """Open a client of the API in this process."""
    from tarsy.api.auth import AuthSettings
    from tarsy.api.tokens import ApiTokens
    from tarsy.domain.access_role import AccessRole
    from tarsy.wiring.application import api_on_database
    from tarsy.wiring.infrastructure import Overrides

    token = secrets.token_urlsafe()
    auth = AuthSettings(tokens=ApiTokens({COMMAND_LINE: token}, {COMMAND_LINE: AccessRole.ADMIN}), login_required=True)
    async with api_on_database(settings, Overrides(auth=auth)) as api:
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(transport=httpx.ASGITransport(api), base_url="http://localhost", headers=headers) as http:
            yield TarsyClient(http)


async def is_tarsy(url: str) -> bool:
    """Return whether a TARSy answers at this address."""
    try:
        async with httpx.AsyncClient(timeout=PROBE_SECONDS, trust_env=False, verify=url.startswith("https:")) as http:
            answer = await http.get(f"{url.rstrip('/')}/health")
            return "checks" in answer.json()
    except (httpx.HTTPError, httpx.InvalidURL, TypeError, ValueError):
        return False


async def _running_server(settings: "Settings", *, accepts_login: bool) -> str | None:
    """Return the address of a running server of this data directory, of one that needs no login unless `accepts_login`."""
    from tarsy.kit.server_file import find_servers

    for found in find_servers(settings.data_directory, settings.database_url):
        if (accepts_login or not found.login_required) and await is_tarsy(found.url):
            return found.url
    return None


async def _running_url(settings: "Settings") -> str:
    """Return the address of the running server of this data directory or on the default port.

    Raises:
        ServerRefusedError: none runs.
    """
    found = await _running_server(settings, accepts_login=True)
    if found is None and not await is_tarsy(DEFAULT_URL):
        raise ServerRefusedError(
            f"No TARSy server is running for the data directory {settings.data_directory}.\n"
            "Start one with `tarsy serve`, or name a running one with --url (or TARSY_URL)."
        )
    return found or DEFAULT_URL


def _whole_id(text: str) -> str | None:
    try:
        return str(UUID(text))
    except ValueError:
        return None


def _beginning_with(digits: str, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for one in found if one["id"].startswith(digits.lower())] if digits else []


def _only(resource: str, wanted: str, found: list[dict[str, Any]], *, command: str = "") -> str:
    if len(found) == 1:
        return str(found[0]["id"])
    if found:
        raise ServerRefusedError(f"Several {resource}s have ids that begin with {wanted}: give more digits.")
    given = wanted or '""'
    raise ServerRefusedError(f"There is no {resource} {given}. To see their ids: {command or f'tarsy {resource}s list'}")


def _given(query: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in query.items() if value is not None}


def _problem(response: httpx.Response) -> str:
    problem: Mapping[str, Any] = _object(response) or {}
    text = problem.get("detail") or problem.get("title")
    if response.status_code == HTTPStatus.UNAUTHORIZED:
        return "The server requires a valid API token: pass --token or set TARSY_TOKEN."
    return str(text) if text else f"The server answered {response.status_code}: {_beginning(response)}"


def _beginning(response: httpx.Response) -> str:
    """Return the beginning of a body that is not ours, on one line."""
    return " ".join(response.text[:500].split())[:200]


def _object(response: httpx.Response) -> dict[str, Any] | None:
    """Return the body as a JSON object, or None if it is not one."""
    try:
        body = _parsed(response.content, response)
    except ValueError:
        return None
    return body if isinstance(body, _Answer) else None


def _parsed(text: str | bytes, response: httpx.Response) -> Any:
    url = str(response.url.copy_with(userinfo=b"", query=None))
    return json.loads(text, object_hook=lambda fields: _Answer(fields, url))


def _is_page(response: httpx.Response) -> bool:
    """Return whether this is a page for people, such as the login of a proxy. The only page that commands ask for is a report, a file to save."""
    return response.headers.get("Content-Type", "").startswith("text/html") and "Content-Disposition" not in response.headers
