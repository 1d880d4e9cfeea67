"""The checked citations of a session's analysis, and of each answer to a question about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db.rows import citation_of
from tarsy.db.tables import alert_sessions, citations, timeline_events
from tarsy.domain.citation import CheckedCitation
from tarsy.domain.history import REMARKS
from tarsy.domain.status import TimelineStatus
from tarsy.domain.timeline import TimelineEventType


@dataclass(frozen=True, slots=True)
class PlacedCitation:
    """A citation of an execution's answer. `shift` takes its place to that in the text it is shown in."""

    execution_id: str
    checked: CheckedCitation
    shift: int

    @property
    def start(self) -> int:
        return self.checked.citation.start + self.shift

    @property
    def end(self) -> int:
        return self.checked.citation.end + self.shift


@dataclass(frozen=True, slots=True)
class Remark:
    """Something a statement claims that nothing cited supports."""

    execution_id: str
    statement: str
    complaint: str


@dataclass(frozen=True, slots=True)
class CheckedText:
    # Empty for an execution that has not answered.
    text: str
    citations: tuple[PlacedCitation, ...]
    remarks: tuple[Remark, ...]


class CitationRepository:
    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def of_analysis(self, session_id: str) -> CheckedText:
        """What checking found in the session's final analysis, which may be that of several agents."""
        query = sa.select(alert_sessions.c.final_analysis).where(alert_sessions.c.id == session_id)
        async with self._engine.connect() as connection:
            analysis = await connection.scalar(query) or ""
            answers = await _answers(connection, session_id)
            # Where in the whole each agent's part begins; a text that is no part of it is that of an earlier stage, or of a chat.
            shifts = {execution_id: analysis.find(answer["content"].strip()) for execution_id, answer in answers.items()}
            part_of = {execution_id: shift for execution_id, shift in shifts.items() if shift >= 0 and answers[execution_id]["told"]}
            return await _checked(connection, analysis, part_of, answers)

    async def of_execution(self, session_id: str, execution_id: str) -> CheckedText:
        """What checking found in the answer of one execution: an agent's, or that to a question."""
        async with self._engine.connect() as connection:
            answers = await _answers(connection, session_id)
            text = answers[execution_id]["content"] if execution_id in answers else ""
            return await _checked(connection, text, {execution_id: 0}, answers)


async def _answers(connection: AsyncConnection, session_id: str) -> Mapping[str, sa.RowMapping]:
    """The last answer of each execution, and whether it investigated."""
    table = timeline_events.c
    told = sa.text("(SELECT s.stage_type IN ('investigation', 'synthesis') FROM stages s WHERE s.id = timeline_events.stage_id) AS told")
    query = sa.select(table.execution_id, table.content, table.metadata, told).where(
        table.session_id == session_id,
        table.event_type == TimelineEventType.FINAL_ANALYSIS,
        table.status == TimelineStatus.COMPLETED,
    )
    rows = (await connection.execute(query.order_by(table.position))).mappings()
    return {row["execution_id"]: row for row in rows}


async def _checked(connection: AsyncConnection, text: str, shifts: Mapping[str, int], answers: Mapping[str, sa.RowMapping]) -> CheckedText:
    query = sa.select(citations).where(citations.c.execution_id.in_(list(shifts))).order_by(citations.c.execution_id, citations.c.number)
    found = [
        PlacedCitation(row["execution_id"], citation_of(row), shifts[row["execution_id"]])
        for row in (await connection.execute(query)).mappings()
    ]
    remarks = [
        Remark(execution_id, one["statement"], one["complaint"]) for execution_id in shifts for one in _remarks(answers.get(execution_id))
    ]
    return CheckedText(text, tuple(sorted(found, key=lambda one: (one.start, one.checked.citation.evidence_id))), tuple(remarks))


def _remarks(answer: sa.RowMapping | None) -> Sequence[Mapping[str, Any]]:
    return answer["metadata"].get(REMARKS, ()) if answer else ()
