"""The one door through which a status moves: an update that takes only rows from which the move tables allow it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import sqlalchemy as sa

from tarsy.db.tables import agent_executions, alert_sessions, chat_user_messages, session_scores, sql_list, stages
from tarsy.domain.status import FOLLOWUP_MOVES, RUN_MOVES, SESSION_MOVES, sources_of


@dataclass(frozen=True, slots=True, eq=False)
class StatusDoor:
    """The statuses of one table."""

    table: sa.Table
    moves: Mapping[Any, frozenset[Any]]

    def move(self, target: StrEnum, **values: Any) -> sa.Update:
        """The update to `target`; the caller says which rows, and gives whatever changes with the status."""
        sources = [source.value for source in sources_of(target, self.moves)]
        return sa.update(self.table).where(self.table.c.status.in_(sources)).values(status=target.value, **values)

    def sources(self, target: StrEnum) -> str:
        """The compare side of a move to `target`, for a statement that is written out."""
        return sql_list(sources_of(target, self.moves))


SESSIONS = StatusDoor(alert_sessions, SESSION_MOVES)
QUESTIONS = StatusDoor(chat_user_messages, FOLLOWUP_MOVES)
SCORES = StatusDoor(session_scores, FOLLOWUP_MOVES)
STAGES = StatusDoor(stages, RUN_MOVES)
EXECUTIONS = StatusDoor(agent_executions, RUN_MOVES)
