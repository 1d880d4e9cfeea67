"""The journal as runs use it: what need not be written at once waits a moment for the next step of its work, and goes alone if none comes."""

import asyncio
from collections.abc import Callable
from functools import partial

import anyio

from tarsy.agent.ports import Journal
from tarsy.domain.claim import Claim, ClaimLostError
from tarsy.domain.step import Committed, Step, StoredRun

# Too short to be seen. What a quick model says is whole by then, and takes one step instead of two.
MOMENT = 0.01

Told = Callable[[], None]


class LateJournal:
    """Writes to the journal below it."""

    def __init__(self, journal: Journal, *, moment: float = MOMENT) -> None:
        self._journal = journal
        self._moment = moment
        # Of each claim, what waits or is being written. Most of the time there is nothing.
        self._waiting: dict[Claim, _Waiting] = {}

    def soon(self, step: Step, written: Told) -> None:
        waiting = self._waiting.get(step.claim)
        if waiting is None:
            waiting = self._waiting[step.claim] = _Waiting(self._journal, self._moment, partial(self._forget, step.claim))
        waiting.add(step, written)

    async def commit(self, step: Step) -> Committed:
        waiting = self._waiting.get(step.claim)
        if waiting is None:
            return await self._journal.commit(step)
        return await waiting.commit(step)

    def _forget(self, claim: Claim) -> None:
        self._waiting.pop(claim, None)

    async def load(self, execution_id: str) -> StoredRun:
        return await self._journal.load(execution_id)


class _Waiting:
    """What waits of one claim. Its steps are written one after the other: none may overtake what waited before it."""

    def __init__(self, journal: Journal, moment: float, emptied: Callable[[], None]) -> None:
        self._journal = journal
        self._moment = moment
        self._emptied = emptied
        self._step: Step | None = None
        self._told: tuple[Told, ...] = ()
        self._turn = anyio.Lock(fast_acquire=True)
        self._timer: asyncio.TimerHandle | None = None
        # The write of what no step has taken along.
        self._task: asyncio.Task[None] | None = None
        self._alone = anyio.CancelScope()
        # What made it fail: the run has to hear of it.
        self._failure: Exception | None = None

    def add(self, step: Step, written: Told) -> None:
        self._hold(self._step.then(step) if self._step else step, (*self._told, written))

    async def commit(self, step: Step) -> Committed:
        await self._take_turn()
        try:
            if failure := self._failure:
                self._failure = None
                raise failure
            return await self._write(step)
        finally:
            self._end_turn()

    async def _take_turn(self) -> None:
        try:
            await self._turn.acquire()
        except anyio.get_cancelled_exc_class():
            # A run that is being stopped still has its last step to write, and does not wait for the database to come back before.
            self._alone.cancel()
            with anyio.CancelScope(shield=True):
                await self._turn.acquire()

    def _end_turn(self) -> None:
        self._turn.release()
        if not (self._step or self._failure or self._turn.locked()):
            self._emptied()

    def _hold(self, step: Step, told: tuple[Told, ...]) -> None:
        self._step, self._told = step, told
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._moment, self._write_alone)

    async def _write(self, step: Step | None) -> Committed:
        """Write `step` and what waited for it."""
        waited, told = self._step, self._told
        whole = waited.then(step) if waited and step else waited or step
        if whole is None:
            return Committed()
        self._step, self._told = None, ()
        if self._timer:
            self._timer.cancel()
            self._timer = None
        committed = await self._journal.commit(whole)
        if committed.refused and waited:
            # Refused is the step that wants to be the last; what waited goes with the one that comes instead.
            self._hold(waited, told)
        elif not committed.refused:
            for tell in told:
                tell()
        return committed

    def _write_alone(self) -> None:
        self._timer = None
        self._task = asyncio.get_running_loop().create_task(self._written_alone())

    async def _written_alone(self) -> None:
        await self._turn.acquire()
        try:
            with anyio.CancelScope() as self._alone:
                await self._write(None)
        except ClaimLostError:
            # The next step of the run is told so, too.
            pass
        except Exception as error:  # noqa: BLE001 - raised again in the run
            self._failure = error
        finally:
            self._end_turn()
