"""Mutes that people made; those of the configuration are in its files."""

from collections.abc import Sequence
from datetime import datetime
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db.audit import AuditAction, add_audit_entry
from tarsy.db.connection import autocommit
from tarsy.db.errors import NotFoundError
from tarsy.db.rows import columns, read
from tarsy.db.tables import mutes
from tarsy.domain.incident import Mute
from tarsy.domain.route import parse_matchers


async def mutes_at(connection: AsyncConnection, now: datetime) -> list[Mute]:
    """Return the mutes that have not ended."""
    rows = await connection.execute(sa.select(mutes).where(mutes.c.ends > now).order_by(mutes.c.starts, mutes.c.id))
    return [_mute(row) for row in rows.mappings()]


def _mute(row: sa.RowMapping) -> Mute:
    return read(Mute, row, match=tuple(matcher for text in row["match"] for matcher in parse_matchers(text)))


class MuteRepository:
    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def list(self, now: datetime) -> Sequence[Mute]:
        async with autocommit(self._engine).connect() as connection:
            return await mutes_at(connection, now)

    async def add(self, mute: Mute) -> Mute:
        """Store a mute; it is in force for every request that is received from now on."""
        mute_id = str(uuid4())
        values = {**columns(mute), "id": mute_id, "match": [str(matcher) for matcher in mute.match]}
        async with self._engine.begin() as connection:
            stored = (await connection.execute(sa.insert(mutes).values(values).returning(mutes))).mappings().one()
            details = {"mute_id": mute_id, "ends": mute.ends.isoformat(), "match": values["match"], "reason": mute.reason}
            await add_audit_entry(connection, actor=mute.actor, action=AuditAction.ALERTS_MUTED, details=details)
        return _mute(stored)

    async def end(self, mute_id: str, *, actor: str) -> None:
        """End a mute early.

        Raises:
            NotFoundError: there is no such mute, or it is in the configuration.
        """
        async with self._engine.begin() as connection:
            ended = await connection.execute(sa.delete(mutes).where(mutes.c.id == mute_id))
            if not ended.rowcount:
                raise NotFoundError("mute", mute_id)
            await add_audit_entry(connection, actor=actor, action=AuditAction.MUTE_ENDED, details={"mute_id": mute_id})
