"""Whatever is asked for while a transaction is under way is done together in the next one: a storm costs few commits.

One request that cannot be met does not harm those that came at the same time.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import anyio

from tarsy.db.retry import is_transient, took_too_long

Wanted = TypeVar("Wanted")
Answer = TypeVar("Answer")


@dataclass(slots=True, eq=False)
class _Waiting(Generic[Wanted, Answer]):
    """A request whose sender waits for an answer."""

    wanted: Wanted
    answer: Answer | None = None
    error: Exception | None = None
    # It is answered, or it is its turn to act.
    woken: anyio.Event = field(default_factory=anyio.Event)

    @property
    def is_done(self) -> bool:
        return self.answer is not None or self.error is not None


class Turns(Generic[Wanted, Answer]):
    """Takes requests one batch after the other; `do` answers each of a batch, in order, in one transaction."""

    def __init__(self, do: Callable[[Sequence[Wanted]], Awaitable[Sequence[Answer]]], *, together: int, seconds: float) -> None:
        self._do = do
        self._together = together
        # Longer than any healthy commit; a client that waits for it is told that the database is away.
        self._seconds = seconds
        self._waiting: list[_Waiting[Wanted, Answer]] = []
        self._acting = False

    async def take(self, wanted: Wanted) -> Answer:
        """Have `wanted` done, together with what else is asked for at this time."""
        mine = _Waiting[Wanted, Answer](wanted)
        self._waiting.append(mine)
        # The request that has the turn acts for all that have come so far, and must not be stopped when its own sender gives up waiting.
        with anyio.CancelScope(shield=True):
            if self._acting:
                await mine.woken.wait()
            if not mine.is_done:
                await self._act()
        if mine.answer is None:
            raise mine.error or RuntimeError("a request was neither answered nor refused")
        return mine.answer

    async def _act(self) -> None:
        """Do what waits, tell those whom it concerns, and leave the turn to the first of those that have come meanwhile."""
        self._acting = True
        batch, self._waiting = self._waiting[: self._together], self._waiting[self._together :]
        try:
            await self._do_all(batch)
        finally:
            for waiting in batch:
                waiting.woken.set()
            self._acting = bool(self._waiting)
            if self._waiting:
                self._waiting[0].woken.set()

    async def _do_all(self, batch: Sequence[_Waiting[Wanted, Answer]]) -> None:
        error = await self._attempt(batch)
        if error is not None and is_transient(error) and not took_too_long(error):
            for waiting in batch:
                waiting.error = error
        elif error is not None:
            # One of them is to blame; the others shall not suffer for it.
            for waiting in batch:
                waiting.error = await self._attempt([waiting])

    async def _attempt(self, batch: Sequence[_Waiting[Wanted, Answer]]) -> Exception | None:
        try:
            with anyio.fail_after(self._seconds):
                answers = await self._do([waiting.wanted for waiting in batch])
        except Exception as error:  # noqa: BLE001 - raised again in those whom it concerns
            return error
        for waiting, answer in zip(batch, answers, strict=True):
            waiting.answer = answer
        return None
