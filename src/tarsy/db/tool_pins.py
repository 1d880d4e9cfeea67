"""Pins of tool servers, one for each server, stored with who accepted its tools and when."""

from collections.abc import Mapping

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.db.audit import AuditAction, add_audit_entry
from tarsy.db.connection import autocommit
from tarsy.db.rows import read
from tarsy.db.tables import tool_pins
from tarsy.domain.tool_pin import Fingerprints, ToolPin, digest


class ToolPinRepository:
    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def get(self, server: str) -> ToolPin | None:
        return (await self.all()).get(server)

    async def all(self) -> Mapping[str, ToolPin]:
        """Return the pins by their servers."""
        async with autocommit(self._engine).connect() as connection:
            rows = (await connection.execute(sa.select(tool_pins))).mappings()
            return {row["server"]: read(ToolPin, row) for row in rows}

    async def accept(self, server: str, tools: Fingerprints, *, actor: str) -> None:
        """Store what an administrator accepts in place of what was accepted before."""
        values = {"server": server, "tools": tools, "accepted_at": sa.func.now(), "accepted_by": actor}
        statement = insert(tool_pins).values(values).on_conflict_do_update(index_elements=["server"], set_=values)
        async with self._engine.begin() as connection:
            await connection.execute(statement)
            details = {"server": server, "tools": sorted(tools), "fingerprint": digest(tools)}
            await add_audit_entry(connection, actor=actor, action=AuditAction.TOOLS_ACCEPTED, details=details)
