"""The last webhook requests that were refused or failed, of all processes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.db.connection import autocommit
from tarsy.db.rows import columns, read
from tarsy.db.tables import refused_deliveries

# Enough to see who was refused and why; the metric counts all of them.
MAX_KEPT = 50
WARNED_FOR = timedelta(days=1)
_FORGET = sa.text(
    f"DELETE FROM refused_deliveries WHERE id < (SELECT id FROM refused_deliveries ORDER BY id DESC OFFSET {MAX_KEPT - 1} LIMIT 1)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedDelivery:
    """A webhook request that got an error response; nothing of it is stored."""

    at: datetime
    # The sender by the URL, or by the shape of the body if that was known; anyone can make it up.
    source: str
    # The address that the request came from.
    peer: str | None
    # One of a small set, for programs.
    reason: str
    status: int
    # The bytes of the body, or those that it declared.
    size: int
    # The text of the response.
    detail: str


def refusal_warnings(refused: Sequence[RefusedDelivery], now: datetime) -> list[tuple[str, datetime]]:
    """Return a sentence for each sender and reason of the last day, with the time of the last refusal."""
    groups: dict[tuple[str, str], list[RefusedDelivery]] = {}
    for one in refused:
        if now - one.at < WARNED_FOR:
            groups.setdefault((one.source, one.reason), []).append(one)
    return [
        (f"{len(group)} of the last {len(refused)} refused webhook requests came from {source}: {group[0].detail}", group[0].at)
        for (source, _), group in sorted(groups.items())
    ]


class RefusalRepository:
    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def add(self, refused: Sequence[RefusedDelivery]) -> None:
        """Store refused deliveries, and keep only the latest `MAX_KEPT`."""
        async with self._engine.begin() as connection:
            await connection.execute(sa.insert(refused_deliveries), [columns(one) for one in refused])
            await connection.execute(_FORGET)

    async def latest(self) -> list[RefusedDelivery]:
        """Return the refused deliveries that are kept, the latest first."""
        async with autocommit(self._engine).connect() as connection:
            rows = await connection.execute(sa.select(refused_deliveries).order_by(refused_deliveries.c.id.desc()).limit(MAX_KEPT))
            return [read(RefusedDelivery, row) for row in rows.mappings()]
