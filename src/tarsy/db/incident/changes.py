"""Changes (deployments and the like): each stored once, found by time and labels."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db.connection import autocommit
from tarsy.db.retry import retried
from tarsy.db.rows import read, storable_json
from tarsy.db.tables import changes
from tarsy.domain.alert import Change, StoredChange
from tarsy.domain.incident import identity_of


async def store_changes(connection: AsyncConnection, received: Sequence[Change], now: datetime) -> None:
    """Store changes; a change that is received again, such as with its end, replaces the stored one."""
    if not received:
        return
    rows = {
        (key := identity_of(change.source, change.fingerprint)): {
            "id": str(uuid4()),
            "key": key,
            "source": change.source,
            "title": change.title,
            "outcome": change.outcome.value,
            "labels": storable_json(change.labels),
            "link": change.link,
            # A time in the future would appear on the chart of incidents that do not exist yet.
            "at": min(change.at, now) if change.at else now,
            "received_at": now,
            "body": change.body,
        }
        for change in received
    }
    statement = insert(changes)
    updated = {column.name: statement.excluded[column.name] for column in changes.c if column.name not in {"id", "key", "received_at"}}
    # In the same order in every transaction, so that there is no deadlock.
    await connection.execute(statement.on_conflict_do_update(index_elements=["key"], set_=updated), [rows[key] for key in sorted(rows)])


class ChangeRepository:
    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = autocommit(engine)

    async def between(
        self, since: datetime, until: datetime, *, labels: Mapping[str, str] | None = None, search: str = "", limit: int = 100
    ) -> list[StoredChange]:
        """Return the changes from `since` to `until`, the latest first; if given, only those with all the labels and with the text."""
        conditions = [changes.c.at >= since, changes.c.at <= until]
        if labels:
            conditions.append(changes.c.labels.contains(dict(labels)))
        if search:
            texts = (changes.c.title, changes.c.source, sa.cast(changes.c.labels, sa.Text), changes.c.body)
            conditions.append(sa.or_(*(column.icontains(search, autoescape=True) for column in texts)))
        query = sa.select(changes).where(*conditions).order_by(changes.c.at.desc(), changes.c.id).limit(limit)
        async with self._engine.connect() as connection:
            return [read(StoredChange, row) for row in (await connection.execute(query)).mappings()]


class RetryingChanges:
    """Reads changes as `ChangeRepository` does, but retries while the database is away: agents wait where a client gets an error."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = autocommit(engine)

    @retried()
    async def exist_since(self, since: datetime) -> bool:
        query = sa.select(changes.c.id).where(changes.c.at >= since).limit(1)
        async with self._engine.connect() as connection:
            return (await connection.execute(query)).first() is not None

    @retried()
    async def between(
        self, since: datetime, until: datetime, *, labels: Mapping[str, str] | None, search: str, limit: int
    ) -> list[StoredChange]:
        """See `ChangeRepository.between`."""
        return await ChangeRepository(self._engine).between(since, until, labels=labels, search=search, limit=limit)
