"""A live connection to one tool server. Imported on first use only.

A connection is run by one task and used by others; nothing that happens to it can hurt the task group it runs in.
"""

import math
import re
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeVar

import anyio
import structlog
from pydantic import ValidationError

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
    explain,
    failures,
)
from tarsy.tools.masking import Masker, StreamMasker
from tarsy.tools.messages import CallResult, ListedTool
from tarsy.tools.sdk_session import http_session, session_without_handshake
from tarsy.tools.session import CONNECTION_CLOSED, UNSUPPORTED_PROTOCOL_VERSION, Ears, Session, SessionError, StdioSession
from tarsy.tools.stdio import Observer, child_environment, stdio_link

log = structlog.get_logger(__name__)

INITIALISE_SECONDS = 30.0
CLEANUP_SECONDS = 5.0
# To say goodbye, to a server that may no longer listen.
END_SECONDS = 10.0
# A server with more pages of tools than this is not going to end.
MAX_TOOL_PAGES = 100
# What a server last said outside the protocol is often why it died.
KEPT_LINES = 5
# Other servers say first why they will not start, and then how they are used.
_ERRORS = r"error|fatal|panic|exception|fail|cannot|could not|unable|invalid|denied|refused|no such|not found"
ERROR_LINE = re.compile(rf"(?!.*\bwarn).*({_ERRORS})", re.IGNORECASE)
LINE_EXCERPT = 300
MASKED_EXCERPT = 16 * 1024

OnOutput = Callable[[str], None]
T = TypeVar("T")


class Aside:
    """What a server says outside the protocol, masked: a secret may have several lines there too."""

    def __init__(self, masker: Masker, note: OnOutput) -> None:
        self._masker = masker
        # Most say nothing.
        self._masked: StreamMasker | None = None
        self._note = note

    def hear(self, line: str) -> None:
        if self._masked is None:
            self._masked = self._masker.stream(by_words=False)
        # A line can be as long as a message may be: masking all of it would hold up the other sessions.
        self._note(self._masked.feed(f"{line[:MASKED_EXCERPT]}\n"))

    def end(self) -> None:
        """Take the lines that were held back for what might have followed them."""
        if self._masked is not None:
            self._note(self._masked.finish())


