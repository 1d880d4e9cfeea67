"""What all providers share: the protocol, the cache of SDK clients, the memory of earlier turns, and closing an SDK's stream."""

import hashlib
import math
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import anyio
from cachetools import TTLCache

from tarsy.domain.conversation import ConversationMessage
from tarsy.domain.llm import Chunk, GenerateInput
from tarsy.llm.access import Access

# The time between two turns of one execution is well below this, in seconds.
TIME_TO_LIVE = 3600.0
# The most tokens to ask a model for that LangChain has no profile of.
DEFAULT_MAX_OUTPUT_TOKENS = 8_192
# SDKs want a key also for a server that asks for none.
NO_KEY = "none"

# A content block as a vendor spells it.
Block = dict[str, Any]


class Provider(Protocol):
    """Calls the models of one kind of service."""

    def generate(self, request: GenerateInput, access: Access) -> AsyncGenerator[Chunk]:
        """Stream the answer to a request. Failures of the call are ErrorChunks.

        Raises:
            CredentialsMissingError: no client can be made with these credentials.
            ProviderNotInstalledError: the vendor's package is missing.
        """
        ...

    async def aclose(self) -> None: ...


class ProviderNotInstalledError(Exception):
    """A vendor's package is an extra and is not installed; the message holds the command that installs it."""


# ---- SDK clients


@dataclass(frozen=True, slots=True)
class ModelKey:
    access: Access
    model: str


class Closable(Protocol):
    @property
    def aclose(self) -> Callable[[], Awaitable[None]]: ...


K = TypeVar("K", bound=Hashable)
C = TypeVar("C", bound=Closable)
T = TypeVar("T")


class ClientCache(Generic[K, C]):
    """Makes one client per key and keeps it, with its connections and tokens."""

    def __init__(self, make: Callable[[K], C]) -> None:
        self._make = make
        self._clients: dict[K, C] = {}
        self._making = anyio.Lock()

    async def get(self, key: K) -> C:
        """Return the client for `key`. Errors of making it propagate, and nothing is kept then."""
        if key in self._clients:
            return self._clients[key]
        async with self._making:
            if key not in self._clients:
                # In a thread, because importing an SDK takes up to a second.
                self._clients[key] = await anyio.to_thread.run_sync(self._make, key)
            return self._clients[key]

    async def aclose(self) -> None:
        clients, self._clients = self._clients, {}
        for client in clients.values():
            await client.aclose()


@asynccontextmanager
async def vendor_stream(stream: AsyncGenerator[T]) -> AsyncGenerator[AsyncGenerator[T]]:
    """Hold `stream` open, and close its connection when it is left early.

    The SDKs stack generators on generators, and closing the outermost leaves the others, and the connection, to the garbage collector.
    A cancellation instead reaches the innermost of them, where the connection is read, and unwinds them all.
    """
    try:
        yield stream
    finally:
        with anyio.CancelScope() as scope, suppress(Exception):
            scope.cancel()
            # Buffered items come without waiting; the first real wait is cancelled.
            async for _ in stream:
                pass
        await stream.aclose()


# ---- the memory of earlier turns


def turn_key(message: ConversationMessage) -> str:
    """Identify an assistant's turn by the ids of its calls, or one without calls by its text: if that was masked since, the turn is not found."""
    return key_of(tuple(call.id for call in message.tool_calls), message.content)


def key_of(call_ids: tuple[str, ...], text: str) -> str:
    if call_ids:
        return "calls:" + "\n".join(call_ids)
    return "text:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def conversation_of(request: GenerateInput) -> str:
    """Identify the conversation of an execution with one model. A fallback model has its own, as it cannot use the first model's signatures."""
    return f"{request.execution_id} {request.provider.name} {request.provider.model}"


class TurnMemory(Generic[T]):
    """What a vendor wants back with the next call and only the vendor can read (signatures, thinking blocks), by conversation and turn.

    A conversation is forgotten an hour after its last turn.
    """

    def __init__(self, timer: Callable[[], float] = time.monotonic) -> None:
        # Unbounded: the number of running conversations is bounded, and one that lost its signatures goes on without its earlier thinking.
        self._conversations: TTLCache[str, dict[str, T]] = TTLCache(math.inf, TIME_TO_LIVE, timer)

    def recall(self, conversation: str, key: str) -> T | None:
        return self._turns(conversation).get(key)

    def keep(self, conversation: str, key: str, value: T) -> None:
        self._turns(conversation)[key] = value

    def forget(self, conversation: str) -> None:
        self._conversations.pop(conversation, None)

    def _turns(self, conversation: str) -> dict[str, T]:
        """Return the turns of a conversation, kept for another hour from now."""
        turns: dict[str, T] = self._conversations.get(conversation) or {}
        self._conversations[conversation] = turns
        return turns


def restored_blocks(text: str, calls: Mapping[str, Block], remembered: Sequence[Block]) -> Iterator[Block]:
    """Yield the remembered blocks of a turn, with its text and calls as they are now: these may have been masked since.

    A remembered call has only a `call_id`; `calls` has the blocks by these ids.
    """
    unchanged = "".join(block["text"] for block in remembered if block["type"] == "text") == text
    replaced = False
    for block in remembered:
        if "call_id" in block:
            if block["call_id"] in calls:
                yield calls[block["call_id"]]
        elif block["type"] != "text" or unchanged:
            yield dict(block)
        elif not replaced:
            yield {**block, "text": text}
            replaced = True


def output_token_limit(request: GenerateInput, profile: Mapping[str, Any]) -> int | None:
    """Return the limit to send, or None if the call is not limited.

    Vendors refuse a limit above the model's own, which is in `profile`, LangChain's description of the model.
    """
    if request.max_output_tokens is None:
        return None
    return min(request.max_output_tokens, int(profile.get("max_output_tokens") or DEFAULT_MAX_OUTPUT_TOKENS))
