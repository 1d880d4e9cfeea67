"""The last line of the notes and comments that TARSy writes in other systems, by which it recognises them."""

import re

_LAST_LINE = re.compile(r"TARSy notification [0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\s*\Z")


def last_line(notification_id: str) -> str:
    return f"TARSy notification {notification_id}"


def is_own_write_back(text: str) -> bool:
    """Return whether TARSy wrote a note, a comment or an annotation."""
    # Jira marks characters by backslashes that would otherwise be formatting.
    return _LAST_LINE.search(text.replace("\\", "")) is not None
