"""What the audit log says about a session."""

from collections.abc import Sequence

from tarsy.db.audit import AuditEntry, AuditFilter, AuditLog


async def entries_about(audit: AuditLog, session_id: str) -> Sequence[AuditEntry]:
    """The entries about a session, oldest first."""
    return [*reversed(await audit.list(AuditFilter(session_id=session_id), limit=1000))]
