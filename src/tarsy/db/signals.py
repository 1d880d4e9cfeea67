"""Names of the PostgreSQL notifications by which processes wake and stop each other. They carry hints: polling finds what they lose."""

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

# There is something to claim; the payload is its kind.
WORK = "tarsy_work"
# Stop; the payload is the id of an execution, or of what the work is about.
CANCEL = "tarsy_cancel"
# A pause began or ended; the payload is its chain.
PAUSE = "tarsy_pause"

_NOTIFY = sa.text("SELECT pg_notify(:name, :payload)")


async def notify(connection: AsyncConnection, name: str, payload: str) -> None:
    """Send when (and only if) the connection's transaction commits."""
    await connection.execute(_NOTIFY, {"name": name, "payload": payload})
