"""Concurrent tasks, and their errors without the group around them."""

from collections.abc import Callable, Coroutine, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import anyio

Item = TypeVar("Item")


def leaves(error: BaseException) -> Iterator[BaseException]:
    """Yield the errors in a group, also those of nested groups."""
    if isinstance(error, BaseExceptionGroup):
        for inner in cast("BaseExceptionGroup[Any]", error).exceptions:
            yield from leaves(inner)
    else:
        yield error


@contextmanager
def single_errors() -> Generator[None]:
    """Raise the first error of a task group instead of the group."""
    try:
        yield
    except BaseExceptionGroup as group:
        raise next(leaves(cast("BaseException", group))) from None


async def for_each(items: Sequence[Item], work: Callable[[Item], Coroutine[Any, Any, None]], *, name: Callable[[Item], str]) -> None:
    """Run `work` for all items concurrently, each in a task of that name. The first error cancels the others and is raised."""
    if len(items) == 1:
        await work(items[0])
        return
    with single_errors():
        async with anyio.create_task_group() as tasks:
            for item in items:
                tasks.start_soon(work, item, name=name(item))
