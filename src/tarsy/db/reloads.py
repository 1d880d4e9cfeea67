"""Telling the other processes of the installation that the configuration is to be read anew."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.db import signals
from tarsy.db.audit import AuditAction, note


class ReloadNotices:
    def __init__(self, engine: AsyncEngine, *, pod_id: str) -> None:
        self._engine = engine
        self._pod_id = pod_id

    async def tell(self, actor: str, details: Mapping[str, Any]) -> None:
        """Write who had it done here, and let the others follow."""
        async with self._engine.begin() as connection:
            await note(connection, actor=actor, action=AuditAction.CONFIG_RELOADED, details=details)
            await signals.notify(connection, signals.RELOAD, self._pod_id)
