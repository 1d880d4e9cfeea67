"""Exception groups, unpacked where one error is what the caller asked for."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, cast


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