class Connection:
    """One session with one server, from connecting to the end."""

    def __init__(self, server: str, endpoint: Endpoint, *, ours: Mapping[str, str], masker: Masker, shared: bool = False) -> None:
        self.server = server
        self.ready = anyio.Event()
        self.ended = anyio.Event()
        # How often the server has said that its tools changed; the `ToolServer` that lists them remembers the count.
        self.tool_changes = 0
        self._endpoint = endpoint
        self._ours = ours
        self._masker = masker
        self._stderr = Aside(masker, lambda text: self._note(text, log.info, "tool_server.stderr"))
        self._noise = Aside(masker, lambda text: self._note(text, log.warning, "tool_server.noise"))
        self._shared = shared
        self._session: Session | None = None
        self._failure: ToolServerError | None = None
        self._stopping = anyio.Event()
        self._left = False
        self._scope = anyio.CancelScope(shield=True)
        self._first_error: str | None = None
        self._last_words: deque[str] = deque(maxlen=KEPT_LINES)
        self._listeners: list[OnOutput] = []

    @property
    def is_alive(self) -> bool:
        return self._session is not None and not self._stopping.is_set()

    @property
    def is_stateless(self) -> bool:
        """Whether the server speaks a revision of the protocol in which no request depends on an earlier one, nor on the connection."""
        return self._session is not None and self._session.is_stateless

    @property
    def failure(self) -> ToolServerError | None:
        """Why there is no session."""
        return self._failure

    async def run(self) -> None:
        """Connect, hold the session until it is stopped or lost, and clean up. Shielded: only `stop` and `abort` end it."""
        seen: list[HttpFailure] = []
        failures.set(seen)
        self._scope.deadline = anyio.current_time() + INITIALISE_SECONDS
        try:
            with self._scope:
                async with self._new_session() as session:
                    self._scope.deadline = math.inf
                    self._session = session
                    self._first_error = None
                    self.ready.set()
                    await self._stopping.wait()
                    # One that was lost and replaced is not waited for by name, but by the task group it runs in.
                    self._scope.deadline = anyio.current_time() + END_SECONDS
            if not self.ready.is_set():
                self._failure = self._unreachable(f"did not answer within {INITIALISE_SECONDS:.0f} s", seen)
        except Exception as error:  # noqa: BLE001 - a boundary: whatever the SDK raises here concerns this server alone
            self._failure = self._unreachable(explain(error), seen)
        finally:
            self._session = None
            self._hear_out()
            self.ready.set()
            self.ended.set()
        await self._clean_up()

    def stop(self) -> None:
        """Ask for an orderly end."""
        self._left = True
        self._break()

    def _break(self) -> None:
        """The transport is of no use any more."""
        self._stopping.set()
        if self._session is None:
            self._scope.cancel()

    def abort(self) -> None:
        """End now, orderly or not."""
        self._scope.cancel()

    async def list_tools(self) -> tuple[ListedTool, ...]:
        """Ask the server for all its tools.

        Raises:
            ToolServerError: it would not say.
        """
        tools: list[ListedTool] = []
        cursor: str | None = None
        for _ in range(MAX_TOOL_PAGES):
            page = await self._ask(lambda session, cursor=cursor: session.list_page(cursor))
            tools.extend(page.tools)
            cursor = page.next_cursor
            if not cursor:
                return tuple(tools)
        raise BadAnswer(self.server, f"Tool server '{self.server}' lists its tools on more than {MAX_TOOL_PAGES} pages.")

    async def call(self, tool: str, arguments: Mapping[str, Any], on_output: OnOutput) -> CallResult:
        """Run a tool and pass on what it says meanwhile.

        Raises:
            ToolServerError: there is no result.
        """

        def on_progress(progress: float, total: float | None, message: str | None) -> None:
            on_output(_progress_line(progress, total, message))

        self._listeners.append(on_output)
        try:
            return await self._ask(lambda session: session.call(tool, arguments, on_progress))
        finally:
            self._listeners.remove(on_output)

    async def ping(self) -> None:
        """See whether the server is still there.

        Raises:
            ToolServerError: it is not.
        """
        await self._ask(lambda session: session.ping())

    async def _ask(self, question: Callable[[Session], Awaitable[T]]) -> T:
        session = self._session
        if session is None or self._stopping.is_set():
            raise self._lost(never_ran=True)
        seen: list[HttpFailure] = []
        token = failures.set(seen)
        try:
            return await question(session)
        except SessionError as error:
            raise self._renamed(error, seen) from error
        except ValidationError as error:
            text = f"Tool server '{self.server}' gave an answer that is not valid MCP: {clip(str(error), LINE_EXCERPT)}"
            raise BadAnswer(self.server, text) from error
        finally:
            failures.reset(token)

    def _renamed(self, error: SessionError, seen: list[HttpFailure]) -> ToolServerError:
        """Say what an error of the session means for the call."""
        failure = seen[-1] if seen else None
        if failure is not None and failure.is_auth:
            return AuthRejected(self.server, failure)
        gone = failure is not None and (failure.unsent or (failure.status == 404 and isinstance(self._endpoint, HttpEndpoint)))
        if gone or self._is_over(error):
            self._stopping.set()
            return self._lost(never_ran=gone, detail=str(failure) if failure else str(error))
        if failure is not None:
            return CallRejected(self.server, f"Tool server '{self.server}' failed: {failure}")
        return CallRejected(self.server, f"Tool server '{self.server}' answered with error {error.code}: {error.message}")

    def _is_over(self, error: SessionError) -> bool:
        return error.over or (error.code == CONNECTION_CLOSED and self._stopping.is_set())

    def _lost(self, *, never_ran: bool, detail: str = "") -> ConnectionLost:
        text = f"The connection to tool server '{self.server}' was lost" + (f" ({detail})" if detail else "")
        return ConnectionLost(self.server, self._with_last_words(text), never_ran=never_ran)

    def _unreachable(self, reason: str, seen: list[HttpFailure]) -> ToolServerError:
        if seen and seen[-1].is_auth:
            return AuthRejected(self.server, seen[-1])
        text = f"Tool server '{self.server}' is not available: {seen[-1] if seen else reason}"
        return Unreachable(self.server, self._with_last_words(text))

    def _with_last_words(self, text: str) -> str:
        self._hear_out()
        words = list(self._last_words)
        if self._first_error is not None and self._first_error not in words:
            words = [self._first_error, "…", *words]
        return f"{text}. It last said: {' | '.join(words)}" if words else text

    def _new_session(self) -> AbstractAsyncContextManager[Session]:
        match self._endpoint:
            case StdioEndpoint():
                return self._stdio_session(self._endpoint)
            case HttpEndpoint():
                return self._http_session(self._endpoint)

    @asynccontextmanager
    async def _stdio_session(self, endpoint: StdioEndpoint) -> AsyncGenerator[Session]:
        """Shake hands, the way nearly every server knows; with those that will not, the SDK speaks."""
        environment, observer = child_environment(endpoint.env, self._ours), Observer(self._stderr.hear, self._noise.hear)
        async with stdio_link(endpoint.command, endpoint.args, environment, observer) as link:
            session = StdioSession(link, self._ears)
            try:
                await session.initialise()
            except SessionError as error:
                if error.code != UNSUPPORTED_PROTOCOL_VERSION:
                    raise
            else:
                yield session
                return
            async with session_without_handshake(link, self._ears) as modern:
                yield modern

    @asynccontextmanager
    async def _http_session(self, endpoint: HttpEndpoint) -> AsyncGenerator[Session]:
        async with http_session(endpoint, self._ears, self._break) as session:
            yield session

    @property
    def _ears(self) -> Ears:
        return Ears(on_log=self._on_log, on_tools_changed=self._on_tools_changed, on_end=self._stopping.set)

    def _on_tools_changed(self) -> None:
        self.tool_changes += 1

    def _on_log(self, level: str, data: object) -> None:
        # A log message does not say which call it belongs to: each that runs gets it, as long as all belong to one execution.
        if self._shared:
            return
        for listener in self._listeners:
            listener(f"{level}: {data}\n")

    def _note(self, text: str, write: Callable[..., object], event: str) -> None:
        """Remember what the server said outside the protocol, and write it to the log."""
        shown = [clip(line, LINE_EXCERPT) for line in text.splitlines() if line.strip()]
        self._last_words.extend(shown)
        # An error of a server that has started since is not why it ended later.
        if self._first_error is None and not self.ready.is_set():
            self._first_error = next((line for line in shown if ERROR_LINE.match(line)), None)
        for line in shown:
            write(event, server=self.server, line=line)

    def _hear_out(self) -> None:
        self._stderr.end()
        self._noise.end()

    async def _clean_up(self) -> None:
        """Tell the server that the execution is over, if it wants to know."""
        if not self._left or not isinstance(self._endpoint, HttpEndpoint) or self._endpoint.cleanup_url is None:
            return
        from tarsy.tools.http import say_goodbye  # noqa: PLC0415 - loaded with the session

        endpoint, url = self._endpoint, self._endpoint.cleanup_url
        seen: list[HttpFailure] = []
        failures.set(seen)
        with anyio.CancelScope(shield=True), anyio.move_on_after(CLEANUP_SECONDS) as patience:
            await say_goodbye(endpoint, url, seen)
        if seen or patience.cancelled_caught:
            problem = self._masker.mask(str(seen[-1]) if seen else f"no answer within {CLEANUP_SECONDS:.0f} s")
            log.warning("tool_server.cleanup_failed", server=self.server, problem=problem)


def _progress_line(progress: float, total: float | None, message: str | None) -> str:
    share = f"{progress:g}/{total:g}" if total else f"{progress:g}"
    return f"[{share}] {message}\n" if message else f"[{share}]\n"
