"""Work that is done at the same time, and its errors: unpacked where one is what the caller asked for."""

from collections.abc import Callable, Coroutine, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import anyio

Item = TypeVar("Item")


def leaves(error: BaseException) -> Iterator[BaseException]:
    """The errors in a group, however deep."""
    if isinstance(error, BaseExceptionGroup):
        for inner in cast("BaseExceptionGroup[Any]", error).exceptions:
            yield from leaves(inner)
    else:
        yield error


@contextmanager
def single_errors() -> Generator[None]:
    """Let the first error of a task group out as itself."""
    try:
        yield
    except BaseExceptionGroup as group:
        raise next(leaves(cast("BaseException", group))) from None


async def for_each(items: Sequence[Item], work: Callable[[Item], Coroutine[Any, Any, None]], *, name: Callable[[Item], str]) -> None:
    """Do `work` for all at the same time, each in a task of that name; one alone needs none. The first error ends them all."""
    if len(items) == 1:
        await work(items[0])
        return
    with single_errors():
        async with anyio.create_task_group() as tasks:
            for item in items:
                tasks.start_soon(work, item, name=name(item))
