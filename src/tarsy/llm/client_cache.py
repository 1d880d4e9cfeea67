"""SDK clients, made once per way of reaching a model and kept: connection pools and tokens are worth keeping."""

from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, Protocol, TypeVar

import anyio


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
