"""A live connection to one tool server.

A connection is run by one task and used by others. No error of it ends the task group it runs in.
"""

import json
import math
import re
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any, Self, TypeVar

import anyio
import structlog
from anyio import to_thread
from pydantic import ValidationError

from tarsy.domain.tool import OnOutput
from tarsy.kit.text import clip
from tarsy.tools.endpoint import Endpoint, HttpEndpoint, StdioEndpoint
from tarsy.tools.failures import (
    AuthRejected,
    BadAnswer,
    CallRejected,
    ConnectionLost,
    HttpFailure,
    ToolServerError,
    Unreachable,
    current_http_failures,
    explain,
)
from tarsy.tools.http import send_cleanup
from tarsy.tools.masking import Masker, StreamMasker
from tarsy.tools.messages import CallResult, ListedTool
from tarsy.tools.session import CONNECTION_CLOSED, UNSUPPORTED_PROTOCOL_VERSION, Session, SessionCallbacks, SessionError, StdioSession
from tarsy.tools.stdio import child_environment, stdio_link

log = structlog.get_logger(__name__)

INITIALISE_SECONDS = 30.0
CLEANUP_SECONDS = 5.0
# To end a session with a server that may no longer answer.
END_SECONDS = 10.0
# A server with more pages of tools than this is in an endless loop.
MAX_TOOL_PAGES = 100
# More than a model can be offered.
MAX_TOOLS = 1_000
# The last lines that a server wrote outside the protocol are kept for the error message.
KEPT_LINES = 5
# The first line with an error is kept as well, because some servers print their usage after it.
_ERRORS = r"error|fatal|panic|exception|fail|cannot|could not|unable|invalid|denied|refused|no such|not found"
ERROR_LINE = re.compile(rf"(?!.*\bwarn).*({_ERRORS})", re.IGNORECASE)
LINE_EXCERPT = 300
# Of the details of an error, which may be a stack trace.
DATA_EXCERPT = 2_000
MASKED_EXCERPT = 16 * 1024

T = TypeVar("T")


async def load_mcp_sdk() -> None:
    """Import the MCP SDK, which servers on stdio seldom need. It takes half a second: in a thread, other work goes on meanwhile."""
    await to_thread.run_sync(import_module, "tarsy.tools.sdk_session")


class MaskedLines:
    """Masks the lines that a server writes outside the protocol; a secret may span several of them."""

    def __init__(self, masker: Masker, on_text: OnOutput) -> None:
        self._masked: StreamMasker = masker.stream(by_words=False)
        self._on_text = on_text

    def feed(self, line: str) -> None:
        # A line can be as long as a message: masking all of it would hold up the other sessions.
        self._on_text(self._masked.feed(f"{line[:MASKED_EXCERPT]}\n"))

    def flush(self) -> None:
        """Pass on the lines that were held back for what might have followed them."""
        self._on_text(self._masked.finish())


