"""Stopping work that runs in this process: the scope of one run, and the register by which cancel requests find it."""

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager

import anyio

from tarsy.agent.execution import StopReason, StopState
from tarsy.domain.work import Park
from tarsy.kit.groups import single_errors

Stop = Callable[[], None]


class Cancellations:
    """Sessions, executions and chat answers that can be stopped in this process, by id. A cancel request may reach every process."""

    def __init__(self) -> None:
        self._stops: dict[str, Stop] = {}

    @contextmanager
    def registered(self, name: str, stop: Stop) -> Generator[None]:
        self._stops[name] = stop
        try:
            yield
        finally:
            # A newer run of the same work may have registered meanwhile.
            if self._stops.get(name) is stop:
                del self._stops[name]

    def cancel(self, name: str) -> bool:
        """Stop the work registered as `name`; return False if it does not run here."""
        stop = self._stops.get(name)
        if stop is None:
            return False
        stop()
        return True


class RunScope:
    """The scope of one run, which can be stopped for a reason."""

    def __init__(self, stopping: StopState | None = None) -> None:
        self.stopping = stopping or StopState()
        # Set if the run was stopped to be parked.
        self.parking: Park | None = None
        self._scope = anyio.CancelScope()

    def stop(self, reason: StopReason) -> None:
        """Stop the run; the first reason counts."""
        if self.stopping.own_reason is None:
            self.stopping.own_reason = reason
        self._scope.cancel()

    def park(self, parking: Park) -> None:
        """Stop the run until the event it waits for has happened."""
        if self.stopping.own_reason is None:
            self.parking = parking
        self.stop(StopReason.PARKED)

    @property
    def stopped(self) -> StopReason | None:
        """Why the run was cut short, once it was."""
        return self.stopping.own_reason if self._scope.cancelled_caught else None

    @asynccontextmanager
    async def limited(self, seconds: float | None) -> AsyncGenerator[None]:
        """Run the body until it is done, stopped, or `seconds` have passed."""

        async def time_limit(seconds: float) -> None:
            await anyio.sleep(max(seconds, 0))
            self.stop(StopReason.TIMED_OUT)

        with self._scope, single_errors():
            async with anyio.create_task_group() as tasks:
                if seconds is not None:
                    tasks.start_soon(time_limit, seconds, name="time limit")
                yield
                tasks.cancel_scope.cancel()
