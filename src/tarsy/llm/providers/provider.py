"""What all providers share: the protocol, the cache of SDK clients, the memory of earlier turns, and closing an SDK's stream."""

import hashlib
import math
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager, suppress
from typing import Generic, Protocol, TypeVar

import anyio
from cachetools import TTLCache

from tarsy.domain.conversation import ConversationMessage
from tarsy.domain.llm import Chunk, GenerateInput
from tarsy.kit.clock import Clock, SystemClock
from tarsy.llm.access import Access


class Provider(Protocol):
    """Speaks to one kind of model service. Failures are ErrorChunks; only cancellation and bugs raise."""

    def generate(self, request: GenerateInput, access: Access) -> AsyncGenerator[Chunk]: ...

    async def aclose(self) -> None: ...


class ProviderNotInstalledError(Exception):
    """The package that speaks to a vendor is an extra and not installed; the message holds the command."""


class Closable(Protocol):
    @property
    def aclose(self) -> Callable[[], Awaitable[None]]: ...


K = TypeVar("K", bound=Hashable)
C = TypeVar("C", bound=Closable)


class ClientCache(Generic[K, C]):
    """Makes a client when its key is first asked for, in a thread: importing an SDK takes up to a second."""

    def __init__(self, make: Callable[[K], C]) -> None:
        self._make = make
        self._clients: dict[K, C] = {}
        self._making = anyio.Lock()

    async def get(self, key: K) -> C:
        """The client for `key`.

        Raises:
            Exception: whatever making it raised; nothing is kept then.
        """
        if key in self._clients:
            return self._clients[key]
        async with self._making:
            if key not in self._clients:
                self._clients[key] = await anyio.to_thread.run_sync(self._make, key)
            return self._clients[key]

    async def aclose(self) -> None:
        clients, self._clients = self._clients, {}
        for client in clients.values():
            await client.aclose()


T = TypeVar("T")

# Well above the time between two turns of one execution.
TIME_TO_LIVE = 3600.0


def turn_key(message: ConversationMessage) -> str:
    """Recognise an assistant's turn: by the ids of its calls, or by its words."""
    return key_of(tuple(call.id for call in message.tool_calls), message.content)


def key_of(call_ids: tuple[str, ...], text: str) -> str:
    if call_ids:
        return "calls:" + "\n".join(call_ids)
    return "text:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class TurnMemory(Generic[T]):
    """Values by execution and turn, forgotten an hour after the execution's last turn."""

    def __init__(self, clock: Clock | None = None) -> None:
        timer = (clock or SystemClock()).monotonic
        # Without a limit: the executions that run at once are limited already, and one that lost its signatures would be refused.
        self._executions: TTLCache[str, dict[str, T]] = TTLCache(math.inf, TIME_TO_LIVE, timer)

    def recall(self, execution_id: str, key: str) -> T | None:
        return self._turns(execution_id).get(key)

    def keep(self, execution_id: str, key: str, value: T) -> None:
        self._turns(execution_id)[key] = value

    def forget(self, execution_id: str) -> None:
        self._executions.pop(execution_id, None)

    def _turns(self, execution_id: str) -> dict[str, T]:
        """What is kept for an execution, for another hour from now."""
        turns: dict[str, T] = self._executions.get(execution_id) or {}
        self._executions[execution_id] = turns
        return turns


@asynccontextmanager
async def vendor_stream(stream: AsyncGenerator[T]) -> AsyncGenerator[AsyncGenerator[T]]:
    """Hold `stream` open, and hang up when it is left early.

    The SDKs stack generators on generators, and closing the outermost leaves the others, and the connection, to the garbage collector.
    A cancellation instead reaches the innermost of them, where the connection is read, and unwinds them all.
    """
    try:
        yield stream
    finally:
        with anyio.CancelScope() as scope, suppress(Exception):
            scope.cancel()
            # What is already buffered comes without waiting; the first real wait is cancelled.
            async for _ in stream:
                pass
        await stream.aclose()
