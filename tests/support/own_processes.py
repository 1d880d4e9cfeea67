"""The processes that the running test started. Earlier tests may have left helpers of the standard library behind in the same worker."""

import psutil

_earlier: set[int] = set()


def note_earlier() -> None:
    """Remember what runs before the test does anything."""
    _earlier.clear()
    _earlier.update(child.pid for child in psutil.Process().children(recursive=True))


def children(*, recursive: bool = False) -> list[psutil.Process]:
    return [child for child in psutil.Process().children(recursive=recursive) if child.pid not in _earlier]
