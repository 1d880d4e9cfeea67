"""The opaque cursor of keyset pagination, which names the last row of a page."""

import base64
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from tarsy.db.errors import BadCursorError


@dataclass(frozen=True, slots=True)
class Cursor:
    created_at: datetime
    id: str

    def encode(self) -> str:
        return base64.urlsafe_b64encode(f"{self.created_at.isoformat()}|{self.id}".encode()).decode().rstrip("=")

    @classmethod
    def decode(cls, text: str) -> "Cursor":
        """Return the cursor that `encode` wrote.

        Raises:
            BadCursorError: it is no such text.
        """
        try:
            padded = text.encode("ascii") + b"=" * (-len(text) % 4)
            moment, _, identity = base64.b64decode(padded, altchars=b"-_", validate=True).decode().partition("|")
            created_at = datetime.fromisoformat(moment)
            cursor = cls(created_at, str(UUID(identity)))
        except ValueError as error:
            raise BadCursorError("The cursor does not come from a page of this list.") from error
        # Only our own spelling, and only UTC: what else parses may be a moment PostgreSQL cannot hold.
        if cursor.encode() != text.rstrip("=") or created_at.utcoffset() != timedelta(0):
            raise BadCursorError("The cursor does not come from a page of this list.")
        return cursor