class ToolServerConnection:
    """One session with one server, from connecting to its end."""

    def __init__(self, server: str, endpoint: Endpoint, *, our_env: Mapping[str, str], masker: Masker, shared: bool = False) -> None:
        self.server = server
        self.ready = anyio.Event()
        self.ended = anyio.Event()
        # Why there is no session.
        self.failure: ToolServerError | None = None
        # How often the server has reported that its tools changed.
        self._tool_changes = 0
        self._endpoint = endpoint
        self._our_env = our_env
        self._masker = masker
        self._stderr = MaskedLines(masker, lambda text: self._record(text, log.info, "tool_server.stderr"))
        self._stray_stdout = MaskedLines(masker, lambda text: self._record(text, log.warning, "tool_server.stray_stdout"))
        self._shared = shared
        self._session: Session | None = None
        self._stopping = anyio.Event()
        # Whether the owner stopped it, rather than a failure.
        self._stopped_by_owner = False
        self._is_retired = False
        self._requests = 0
        self._scope = anyio.CancelScope(shield=True)
        self._first_error: str | None = None
        self._last_lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._listeners: list[OnOutput] = []

    @property
    def is_alive(self) -> bool:
        return self._session is not None and not self._stopping.is_set()

    @property
    def is_stateless(self) -> bool:
        """Whether the server uses a revision of the protocol in which no request depends on an earlier one, nor on the connection."""
        return self._session is not None and self._session.is_stateless

    @property
    def tools_version(self) -> tuple[Self, int]:
        """A value that changes when the tools may have changed: with a new connection, and when the server reports it."""
        return self, self._tool_changes

    async def run(self) -> None:
        """Connect, hold the session until it is stopped or lost, and clean up. Shielded: only `stop` and `abort` end it."""
        http_failures: list[HttpFailure] = []
        current_http_failures.set(http_failures)
        self._scope.deadline = anyio.current_time() + INITIALISE_SECONDS
        try:
            with self._scope:
                async with self._new_session() as session:
                    self._scope.deadline = math.inf
                    self._session = session
                    self._first_error = None
                    self.ready.set()
                    if self._is_retired:
                        # While it was connecting: those that still wait for it make another one.
                        self.stop()
                    await self._stopping.wait()
                    # The task group of a lost connection waits for it, so its end is limited.
                    self._scope.deadline = anyio.current_time() + END_SECONDS
            if not self.ready.is_set():
                self.failure = self._unreachable(f"did not answer within {INITIALISE_SECONDS:.0f} s", http_failures)
        except Exception as error:  # noqa: BLE001 - a boundary: an error of the SDK concerns this server alone
            self.failure = self._unreachable(explain(error), http_failures)
        finally:
            self._session = None
            self._flush_output()
            self.ready.set()
            self.ended.set()
        if self._stopped_by_owner and isinstance(self._endpoint, HttpEndpoint) and self._endpoint.cleanup_url is not None:
            # Tells the server that the execution is over.
            http_failures.clear()
            with anyio.move_on_after(CLEANUP_SECONDS, shield=True) as timeout:
                await send_cleanup(self._endpoint, self._endpoint.cleanup_url, http_failures)
            if http_failures or timeout.cancelled_caught:
                problem = self._masker.mask(str(http_failures[-1]) if http_failures else f"no answer within {CLEANUP_SECONDS:.0f} s")
                log.warning("tool_server.cleanup_failed", server=self.server, problem=problem)

    def stop(self) -> None:
        """Ask for an orderly end."""
        self._stopped_by_owner = True
        self._end_session()

    def retire(self) -> None:
        """Ask for an orderly end as soon as no request is running."""
        self._is_retired = True
        if self.ready.is_set() and not self._requests:
            self.stop()

    def abort(self) -> None:
        """End now, orderly or not."""
        self._scope.cancel()

    async def list_tools(self) -> tuple[ListedTool, ...]:
        """Return all tools of the server.

        Raises:
            ToolServerError: the server did not list them.
        """
        tools: list[ListedTool] = []
        cursor: str | None = None
        for _ in range(MAX_TOOL_PAGES):
            page = await self._request(lambda session, cursor=cursor: session.list_page(cursor))
            tools.extend(page.tools)
            cursor = page.next_cursor
            if not cursor or len(tools) >= MAX_TOOLS:
                return tuple(tools[:MAX_TOOLS])
        raise BadAnswer(self.server, f"Tool server '{self.server}' lists its tools on more than {MAX_TOOL_PAGES} pages.")

    async def call(self, tool: str, arguments: Mapping[str, Any], on_output: OnOutput) -> CallResult:
        """Run a tool and pass its progress and log messages to `on_output`.

        Raises:
            ToolServerError: there is no result.
        """

        def on_progress(progress: float, total: float | None, message: str | None) -> None:
            share = f"{progress:g}/{total:g}" if total else f"{progress:g}"
            on_output(f"[{share}] {message}\n" if message else f"[{share}]\n")

        self._listeners.append(on_output)
        try:
            return await self._request(lambda session: session.call(tool, arguments, on_progress))
        finally:
            self._listeners.remove(on_output)

    async def ping(self) -> None:
        """Check that the server answers.

        Raises:
            ToolServerError: it does not.
        """
        await self._request(lambda session: session.ping())

    async def _request(self, request: Callable[[Session], Awaitable[T]]) -> T:
        session = self._session
        if session is None or self._stopping.is_set():
            raise self._lost(not_received=True)
        http_failures: list[HttpFailure] = []
        token = current_http_failures.set(http_failures)
        self._requests += 1
        try:
            return await request(session)
        except SessionError as error:
            failure = http_failures[-1] if http_failures else None
            if failure is not None and failure.is_auth:
                raise AuthRejected(self.server, failure) from error
            not_received = failure is not None and (failure.unsent or failure.session_expired)
            lost = error.connection_closed and not (failure and failure.too_large)
            if not_received or lost or (error.code == CONNECTION_CLOSED and self._stopping.is_set()):
                self._stopping.set()
                raise self._lost(not_received=not_received, detail=str(failure) if failure else str(error)) from error
            if failure is not None:
                raise CallRejected(self.server, f"Tool server '{self.server}' failed: {failure}") from error
            text = f"Tool server '{self.server}' answered with error {error.code}: {error.message}"
            if error.data is not None:
                data = error.data if isinstance(error.data, str) else json.dumps(error.data, ensure_ascii=False, default=str)
                text = f"{text} ({clip(data, DATA_EXCERPT)})"
            raise CallRejected(self.server, text) from error
        except ValidationError as error:
            text = f"Tool server '{self.server}' gave an answer that is not valid MCP: {clip(str(error), LINE_EXCERPT)}"
            raise BadAnswer(self.server, text) from error
        finally:
            current_http_failures.reset(token)
            self._requests -= 1
            if self._is_retired:
                self.retire()

    def _lost(self, *, not_received: bool, detail: str = "") -> ConnectionLost:
        text = f"The connection to tool server '{self.server}' was lost" + (f" ({detail})" if detail else "")
        return ConnectionLost(self.server, self._with_last_lines(text), not_received=not_received)

    def _unreachable(self, reason: str, http_failures: list[HttpFailure]) -> ToolServerError:
        if http_failures and http_failures[-1].is_auth:
            return AuthRejected(self.server, http_failures[-1])
        text = f"Tool server '{self.server}' is not available: {http_failures[-1] if http_failures else reason}"
        return Unreachable(self.server, self._with_last_lines(text))

    def _with_last_lines(self, text: str) -> str:
        self._flush_output()
        lines = list(self._last_lines)
        if self._first_error is not None and self._first_error not in lines:
            lines = [self._first_error, "…", *lines]
        return f"{text}. Its last output: {' | '.join(lines)}" if lines else text

    @asynccontextmanager
    async def _new_session(self) -> AsyncGenerator[Session]:
        def on_tools_changed() -> None:
            self._tool_changes += 1

        def on_log(level: str, data: object) -> None:
            # A log message does not name its call: all running calls get it, unless they belong to several executions.
            for listener in () if self._shared else self._listeners:
                listener(f"{level}: {data}\n")

        callbacks = SessionCallbacks(on_log=on_log, on_tools_changed=on_tools_changed, on_end=self._stopping.set)
        match self._endpoint:
            case HttpEndpoint():
                await load_mcp_sdk()
                from tarsy.tools.sdk_session import http_session  # noqa: PLC0415 - the SDK, see `load_mcp_sdk`

                async with http_session(self._endpoint, callbacks, self._end_session) as session:
                    yield session
            case StdioEndpoint(command, args, env):
                variables = child_environment(env, self._our_env)
                async with stdio_link(
                    command, args, variables, on_stderr=self._stderr.feed, on_stray_stdout=self._stray_stdout.feed
                ) as link:
                    session = StdioSession(link, callbacks)
                    try:
                        await session.initialise()
                    except SessionError as error:
                        if error.code != UNSUPPORTED_PROTOCOL_VERSION:
                            raise
                    else:
                        yield session
                        return
                    # A server of a revision without a handshake.
                    await load_mcp_sdk()
                    from tarsy.tools.sdk_session import session_without_handshake  # noqa: PLC0415 - the SDK, see `load_mcp_sdk`

                    async with session_without_handshake(link, callbacks) as modern:
                        yield modern

    def _end_session(self) -> None:
        """End the session, because its transport is of no use any more or its owner leaves."""
        self._stopping.set()
        if self._session is None:
            self._scope.cancel()

    def _record(self, text: str, write: Callable[..., object], event: str) -> None:
        """Keep the lines that the server wrote outside the protocol, and log them."""
        shown = [clip(line, LINE_EXCERPT) for line in text.splitlines() if line.strip()]
        self._last_lines.extend(shown)
        # An error from before the start of a server that has started is not why it ended later.
        if self._first_error is None and not self.ready.is_set():
            self._first_error = next((line for line in shown if ERROR_LINE.match(line)), None)
        for line in shown:
            write(event, server=self.server, line=line)

    def _flush_output(self) -> None:
        self._stderr.flush()
        self._stray_stdout.flush()
