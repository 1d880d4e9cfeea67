"""One tool server as one execution sees it: connected once, re-connected when lost, its tools listed and narrowed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import anyio
import structlog
from anyio.abc import TaskGroup

from tarsy.config.resolve.resolved import ResolvedMcpServer
from tarsy.config.templates import MissingVariableError, expand
from tarsy.domain.tool import ToolDefinition, ToolListing, ToolName
from tarsy.kit.clock import Clock, milliseconds_since
from tarsy.tools.connection import Connection
from tarsy.tools.endpoint import Endpoint, credentials, endpoint_of
from tarsy.tools.failures import ConnectionLost, ToolServerError, Unreachable
from tarsy.tools.masking import Masker
from tarsy.tools.messages import CallResult, ListedTool
from tarsy.tools.pool import ConnectionPool

log = structlog.get_logger(__name__)

# As long as a server may take to come up.
LIST_SECONDS = 30.0
# Most texts of a schema are names of types, of which nothing is to be feared.
_SHORTEST_SECRET = 8


@dataclass(frozen=True, slots=True)
class Lost:
    """A call whose connection broke, and what came of it."""

    error: ConnectionLost
    sequel: str


class ToolServer:
    """A server's connection and tools, for the life of one execution."""

    def __init__(
        self,
        config: ResolvedMcpServer,
        *,
        allowed: frozenset[str] | None,
        env: Mapping[str, str],
        execution_id: str | None,
        tasks: TaskGroup,
        clock: Clock,
        pool: ConnectionPool | None = None,
    ) -> None:
        self.name = config.name
        self.tools: tuple[ToolDefinition, ...] = ()
        self.listing: ToolListing | None = None
        self._config = config
        self._allowed = allowed
        self._env = env
        self._tasks = tasks
        self._clock = clock
        self._pool = pool
        # Whether the connection is the pool's, and not ours to end.
        self._shared = False
        # Held while a connection is made or its tools are listed. Free nearly always: then it is taken without a turn of the event loop.
        self._lock = anyio.Lock(fast_acquire=True)
        self._connection: Connection | None = None
        # The connection that last told its tools, and how often it had said before that they changed.
        self._listed_on: tuple[Connection, int] | None = None
        self._endpoint, self._misconfigured = _endpoint(config, env, execution_id)
        known = credentials(config.transport, self._endpoint, env) if self._endpoint else ()
        self.masker = Masker.for_server(config.masking, literals=known)

    @property
    def call_timeout(self) -> float | None:
        return self._config.transport.timeout

    @property
    def problem(self) -> str | None:
        """Why the server cannot be used, masked."""
        return self.listing.error if self.listing is not None else None

    def forget_listing(self) -> None:
        """List the tools anew when they are next needed."""
        self.listing = None
        self.tools = ()

    async def ensure_listed(self) -> None:
        """Connect and list the tools, once; again when the server says that they changed. Trouble ends up in `problem`."""
        if self._is_listed and not self._lock.locked():
            return
        async with self._lock:
            if not self._is_listed:
                await self._list()

    async def call(self, tool: ToolDefinition, arguments: Mapping[str, Any], on_output: Callable[[str], None]) -> CallResult | Lost:
        """Run a tool; over a new connection if the old one is gone, and a second time only if that cannot do harm.

        Raises:
            ToolServerError: there is no result, for another reason than a lost connection.
        """
        bare = ToolName.parse(tool.name)
        if bare is None:
            raise ValueError(tool.name)
        connection = await self._alive()
        try:
            return await connection.call(bare.tool, arguments, on_output)
        except ConnectionLost as error:
            try:
                connection = await self._alive()
            except ToolServerError:
                return Lost(error, "It could not be re-established.")
            if not (error.never_ran or tool.safe_to_repeat):
                return Lost(error, "The server is back.")
        try:
            return await connection.call(bare.tool, arguments, on_output)
        except ConnectionLost as error:
            return Lost(error, "The call was made a second time, with the same end.")

    async def ping(self) -> None:
        """See whether the server answers.

        Raises:
            ToolServerError: it does not.
        """
        await (await self._alive()).ping()

    async def close(self) -> None:
        """End the connection in an orderly way, unless others use it too. The pool sees to it that it ends; without one, this waits."""
        connection = self._connection
        if connection is None or self._shared:
            return
        connection.stop()
        if self._pool is not None and self._pool.takes_leave_of(connection):
            self._connection = None
        else:
            await connection.ended.wait()

    def abort(self) -> None:
        if self._connection is not None and not self._shared:
            self._connection.abort()

    @property
    def _is_listed(self) -> bool:
        connection = self._connection
        changed = connection is not None and connection.is_alive and (connection, connection.tool_changes) != self._listed_on
        return self.listing is not None and not changed

    async def _list(self) -> None:
        started_at, started = self._clock.now(), self._clock.monotonic()
        error: str | None = None
        try:
            self.tools = await self._listed()
        except ToolServerError as trouble:
            error = self.masker.mask(str(trouble))
            log.warning("tool_server.unavailable", server=self.name, problem=error)
            if self.tools:
                # It only failed to say what has changed: the tools it had are still worth trying.
                return
        names, took = tuple(tool.name for tool in self.tools), milliseconds_since(started, self._clock)
        self.listing = ToolListing(server=self.name, tools=names, error=error, started_at=started_at, duration_ms=took)

    async def _listed(self) -> tuple[ToolDefinition, ...]:
        try:
            tools = await self._asked()
        except ConnectionLost:
            # Asking does no harm: a connection that others have worn out, or that has gone stale, is made again.
            tools = await self._asked()
        # Each name once: a vendor refuses a call that offers the same twice.
        offered = {tool.name: tool for tool in tools if self._offers(tool.name)}
        return tuple(_definition(self.name, tool, self.masker) for tool in offered.values())

    async def _asked(self) -> tuple[ListedTool, ...]:
        connection = await self._connect()
        self._listed_on = (connection, connection.tool_changes)
        with anyio.move_on_after(LIST_SECONDS):
            return await connection.list_tools()
        raise Unreachable(self.name, f"Tool server '{self.name}' is not available: it did not list its tools within {LIST_SECONDS:.0f} s")

    def _offers(self, tool: str) -> bool:
        configured = self._config.tools
        return (configured is None or tool in configured) and (self._allowed is None or tool in self._allowed)

    async def _alive(self) -> Connection:
        connection = self._connection
        if connection is not None and connection.is_alive and not self._lock.locked():
            return connection
        async with self._lock:
            return await self._connect()

    async def _connect(self) -> Connection:
        if self._connection is not None and self._connection.is_alive:
            return self._connection
        if self._endpoint is None:
            raise Unreachable(self.name, f"Tool server '{self.name}' is not available: {self._misconfigured}")
        self._connection = await self._new_connection(self._endpoint)
        if self._connection.failure is not None:
            raise self._connection.failure
        return self._connection

    async def _new_connection(self, endpoint: Endpoint) -> Connection:
        def make() -> Connection:
            return Connection(self.name, endpoint, ours=self._env, masker=self.masker, shared=self._shared)

        self._shared = self._pool is not None and self._pool.shares(self._config)
        if self._pool is not None and self._shared:
            return await self._pool.connection(self._config, make)
        # Known before it is waited for: an owner that gives up meanwhile must be able to end it.
        connection = self._connection = make()
        self._tasks.start_soon(connection.run, name=f"tool server {self.name}")
        await connection.ready.wait()
        if self._pool is not None and connection.is_stateless:
            self._pool.note_stateless(self._config)
        return connection


