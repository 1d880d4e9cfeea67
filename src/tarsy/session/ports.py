"""What sessions need to know of what is already stored, and whom they tell how far they are."""

from collections.abc import Sequence
from typing import Protocol

from tarsy.domain.followup import ChatUserMessage
from tarsy.domain.history import StageRecord


class History(Protocol):
    """Reads back stages, executions and what they said."""

    async def stages(self, session_id: str) -> Sequence[StageRecord]:
        """All stages and their executions in order, without what they said."""
        ...

    async def told(self, session_id: str) -> Sequence[StageRecord]:
        """The same with each execution's timeline."""
        ...

    async def questions(self, session_id: str) -> Sequence[ChatUserMessage]:
        """Every question asked about a session, oldest first."""
        ...


class Progress(Protocol):
    """Tells the session list how far a session is; never waits."""

    def progress(self, session_id: str, *, stage_name: str, stage_index: int, stage_count: int) -> None: ...
