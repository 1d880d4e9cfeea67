"""One tool server as one execution uses it: connected once, reconnected when lost, its tools listed and filtered."""

import json
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import anyio
import structlog
from anyio import to_thread
from anyio.abc import TaskGroup

from tarsy.config.resolve.resolved import ResolvedMcpServer
from tarsy.config.templates import MissingVariableError, expand
from tarsy.domain.tool import OnOutput, ToolDefinition, ToolListing, ToolName, approval_reason
from tarsy.domain.tool_pin import Fingerprints, PinMode, ToolPin, digest, pin_problem
from tarsy.kit.clock import SystemClock, milliseconds_since
from tarsy.kit.text import clip, clip_at_word
from tarsy.tools.breaker import Breaker
from tarsy.tools.connection import ToolServerConnection
from tarsy.tools.endpoint import Endpoint, HttpEndpoint, credentials, endpoint_of
from tarsy.tools.failures import ConnectionLost, NotAccepted, ToolServerError, Unreachable
from tarsy.tools.masking import Masker
from tarsy.tools.messages import MAX_DEPTH, CallResult, ListedTool, ToolHints, is_deeper_than
from tarsy.tools.oauth import token_source
from tarsy.tools.pool import ConnectionPool

log = structlog.get_logger(__name__)

# As long as a server may take to start.
LIST_SECONDS = 30.0
# Shorter strings of a schema, mostly names of types, hold no secret.
_SHORTEST_SECRET = 8
# What the description of a tool tells the model if its calls need an approval.
_APPROVAL_NOTE = "\nEach call waits until a person has approved it: call it only if it is needed."
# Longer descriptions are clipped.
MAX_DESCRIPTION = 16 * 1024
# The size of a tool's schema, and of all descriptions and schemas of a server: more than a model's window has room for.
MAX_SCHEMA_BYTES = 256 * 1024
MAX_CATALOG_BYTES = 1024 * 1024

# Returns the pin of a server.
ReadPin = Callable[[str], Awaitable[ToolPin | None]]


@dataclass(frozen=True, slots=True)
class LostCall:
    """A call whose connection broke; `recovery` says what was done about it."""

    error: ConnectionLost
    recovery: str


