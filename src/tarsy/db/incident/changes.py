"""Changes: stored once each, found by their time and their labels."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db.driver import Statement, borrowed
from tarsy.db.retry import retrying
from tarsy.db.rows import read, storable_json
from tarsy.db.tables import changes
from tarsy.domain.alert import Change, StoredChange
from tarsy.domain.incident import identity_of

# Asked by every agent that begins.
_ANY_SINCE = Statement("SELECT FROM changes WHERE at >= :since LIMIT 1")


async def store_changes(connection: AsyncConnection, told: Sequence[Change], now: datetime) -> None:
    """Store changes; what is told again of one, such as its end, replaces what was told before."""
    if not told:
        return
    rows = {row["key"]: row for row in (_row(change, now) for change in told)}
    wanted = insert(changes)
    kept = {"id", "key", "received_at"}
    renewed = {column.name: wanted.excluded[column.name] for column in changes.c if column.name not in kept}
    # In the same order in every transaction, so that no two wait for each other.
    await connection.execute(wanted.on_conflict_do_update(index_elements=["key"], set_=renewed), [rows[key] for key in sorted(rows)])


def _row(change: Change, now: datetime) -> dict[str, Any]:
    return {
        "id": str(uuid4()),
        "key": identity_of(change.source, change.fingerprint),
        "source": change.source,
        "title": change.title,
        "outcome": change.outcome.value,
        "labels": storable_json(change.labels),
        "link": change.link,
        # A time to come would stand on the chart of incidents that are not there yet.
        "at": min(change.at, now) if change.at else now,
        "received_at": now,
        "body": change.body,
    }


class ChangeRepository:
    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def between(
        self, since: datetime, until: datetime, *, labels: Mapping[str, str] | None = None, search: str = "", limit: int = 100
    ) -> list[StoredChange]:
        """What was changed from `since` to `until`, with all of these labels and this text in it if any are given; the latest first."""
        conditions = [changes.c.at >= since, changes.c.at <= until]
        if labels:
            conditions.append(changes.c.labels.contains(dict(labels)))
        if search:
            told = (changes.c.title, changes.c.source, sa.cast(changes.c.labels, sa.Text), changes.c.body)
            conditions.append(sa.or_(*(column.icontains(search, autoescape=True) for column in told)))
        query = sa.select(changes).where(*conditions).order_by(changes.c.at.desc(), changes.c.id).limit(limit)
        async with self._engine.connect() as connection:
            return [read(StoredChange, row) for row in (await connection.execute(query)).mappings()]


class StoredChanges:
    """The changes as agents read them, who wait for a database that is away where a client would be told."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def exist_since(self, since: datetime) -> bool:
        async def attempt() -> bool:
            async with borrowed(self._engine) as connection:
                return await _ANY_SINCE.row(connection, {"since": since}) is not None

        return await retrying(attempt)

    async def between(
        self, since: datetime, until: datetime, *, labels: Mapping[str, str] | None, search: str, limit: int
    ) -> list[StoredChange]:
        """See `ChangeRepository.between`."""
        return await retrying(lambda: ChangeRepository(self._engine).between(since, until, labels=labels, search=search, limit=limit))
