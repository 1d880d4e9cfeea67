"""What sessions need from the outside: the stored history of a session, and the session list that shows its progress."""

from collections.abc import Sequence
from typing import Protocol

from tarsy.domain.followup import ChatUserMessage
from tarsy.domain.history import StageRecord


class History(Protocol):
    """Reads the stages, executions and timelines of a session."""

    async def stages(self, session_id: str) -> Sequence[StageRecord]:
        """Return all stages and their executions in order, without timelines."""
        ...

    async def timelines(self, session_id: str) -> Sequence[StageRecord]:
        """Return all stages and their executions in order, with the timeline of each execution."""
        ...

    async def questions(self, session_id: str) -> Sequence[ChatUserMessage]:
        """Return every question asked about a session, oldest first."""
        ...


class Progress(Protocol):
    """Reports to the session list which stage a session runs; does not block."""

    def progress(self, session_id: str, *, stage_name: str, stage_index: int, stage_count: int) -> None: ...
