"""The one door through which a status moves: an update that takes only rows from which the move tables allow it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

import sqlalchemy as sa

from tarsy.db.driver import Statement
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


@cache
def ending_statement(door: StatusDoor, target: StrEnum, columns: tuple[str, ...], answer: str = "id", computed: str = "") -> Statement:
    """The move of one row (`id`) to an end, with whatever columns change with it; answers with columns of it, if it could be moved."""
    return Statement(f"{ending_update(door, target, columns, computed)} RETURNING {answer}")


def ending_update(door: StatusDoor, target: StrEnum, columns: tuple[str, ...], computed: str = "", source: str = "") -> str:
    """The update of such a move, where it stands in a longer statement with rows of a `source` that there must be."""
    changes = ", ".join((*(f"{name} = :{name}" for name in columns), *([computed] if computed else ())))
    given = f" FROM {source}" if source else ""
    return f"UPDATE {door.table.name} SET status = '{target}', {changes}{given} WHERE id = :id AND status IN ({door.sources(target)})"  # noqa: S608 - names from our own tables


SESSIONS = StatusDoor(alert_sessions, SESSION_MOVES)
QUESTIONS = StatusDoor(chat_user_messages, FOLLOWUP_MOVES)
SCORES = StatusDoor(session_scores, FOLLOWUP_MOVES)
STAGES = StatusDoor(stages, RUN_MOVES)
EXECUTIONS = StatusDoor(agent_executions, RUN_MOVES)
