"""Names of the PostgreSQL notifications by which processes wake and stop each other. They carry hints: polling finds what they lose."""

from tarsy.db.driver import Connection, Statement

# There is something to claim; the payload is its kind.
WORK = "tarsy_work"
# Stop; the payload is the id of an execution, or of what the work is about.
CANCEL = "tarsy_cancel"
# A pause began or ended; the payload is its chain.
PAUSE = "tarsy_pause"
# Read the configuration anew; the payload is the process that has done so already.
RELOAD = "tarsy_reload"

_NOTIFY = Statement("SELECT pg_notify(:name, :payload)")


async def notify(connection: Connection, name: str, payload: str) -> None:
    """Send when (and only if) the connection's transaction commits."""
    await _NOTIFY.rows(connection, {"name": name, "payload": payload})