class ToolServer:
    """A server's connection and tools, for the life of one execution."""

    def __init__(
        self,
        config: ResolvedMcpServer,
        *,
        allowed: frozenset[str] | None,
        env: Mapping[str, str],
        execution_id: str,
        tasks: TaskGroup,
        pool: ConnectionPool | None = None,
        read_pin: ReadPin | None = None,
    ) -> None:
        self.name = config.name
        # Of all tools that the server listed last, whether or not they may be used.
        self.fingerprints: Fingerprints = {}
        self.tools: tuple[ToolDefinition, ...] = ()
        self.listing: ToolListing | None = None
        self._config = config
        self._allowed = allowed
        self._env = env
        self._tasks = tasks
        self._clock = SystemClock()
        self._pool = pool
        # None: the server is used whether or not its tools were accepted.
        self._read_pin = read_pin
        # Whether the connection is the pool's, which ends it.
        self._shared = False
        # Held while a connection is made or its tools are listed.
        self._lock = anyio.Lock()
        self._connection: ToolServerConnection | None = None
        # The version of the tools when the last listing began: one that failed, too, is repeated only after the next change.
        self._listed_at: tuple[ToolServerConnection, int] | None = None
        # The same of the last listing that was compared with the accepted tools, or ended with a problem: with `pin: strict`, tools are called
        # only at this version.
        self._compared_at: tuple[ToolServerConnection, int] | None = None
        self._endpoint: Endpoint | None = None
        self._misconfigured = ""
        try:
            self._endpoint = endpoint_of(
                config.transport, lambda value: expand(value, env), lambda value: expand(value, env, session_id=execution_id)
            )
        except (MissingVariableError, ValueError) as error:
            self._misconfigured = f"{error} (mcp_servers.{config.name}.transport)"
        known = credentials(config.transport, self._endpoint, env) if self._endpoint else ()
        client = self._endpoint.oauth if isinstance(self._endpoint, HttpEndpoint) else None
        obtained = token_source(client).obtained if client else None
        self.masker = Masker.for_server(config.masking, literals=known, obtained=obtained)

    @property
    def call_timeout(self) -> float | None:
        return self._config.transport.timeout

    @property
    def problem(self) -> str | None:
        """Why the server cannot be used, masked."""
        return self.listing.error if self.listing is not None else None

    def forget_listing(self) -> None:
        """List the tools again when they are next needed."""
        self.listing = None
        self.tools = ()

    async def ensure_listed(self) -> None:
        """Connect and list the tools once, and again when the server reports that they changed. A failure ends up in `problem`."""
        async with self._lock:
            if self.listing is not None and not self._has_changed():
                return
            started_at, started = self._clock.now(), self._clock.monotonic()
            error: str | None = None
            approval_reasons: Mapping[str, str] = {}
            try:
                listed = await self._list_tools()
                self.fingerprints = _fingerprints(listed)
                await self._require_accepted()
                selected = self._selected(listed)
                approval_reasons = self._approval_reasons(selected)
                # In a thread, because masking many descriptions would hold up the other sessions.
                self.tools = await to_thread.run_sync(self._definitions, self._usable(selected), approval_reasons)
            except NotAccepted as refused:
                error, self.tools = self.masker.mask(str(refused)), ()
                log.warning("tool_server.not_accepted", server=self.name, problem=error)
            except ToolServerError as trouble:
                error = self.masker.mask(str(trouble))
                log.warning("tool_server.unavailable", server=self.name, problem=error)
                if self.tools:
                    # Only the update failed: the known tools are still worth trying, with `pin: strict` after they have been listed.
                    return
            self._compared_at = self._listed_at
            self.listing = ToolListing(
                server=self.name,
                tools=tuple(tool.name for tool in self.tools),
                needs_approval=approval_reasons,
                error=error,
                started_at=started_at,
                duration_ms=milliseconds_since(started, self._clock),
            )

    async def call(self, tool: ToolDefinition, arguments: Mapping[str, Any], on_output: OnOutput) -> CallResult | LostCall:
        """Run a tool, over a new connection if the old one is gone; a second time only if that does no harm.

        Raises:
            ToolServerError: there is no result, for another reason than a lost connection.
        """
        bare = tool.name.removeprefix(f"{self.name}.")
        connection = await self._live_connection()
        try:
            return await connection.call(bare, arguments, on_output)
        except ConnectionLost as error:
            try:
                connection = await self._live_connection()
            except NotAccepted as refused:
                return LostCall(error, str(refused))
            except ToolServerError:
                return LostCall(error, "It could not be re-established.")
            if not (error.not_received or tool.safe_to_repeat):
                return LostCall(error, "The server is back.")
        try:
            return await connection.call(bare, arguments, on_output)
        except ConnectionLost as error:
            return LostCall(error, "The call was repeated, and the connection was lost again.")

    async def ping(self) -> None:
        """Check that the server answers.

        Raises:
            ToolServerError: it does not.
        """
        await (await self._live_connection()).ping()

    async def close(self) -> None:
        """End the connection in an orderly way, unless it is shared. With a pool, this does not wait for the end."""
        connection = self._connection
        if connection is None or self._shared:
            return
        connection.stop()
        if self._pool is not None and self._pool.end_in_background(connection):
            self._connection = None
        else:
            await connection.ended.wait()

    def abort(self) -> None:
        if self._connection is not None and not self._shared:
            self._connection.abort()

    def _has_changed(self) -> bool:
        """Return whether the server has reported a change of its tools since they were listed."""
        connection = self._connection
        known = self._compared_at if self._config.pin is PinMode.STRICT else self._listed_at
        return connection is not None and connection.is_alive and connection.tools_version != known

    def _selected(self, listed: Iterable[ListedTool]) -> Collection[ListedTool]:
        """Return the tools that agents may use, each name once: a vendor refuses a call that offers one twice."""
        configured, allowed = self._config.tools, self._allowed
        return {
            tool.name: tool
            for tool in listed
            if (configured is None or tool.name in configured) and (allowed is None or tool.name in allowed)
        }.values()

    def _usable(self, listed: Iterable[ListedTool]) -> list[ListedTool]:
        """Return the tools that can be offered to a model; log the others with the reason."""
        usable: list[ListedTool] = []
        total = 0
        for tool in listed:
            size, problem = 0, None
            if tool.execution is not None and tool.execution.task_support == "required":
                problem = "it can be called only as a task"
            elif is_deeper_than(MAX_DEPTH, tool.input_schema):
                problem = f"its schema has more than {MAX_DEPTH} levels"
            elif (schema_size := _json_bytes(tool.input_schema)) > MAX_SCHEMA_BYTES:
                problem = f"its schema has more than {MAX_SCHEMA_BYTES} bytes"
            elif total + (size := schema_size + min(len(_description(tool)), MAX_DESCRIPTION)) > MAX_CATALOG_BYTES:
                problem = f"the tools of its server have more than {MAX_CATALOG_BYTES} bytes"
            if problem is None:
                usable.append(tool)
                total += size
            else:
                log.warning("tool_server.tool_left_out", server=self.name, tool=self.masker.mask(clip(tool.name, 200)), reason=problem)
        return usable

    def _definitions(self, tools: Iterable[ListedTool], approval_reasons: Mapping[str, str]) -> tuple[ToolDefinition, ...]:
        """Return the tools as they are offered to a model, masked."""
        return tuple(
            ToolDefinition(
                name=str(ToolName(self.name, tool.name)),
                description=f"{self.masker.mask(_description(tool))}{_APPROVAL_NOTE if tool.name in approval_reasons else ''}".strip(),
                parameters_schema={name: _masked(value, self.masker) for name, value in tool.input_schema.items()},
                read_only=bool(hints.read_only_hint),
                changes=hints.read_only_hint is False or (hints.destructive_hint is True and not hints.read_only_hint),
                idempotent=bool(hints.idempotent_hint),
                needs_approval=tool.name in approval_reasons,
            )
            for tool, hints in ((tool, tool.annotations or ToolHints()) for tool in tools)
        )

    def _approval_reasons(self, listed: Iterable[ListedTool]) -> Mapping[str, str]:
        """Return the tools whose calls need an approval, each with the reason."""
        found: dict[str, str] = {}
        for tool in listed:
            hints, own = tool.annotations or ToolHints(), self._config.tool_approval.get(tool.name)
            reason = approval_reason(
                own or self._config.approval,
                tool.name,
                read_only=hints.read_only_hint,
                destructive=hints.destructive_hint,
                named=own is None and self._config.tools is not None,
            )
            if reason:
                found[tool.name] = reason
        return found

    async def _require_accepted(self) -> None:
        if self._config.pin is PinMode.STRICT and self._read_pin is not None:
            pin = await self._read_pin(self.name)
            if problem := pin_problem(self.name, PinMode.STRICT, pin, self.fingerprints, named=self._config.tools):
                raise NotAccepted(self.name, problem)

    async def _list_tools(self) -> tuple[ListedTool, ...]:
        try:
            return await self._request_tools()
        except ConnectionLost:
            # Listing does no harm, so it is repeated over a new connection.
            return await self._request_tools()

    async def _request_tools(self) -> tuple[ListedTool, ...]:
        connection = await self._connect()
        self._listed_at = connection.tools_version
        with anyio.move_on_after(LIST_SECONDS):
            return await connection.list_tools()
        raise Unreachable(self.name, f"Tool server '{self.name}' is not available: it did not list its tools within {LIST_SECONDS:.0f} s")

    async def _live_connection(self) -> ToolServerConnection:
        async with self._lock:
            connection = await self._connect()
        if self._config.pin is PinMode.STRICT and self._compared_at != connection.tools_version:
            # A server that was restarted may have other tools than the accepted ones.
            await self.ensure_listed()
            if self.problem is not None:
                raise NotAccepted(self.name, self.problem)
            # Listing may have made another connection.
            connection = self._connection or connection
            if self._compared_at != connection.tools_version:
                problem = f"The tools of tool server '{self.name}' could not be listed again"
                raise NotAccepted(
                    self.name, f"{problem}, so agents do not use it until they are known to be the accepted ones (pin: strict)"
                )
        return connection

    async def _connect(self) -> ToolServerConnection:
        """Return the live connection, or make one. To be called with the lock held."""
        if self._connection is not None and self._connection.is_alive:
            return self._connection
        endpoint = self._endpoint
        if endpoint is None:
            raise Unreachable(self.name, f"Tool server '{self.name}' is not available: {self._misconfigured}")

        def make() -> ToolServerConnection:
            return ToolServerConnection(self.name, endpoint, our_env=self._env, masker=self.masker, shared=self._shared)

        breaker = self._pool.breaker(self._config) if self._pool is not None else Breaker()
        breaker.check(self._clock.monotonic())
        self._shared = self._pool is not None and self._pool.shares(self._config)
        if self._pool is not None and self._shared:
            connection = self._connection = await self._pool.connection(self._config, endpoint, make)
        else:
            # Stored before it is ready, so that an owner that gives up meanwhile can end it.
            connection = self._connection = make()
            self._tasks.start_soon(connection.run, name=f"tool server {self.name}")
            await connection.ready.wait()
        if connection.failure is not None:
            breaker.failed(connection.failure, self._clock.monotonic())
            raise connection.failure
        breaker.succeeded()
        if self._pool is not None:
            self._pool.mark_stateless(self._config, stateless=connection.is_stateless)
            if self._shared and not self._pool.shares(self._config):
                # It was restarted, and keeps state now: each execution makes a connection for itself.
                connection.retire()
                return await self._connect()
        return connection


def _fingerprints(listed: Iterable[ListedTool]) -> Fingerprints:
    return {
        tool.name: {
            "description": digest([tool.title, tool.description]),
            "schema": digest(tool.input_schema),
            "annotations": digest(tool.annotations.model_dump() if tool.annotations else None),
        }
        for tool in listed
        # Deeper ones are never offered, and cannot be encoded.
        if not is_deeper_than(MAX_DEPTH, tool.input_schema)
    }


def _json_bytes(value: object) -> int:
    # A schema may hold integers above 64 bits.
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def _description(tool: ListedTool) -> str:
    text = tool.description or tool.title or ""
    return text if len(text) <= MAX_DESCRIPTION else f"{clip_at_word(text, MAX_DESCRIPTION)} …"


def _masked(value: Any, masker: Masker) -> Any:
    """Mask a part of a schema: its descriptions, defaults and examples can hold a secret like any text."""
    match value:
        case str():
            return masker.mask(value) if len(value) >= _SHORTEST_SECRET else value
        case dict():
            return {name: _masked(inner, masker) for name, inner in cast("dict[str, Any]", value).items()}
        case list():
            return [_masked(inner, masker) for inner in cast("list[Any]", value)]
        case _:
            return value