def _endpoint(config: ResolvedMcpServer, env: Mapping[str, str], execution_id: str | None) -> tuple[Endpoint | None, str]:
    try:
        found = endpoint_of(config.transport, lambda value: expand(value, env), lambda value: expand(value, env, session_id=execution_id))
    except (MissingVariableError, ValueError) as error:
        return None, f"{error} (mcp_servers.{config.name}.transport)"
    return found, ""


def _definition(server: str, tool: ListedTool, masker: Masker) -> ToolDefinition:
    hints = tool.annotations
    return ToolDefinition(
        name=str(ToolName(server, tool.name)),
        description=masker.mask(tool.description or tool.title or ""),
        parameters_schema={name: _masked(value, masker) for name, value in tool.input_schema.items()},
        read_only=bool(hints and hints.read_only_hint),
        idempotent=bool(hints and hints.idempotent_hint),
    )


def _masked(value: Any, masker: Masker) -> Any:
    """A part of a schema: its descriptions, defaults and examples can hold a secret like any text."""
    match value:
        case str():
            return masker.mask(value) if len(value) >= _SHORTEST_SECRET else value
        case dict():
            return {name: _masked(inner, masker) for name, inner in cast("dict[str, Any]", value).items()}
        case list():
            return [_masked(inner, masker) for inner in cast("list[Any]", value)]
        case _:
            return value
