"""What a new commit would change for agents, for the operator who is asked to accept it. Pure module."""

import difflib
from collections.abc import Iterator, Mapping


def difference(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """The files of two commits compared, in the form of `diff -u`; empty if they are the same."""
    return "".join(line for path in sorted({*before, *after}) for line in _file(path, before.get(path), after.get(path)))


def _file(path: str, before: str | None, after: str | None) -> Iterator[str]:
    names = (f"a/{path}" if before is not None else "/dev/null", f"b/{path}" if after is not None else "/dev/null")
    lines = ((before or "").splitlines(keepends=True), (after or "").splitlines(keepends=True))
    for line in difflib.unified_diff(*lines, *names):
        yield line if line.endswith("\n") else f"{line}\n"
