"""The ports of sessions: where new ones are stored, where the history of one is read, and where its progress is reported."""

from collections.abc import Sequence
from typing import Protocol

from tarsy.domain.action import Action
from tarsy.domain.followup import ChatUserMessage
from tarsy.domain.history import StageRecord
from tarsy.domain.session import NewSession
from tarsy.domain.status import SessionStatus


class History(Protocol):
    """Reads the stages, executions and timelines of a session."""

    async def stages(self, session_id: str) -> Sequence[StageRecord]:
        """Return all stages and their executions in order, without timelines."""
        ...

    async def timelines(self, session_id: str) -> Sequence[StageRecord]:
        """Return all stages and their executions in order, with the timeline of each execution."""
        ...

    async def actions(self, session_id: str) -> Sequence[Action]:
        """Return the calls by which a session changed something, or would have, with what is known of their approvals."""
        ...

    async def questions(self, session_id: str) -> Sequence[ChatUserMessage]:
        """Return every question asked about a session, oldest first."""
        ...


class ProgressReporter(Protocol):
    """Reports to the session list which stage a session runs; does not block."""

    def progress(self, session_id: str, *, stage_name: str, stage_index: int, stage_count: int) -> None: ...


class SessionStore(Protocol):
    async def insert(self, session: NewSession) -> None: ...

    async def submitted(self, session_id: str) -> tuple[str, str, SessionStatus] | None:
        """Return the type and the text of a session's alert, and the status of the session; None if there is no such session."""
        ...
