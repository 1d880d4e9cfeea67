"""Which part of the program does which kind of work."""

from typing import assert_never

from tarsy.domain.work import ChatWork, ScoreWork, SessionWork, Work
from tarsy.session.dependencies import Dependencies, RunScope
from tarsy.session.executor import SessionExecutor
from tarsy.session.followup import FollowupExecutor


class WorkExecutor:
    def __init__(self, dependencies: Dependencies) -> None:
        self._sessions = SessionExecutor(dependencies)
        self._followups = FollowupExecutor(dependencies)

    async def execute(self, work: Work, scope: RunScope) -> None:
        match work:
            case SessionWork():
                await self._sessions.execute(work, scope)
            case ChatWork():
                await self._followups.answer(work, scope)
            case ScoreWork():
                await self._followups.score(work, scope)
            case _:
                assert_never(work)
