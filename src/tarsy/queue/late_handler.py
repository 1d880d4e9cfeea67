"""A handler that is loaded with the first work of its kind: a process that waits for work, or serves only, does without all that agents need."""

from collections.abc import Callable
from typing import Generic, TypeVar

from tarsy.domain.status import RunStatus
from tarsy.domain.work import Claimed, Parking, RunEnd, WorkRules
from tarsy.kit.imports import load
from tarsy.queue.handler import Handler
from tarsy.session.dependencies import RunScope

Noun = TypeVar("Noun")


class LateHandler(Generic[Noun]):
    """Stands for the handler that `make` makes once `module` was imported, beside the event loop."""

    def __init__(self, rules: WorkRules, module: str, make: Callable[[], Handler[Noun]]) -> None:
        self.rules = rules
        self._module = module
        self._make = make
        self._made: Handler[Noun] | None = None

    async def run(self, claimed: Claimed[Noun], scope: RunScope) -> RunEnd | Parking:
        return await (await self._handler()).run(claimed, scope)

    async def end_early(self, claimed: Claimed[Noun], status: RunStatus) -> RunEnd:
        return await (await self._handler()).end_early(claimed, status)

    async def _handler(self) -> Handler[Noun]:
        await load(self._module)
        self._made = self._made or self._make()
        return self._made
