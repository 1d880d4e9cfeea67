"""Who can be stopped in this process, by id: sessions, executions, chat answers."""

from collections.abc import Callable, Generator
from contextlib import contextmanager

Stop = Callable[[], None]


class Cancellations:
    """A cancel request is a hint that may reach every process; the one that runs the thing acts on it."""

    def __init__(self) -> None:
        self._stops: dict[str, Stop] = {}

    @contextmanager
    def registered(self, name: str, stop: Stop) -> Generator[None]:
        self._stops[name] = stop
        try:
            yield
        finally:
            # A run that has taken the same thing up again meanwhile stays known.
            if self._stops.get(name) is stop:
                del self._stops[name]

    def cancel(self, name: str) -> bool:
        """Stop what is known under `name`; false when it does not run here."""
        stop = self._stops.get(name)
        if stop is None:
            return False
        stop()
        return True
