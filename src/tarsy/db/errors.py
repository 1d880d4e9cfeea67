"""Errors of the database layer: what a caller asked for is missing or not possible, or there is no database to work with."""


class NotFoundError(LookupError):
    """The record does not exist, or was deleted."""

    def __init__(self, kind: str, identity: str) -> None:
        super().__init__(f"There is no {kind} {identity}.")


class ConflictError(Exception):
    """It exists, but its state does not allow the request; the text names the required state."""


class QueueFullError(Exception):
    """No more sessions may wait. The sender is not at fault: the same request may succeed later."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"{limit} sessions are waiting already, the most that the queue accepts (queue.max_queue_size).")
        self.limit = limit


class BadCursorError(ValueError):
    """The cursor of a request does not come from a page."""


class DatabaseUnavailableError(Exception):
    """The database cannot be used. The operator can act on the text."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(f"{problem}\n{remedy}")
        self.problem = problem
        self.remedy = remedy
