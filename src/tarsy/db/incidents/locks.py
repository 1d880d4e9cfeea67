"""Who may write incidents: doors side by side, each with the keys of its alerts locked; everything else alone.

Two requests that speak of the same problem, on whichever replicas, follow each other. What a person does to incidents, and what the
passing of time does, can concern alerts of any key: it waits until no door is open, and is short.
"""

import zlib
from collections.abc import Iterable

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

# Two numbers that only these locks use.
_ALONE = 0x7A25_0002
_STRIPE = 0x7A25
# Keys share locks, so that a request of thousands of alerts does not fill the server's table of locks, which by default has room for
# 6,400: thirty connections with all of these take 3,840.
STRIPES = 128

_SHARED = sa.text(
    f"""
    SELECT count(pg_advisory_xact_lock({_STRIPE}, stripe)), pg_advisory_xact_lock_shared({_ALONE})
    FROM unnest(CAST(:stripes AS integer[])) AS s(stripe)
    """  # noqa: S608 - our own numbers
)
_EXCLUSIVE = sa.text(f"SELECT pg_advisory_xact_lock({_ALONE})")


async def lock_keys(connection: AsyncConnection, keys: Iterable[str]) -> None:
    """Wait for every transaction that writes incidents or alerts of these keys, and keep later ones waiting."""
    # Always in the same order, so that no two wait for each other.
    stripes = sorted({zlib.crc32(key.encode()) % STRIPES for key in keys})
    await connection.execute(_SHARED, {"stripes": stripes})


async def lock_all(connection: AsyncConnection) -> None:
    """Wait for every transaction that writes incidents, and keep later ones waiting."""
    await connection.execute(_EXCLUSIVE)
