"""Text in the format of kubectl: columns, timestamps, ages."""

from collections.abc import Iterable, Sequence
from datetime import datetime


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lay out rows in columns."""
    lines = [tuple(headings), *(tuple(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headings))]
    return "\n".join("   ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines)


def cells(thing: object, *names: str) -> tuple[str, ...]:
    """Return fields of `thing` as the cells of a row."""
    return tuple(str(getattr(thing, name)) for name in names)


def timestamp(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def age(at: datetime, now: datetime) -> str:
    """Format the time since `at` as kubectl does."""
    seconds = max(0, int((now - at).total_seconds()))
    # An upper limit in seconds, the unit in seconds, its sign, and a smaller unit, which is left out when it is zero.
    formats = ((120, 1, "s", 0, ""), (600, 60, "m", 1, "s"), (10800, 60, "m", 0, ""), (28800, 3600, "h", 60, "m"))
    formats += ((172800, 3600, "h", 0, ""), (691200, 86400, "d", 3600, "h"))
    for limit, unit, sign, smaller, smaller_sign in formats:
        if seconds < limit:
            rest = seconds % unit // smaller if smaller else 0
            return f"{seconds // unit}{sign}" + (f"{rest}{smaller_sign}" if rest else "")
    return f"{seconds // 86400}d"
