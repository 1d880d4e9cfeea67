"""Requests of senders that number them: one that is sent again is answered as the first time, and counts once."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from tarsy.db.tables import webhook_deliveries


async def answered(connection: AsyncConnection, keys: Collection[str]) -> dict[str, Any]:
    """The answers that were given to these requests. Their keys must be locked."""
    if not keys:
        return {}
    query = sa.select(webhook_deliveries).where(webhook_deliveries.c.key.in_(list(keys)))
    return {row["key"]: row["answer"] for row in (await connection.execute(query)).mappings()}


async def remember_answers(connection: AsyncConnection, answers: Mapping[str, Any], now: datetime) -> None:
    if answers:
        rows = [{"key": key, "received_at": now, "answer": answer} for key, answer in answers.items()]
        await connection.execute(sa.insert(webhook_deliveries), rows)
