"""What intake needs from the rest of the program."""

from typing import Protocol


class IntakeWatch(Protocol):
    """Is told of what came in once it is stored, and of what was refused."""

    def taken(self, source: str, action: str, alerts: int) -> None: ...

    def changed(self, source: str, changes: int) -> None: ...

    def investigated(self, alert_type: str) -> None: ...

    def refused(self, source: str, reason: str) -> None: ...


class Unwatched:
    """Counts nothing."""

    def taken(self, source: str, action: str, alerts: int) -> None: ...

    def changed(self, source: str, changes: int) -> None: ...

    def investigated(self, alert_type: str) -> None: ...

    def refused(self, source: str, reason: str) -> None: ...
