"""The key of the installation's tags, which the first process makes and all others read."""

import secrets

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.db.retry import retried
from tarsy.db.tables import installation

# As long as the digests that are made with it.
_SIZE = 32


@retried()
async def masking_key(engine: AsyncEngine) -> bytes:
    """Return the key, which stays the same as long as the database exists."""
    row = insert(installation).values(id=1, masking_key=secrets.token_bytes(_SIZE)).on_conflict_do_nothing()
    async with engine.begin() as connection:
        await connection.execute(row)
        return (await connection.execute(sa.select(installation.c.masking_key))).scalar_one()
