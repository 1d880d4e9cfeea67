"""Names of the PostgreSQL notifications by which processes wake and stop each other. They carry hints: polling finds what they lose."""

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

# There is something to claim; the payload is a ClaimKind.
WORK = "tarsy_work"
# Stop; the payload is the id of a session, an execution or a chat message.
CANCEL = "tarsy_cancel"

_NOTIFY = sa.text("SELECT pg_notify(:name, :payload)")


async def notify(connection: AsyncConnection, name: str, payload: str) -> None:
    """Send when (and only if) the connection's transaction commits."""
    await connection.execute(_NOTIFY, {"name": name, "payload": payload})
