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
    # It is answered, or has a batch to act for.
    woken: anyio.Event = field(default_factory=anyio.Event)
    # What it is to do for itself and for others.
    batch: "Sequence[_Waiting[Wanted, Answer]]" = ()


class Turns(Generic[Wanted, Answer]):
    """Takes requests batch after batch; `do` answers each of a batch, in order, in one transaction.

    Up to `at_once` batches are under way at the same time. Beside another one, a batch begins when `enough` wait for it.
    """

    def __init__(
        self,
        do: Callable[[Sequence[Wanted]], Awaitable[Sequence[Answer]]],
        *,
        together: int,
        seconds: float,
        at_once: int = 1,
        enough: int = 1,
    ) -> None:
        self._do = do
        self._together = together
        # Longer than any healthy commit; a client that waits for it is told that the database is away.
        self._seconds = seconds
        self._at_once = at_once
        self._enough = enough
        self._waiting: list[_Waiting[Wanted, Answer]] = []
        self._under_way = 0

    async def take(self, wanted: Wanted) -> Answer:
        """Have `wanted` done, together with what else is asked for at this time."""
        mine: _Waiting[Wanted, Answer] = _Waiting(wanted)
        self._waiting.append(mine)
        self._begin()
        # The request that has the turn acts for all that have come so far, and must not be stopped when its own sender gives up waiting.
        with anyio.CancelScope(shield=True):
            if not mine.batch:
                await mine.woken.wait()
            if mine.batch:
                await self._act(mine.batch)
        if mine.answer is None:
            raise mine.error or RuntimeError("a request was neither answered nor refused")
        return mine.answer

    def _begin(self) -> None:
        """Give the turn to the first of those that wait, if there is one to give."""
        enough = self._enough if self._under_way else 1
        if self._under_way < self._at_once and len(self._waiting) >= enough:
            batch, self._waiting = self._waiting[: self._together], self._waiting[self._together :]
            self._under_way += 1
            batch[0].batch = batch
            batch[0].woken.set()

    async def _act(self, batch: Sequence[_Waiting[Wanted, Answer]]) -> None:
        """Do what waits, tell those whom it concerns, and leave the turn to those that have come meanwhile."""
        try:
            await self._do_all(batch)
        finally:
            self._under_way -= 1
            for waiting in batch:
                waiting.batch = ()
                waiting.woken.set()
            self._begin()

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
