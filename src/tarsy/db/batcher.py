"""Handling requests in batches: those that arrive during one transaction are handled together in the next, so that a storm costs few commits."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import anyio

from tarsy.db.retry import is_transient, time_limit, took_too_long

Request = TypeVar("Request")
Answer = TypeVar("Answer")


@dataclass(slots=True, eq=False)
class _Waiting(Generic[Request, Answer]):
    """A request whose sender waits for the answer."""

    request: Request
    answer: Answer | None = None
    error: Exception | None = None
    # Set when it is answered, or has a batch to handle.
    woken: anyio.Event = field(default_factory=anyio.Event)
    # The requests that its task handles, its own among them.
    batch: "Sequence[_Waiting[Request, Answer]]" = ()


class Batcher(Generic[Request, Answer]):
    """Collects requests into batches; `handle` answers those of one batch, in order, in one transaction.

    Up to `concurrency` batches run at the same time. A batch of less than `min_batch` requests does not start beside another one.
    A request that fails does not harm the others of its batch.
    """

    def __init__(
        self,
        handle: Callable[[Sequence[Request]], Awaitable[Sequence[Answer]]],
        *,
        max_batch: int,
        seconds: float,
        concurrency: int = 1,
        min_batch: int = 1,
    ) -> None:
        self._handle = handle
        self._max_batch = max_batch
        # The time limit of a batch.
        self._seconds = seconds
        self._concurrency = concurrency
        self._min_batch = min_batch
        self._waiting: list[_Waiting[Request, Answer]] = []
        self._running = 0

    async def submit(self, request: Request) -> Answer:
        """Return the answer to `request`, which is handled together with others, or raise the error that it caused."""
        mine: _Waiting[Request, Answer] = _Waiting(request)
        self._waiting.append(mine)
        self._start_batch()
        # The task that handles a batch acts for all its senders, and must not be stopped when its own sender gives up waiting.
        with anyio.CancelScope(shield=True):
            if not mine.batch:
                await mine.woken.wait()
            if mine.batch:
                await self._run_batch(mine.batch)
        if mine.answer is None:
            raise mine.error or RuntimeError("a request was neither answered nor refused")
        return mine.answer

    def _start_batch(self) -> None:
        """Give the requests that wait to the task of the first of them, if another batch may run."""
        if self._running < self._concurrency and len(self._waiting) >= (self._min_batch if self._running else 1):
            batch, self._waiting = self._waiting[: self._max_batch], self._waiting[self._max_batch :]
            self._running += 1
            batch[0].batch = batch
            batch[0].woken.set()

    async def _run_batch(self, batch: Sequence[_Waiting[Request, Answer]]) -> None:
        try:
            error = await self._attempt(batch)
            if error is not None and (len(batch) == 1 or (is_transient(error) and not took_too_long(error))):
                for waiting in batch:
                    waiting.error = error
            elif error is not None:
                # One of them is to blame: each is handled alone.
                for waiting in batch:
                    waiting.error = await self._attempt([waiting])
        finally:
            self._running -= 1
            for waiting in batch:
                waiting.batch = ()
                waiting.woken.set()
            self._start_batch()

    async def _attempt(self, batch: Sequence[_Waiting[Request, Answer]]) -> Exception | None:
        try:
            with time_limit(self._seconds):
                answers = await self._handle([waiting.request for waiting in batch])
        except Exception as error:  # noqa: BLE001 - raised again in the tasks of the senders
            return error
        for waiting, answer in zip(batch, answers, strict=True):
            waiting.answer = answer
        return None
