"""What does a kind of work is loaded with the first work of its kind."""

import sys
from pathlib import Path
from typing import Any, cast

import pytest

from tarsy.domain.status import RunStatus
from tarsy.domain.work import Claimed, Parking, RunEnd, WorkRules
from tarsy.queue.handler import Handler
from tarsy.queue.late_handler import LateHandler
from tarsy.session.dependencies import SCORINGS, RunScope

MODULE = "heavy_work"


class Scores:
    rules: WorkRules = SCORINGS

    async def run(self, claimed: Claimed[str], scope: RunScope) -> RunEnd | Parking:
        del claimed, scope
        return RunEnd.FINISHED

    async def end_early(self, claimed: Claimed[str], status: RunStatus) -> RunEnd:
        del claimed, status
        return RunEnd.WRITTEN


async def test_a_handler_is_loaded_once_by_the_first_work_of_its_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.joinpath(f"{MODULE}.py").write_text("")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    made: list[Handler[str]] = []

    def make() -> Handler[str]:
        assert MODULE in sys.modules
        made.append(Scores())
        return made[-1]

    handler, claimed = LateHandler(SCORINGS, MODULE, make), cast("Claimed[Any]", None)
    assert (handler.rules.kind, made, MODULE in sys.modules) == (SCORINGS.kind, [], False)
    assert await handler.run(claimed, RunScope()) is RunEnd.FINISHED
    assert await handler.end_early(claimed, RunStatus.CANCELLED) is RunEnd.WRITTEN
    assert len(made) == 1
    del sys.modules[MODULE]
