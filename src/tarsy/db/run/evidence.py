"""Evidence: what the agents of a session saw, by the ids under which they cite it, and their checked citations."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tarsy.db.connection import autocommit
from tarsy.db.errors import NotFoundError
from tarsy.db.retry import retried
from tarsy.db.rows import Row, citation_of
from tarsy.db.tables import alert_sessions, citations, mcp_interactions, timeline_events
from tarsy.domain.citation import CheckedCitation, ClaimSeverity
from tarsy.domain.evidence import ALERT, RUNBOOK, AnsweredCall, Evidence, call_number
from tarsy.domain.history import REMARKS
from tarsy.domain.interaction import MCPInteractionKind
from tarsy.domain.status import TimelineStatus
from tarsy.domain.timeline import TimelineEventType
from tarsy.domain.tool import ToolName, ToolOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenEvidence:
    """A tool result, a note, the alert or the runbook, without its text."""

    id: str
    # Absent for the alert and the runbook.
    stage_id: str | None = None
    execution_id: str | None = None
    server: str | None = None
    tool: str | None = None
    arguments: str | None = None
    read_at: datetime | None = None
    # Characters of the stored text.
    size: int
    is_error: bool = False
    # The call was not made: it shows nothing about the world.
    refused: bool = False


@dataclass(frozen=True, slots=True)
class EvidenceText:
    seen: SeenEvidence
    # As stored: masked, not shortened.
    text: str
    # Its agent saw it with its repetitions folded.
    folded: bool = False


# Of a call that was repeated after a crash, the later result. The event of the call has the arguments. A note to several agents is one.
_RESULTS = """
    SELECT DISTINCT ON (CASE t.event_type WHEN 'tool_result' THEN t.execution_id END, t.metadata ->> 'evidence_id')
        t.metadata ->> 'evidence_id' AS id, t.stage_id, t.execution_id, t.metadata, length(t.content) AS size, c.content AS arguments,
        t.position {more}
    FROM timeline_events t
    LEFT JOIN timeline_events c ON c.execution_id = t.execution_id AND c.event_type = 'llm_tool_call'
        AND c.metadata ->> 'evidence_id' = t.metadata ->> 'evidence_id'
    WHERE t.session_id = CAST(:session_id AS uuid) AND t.event_type IN ('tool_result', 'note') AND t.metadata ? 'evidence_id'
        AND t.status NOT IN ('streaming', 'interrupted') {only}
    ORDER BY CASE t.event_type WHEN 'tool_result' THEN t.execution_id END, t.metadata ->> 'evidence_id', t.position DESC
"""
_ALL = sa.text(_RESULTS.format(more="", only=""))
_ONE = sa.text(_RESULTS.format(more=", t.content AS text", only="AND t.metadata ->> 'evidence_id' = :id"))
# An execution may cite results of its own, of the sub-agents that it dispatched, and of earlier stages. Of a repeated call, the later result.
_CITED = sa.text(
    """
    SELECT DISTINCT ON (t.metadata ->> 'evidence_id') t.metadata ->> 'evidence_id' AS evidence_id, t.content, t.metadata, c.content AS arguments
    FROM agent_executions own
    JOIN stages own_stage ON own_stage.id = own.stage_id
    JOIN timeline_events t ON t.session_id = own.session_id
    JOIN stages s ON s.id = t.stage_id
    JOIN agent_executions e ON e.id = t.execution_id
    LEFT JOIN timeline_events c ON c.execution_id = t.execution_id AND c.event_type = 'llm_tool_call'
        AND c.metadata ->> 'evidence_id' = t.metadata ->> 'evidence_id'
    WHERE own.id = CAST(:execution_id AS uuid) AND t.event_type IN ('tool_result', 'note') AND t.status NOT IN ('streaming', 'interrupted')
        AND (CAST(:ids AS text[]) IS NULL OR t.metadata ->> 'evidence_id' = ANY(CAST(:ids AS text[])))
        AND (s.stage_index < own_stage.stage_index OR e.id = own.id OR e.parent_execution_id = own.id)
    ORDER BY t.metadata ->> 'evidence_id', t.position DESC
    """
)


class EvidenceRepository:
    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = autocommit(engine)

    async def list(self, session_id: str) -> list[SeenEvidence]:
        """Return everything that can be cited in a session: the alert and the runbook, then the results in their order."""
        given = await self._given(session_id)
        async with self._engine.connect() as connection:
            rows = (await connection.execute(_ALL, {"session_id": session_id})).mappings().all()
        results = [_seen(row) for row in sorted(rows, key=lambda row: row["position"])]
        return [*(SeenEvidence(id=name, size=len(text)) for name, text in given.items()), *results]

    async def read(self, session_id: str, evidence_id: str) -> EvidenceText:
        """Return one piece of evidence with its text.

        Raises:
            NotFoundError: nothing in the session has this id.
        """
        given = await self._given(session_id)
        if evidence_id in given:
            return EvidenceText(SeenEvidence(id=evidence_id, size=len(given[evidence_id])), given[evidence_id])
        async with self._engine.connect() as connection:
            row = (await connection.execute(_ONE, {"session_id": session_id, "id": evidence_id})).mappings().first()
        if row is None:
            raise NotFoundError("evidence", evidence_id)
        return EvidenceText(_seen(row), row["text"], row["metadata"].get("folded", False))

    async def _given(self, session_id: str) -> Mapping[str, str]:
        table = alert_sessions.c
        default = table.chain_snapshot["default_runbook"].as_string()
        query = sa.select(table.alert_data, sa.func.coalesce(table.runbook, default, "").label("runbook")).where(table.id == session_id)
        async with self._engine.connect() as connection:
            row = (await connection.execute(query)).one()
        return {name: text for name, text in ((ALERT, row.alert_data), (RUNBOOK, row.runbook)) if text.strip()}


def _seen(row: sa.RowMapping) -> SeenEvidence:
    metadata: Mapping[str, Any] = row["metadata"]
    return SeenEvidence(
        id=row["id"],
        stage_id=str(row["stage_id"]),
        execution_id=str(row["execution_id"]),
        server=metadata.get("server_name"),
        tool=metadata.get("tool_name"),
        arguments=row["arguments"],
        read_at=datetime.fromisoformat(at) if (at := metadata.get("read_at") or metadata.get("noted_at")) else None,
        size=row["size"],
        is_error=metadata.get("is_error", False),
        refused=metadata.get("refused", False),
    )


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
    """A claim of a statement that nothing cited supports."""

    execution_id: str
    statement: str
    complaint: str
    severity: ClaimSeverity


@dataclass(frozen=True, slots=True)
class CheckedText:
    # Empty for an execution that has not answered.
    text: str
    citations: tuple[PlacedCitation, ...] = ()
    remarks: tuple[Remark, ...] = ()


class CitationRepository:
    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = autocommit(engine)

    async def of_analysis(self, session_id: str) -> CheckedText:
        """Return the checked citations of the session's final analysis, which may be that of several agents."""
        query = sa.select(alert_sessions.c.final_analysis).where(alert_sessions.c.id == session_id)
        async with self._engine.connect() as connection:
            analysis = await connection.scalar(query) or ""
            answers = await _answers(connection, session_id)
            # Where in the analysis each agent's part begins; a text that is no part of it is that of an earlier stage, or of a chat.
            shifts = {execution_id: analysis.find(answer["content"].strip()) for execution_id, answer in answers.items()}
            part_of = {
                execution_id: shift for execution_id, shift in shifts.items() if shift >= 0 and answers[execution_id]["investigated"]
            }
            return await _checked(connection, analysis, part_of, answers)

    async def of_execution(self, session_id: str, execution_id: str) -> CheckedText:
        """Return the checked citations in the answer of one execution: an agent's, or that to a question."""
        async with self._engine.connect() as connection:
            answers = await _answers(connection, session_id)
            text = answers[execution_id]["content"] if execution_id in answers else ""
            return await _checked(connection, text, {execution_id: 0}, answers)


