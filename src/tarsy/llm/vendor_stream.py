"""Letting go of an SDK's stream so that the connection under it really ends."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

import anyio

T = TypeVar("T")


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