async def _answers(connection: AsyncConnection, session_id: str) -> Mapping[str, sa.RowMapping]:
    """Return the last answer of each execution, and whether it investigated."""
    table = timeline_events.c
    investigated = sa.text(
        "(SELECT s.stage_type IN ('investigation', 'synthesis') FROM stages s WHERE s.id = timeline_events.stage_id) AS investigated"
    )
    query = sa.select(table.execution_id, table.content, table.metadata, investigated).where(
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
        # Remarks from before there were two severities have none.
        Remark(execution_id, one["statement"], one["complaint"], ClaimSeverity(one.get("severity", ClaimSeverity.REMARK)))
        for execution_id in shifts
        if execution_id in answers
        for one in answers[execution_id]["metadata"].get(REMARKS, ())
    ]
    return CheckedText(text, tuple(sorted(found, key=lambda one: (one.start, one.checked.citation.evidence_id))), tuple(remarks))


class StoredResults:
    """Tool results and citable evidence as agents read them, who wait for a database that is away."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = autocommit(engine)

    @retried()
    async def read(self, execution_id: str, call_id: str) -> ToolOutcome | None:
        """Return the whole result of a call, if there is one."""
        call = mcp_interactions.c
        query = sa.select(call.result, call.is_error).where(call.execution_id == execution_id, call.call_id == call_id).limit(1)
        async with self._engine.connect() as connection:
            row = (await connection.execute(query)).first()
        return ToolOutcome(row.result["content"], row.is_error) if row else None

    @retried()
    async def cited(self, execution_id: str, ids: Collection[str] | None = None) -> Sequence[Evidence]:
        """Return the evidence that an execution may cite; with `ids`, only these."""
        if ids is not None and not ids:
            return []
        async with self._engine.connect() as connection:
            rows = await connection.execute(_CITED, {"execution_id": execution_id, "ids": None if ids is None else list(ids)})
            return [evidence_of(row) for row in rows.mappings()]

    @retried()
    async def answered(self, execution_id: str) -> Sequence[AnsweredCall]:
        """Return the calls of an execution that have a result, in the order in which they were made."""
        call = mcp_interactions.c
        query = sa.select(call.evidence_id, call.server, call.tool, call.arguments).where(
            call.execution_id == execution_id, call.kind == MCPInteractionKind.TOOL_CALL.value, call.evidence_id.is_not(None)
        )
        async with self._engine.connect() as connection:
            rows = (await connection.execute(query.order_by(call.started_at, call.id))).all()
        made = [AnsweredCall(row.evidence_id, str(ToolName(row.server, row.tool or "")), row.arguments or "") for row in rows]
        return sorted(made, key=lambda one: call_number(one.evidence_id))


def evidence_of(row: Row) -> Evidence:
    metadata = row["metadata"]
    name = ToolName(metadata.get("server_name") or "", metadata.get("tool_name") or "")
    return Evidence(
        id=row["evidence_id"],
        text=row["content"],
        tool=str(name) if name.server else name.tool,
        arguments=row["arguments"] or "",
        read_at=datetime.fromisoformat(metadata["read_at"]) if "read_at" in metadata else None,
        refused=metadata.get("refused", False),
        failed=metadata.get("is_error", False),
    )
