"""From a committed live event to the event that people are notified of, with all that rules match and messages show."""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from tarsy.agent.executive_summary import summary_source
from tarsy.db.rows import judged_of, read, spending_of
from tarsy.db.run.actions import read_actions
from tarsy.db.tables import (
    agent_executions,
    alert_sessions,
    approvals,
    chat_user_messages,
    incidents,
    session_spending,
    timeline_events,
    work,
)
from tarsy.db.usage import KNOWN_COST
from tarsy.domain.alert import TITLE_SEARCH_CHARACTERS, Severity, alert_title
from tarsy.domain.approval import Approval, ApprovalState
from tarsy.domain.citation import CitationCounts
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.followup import ChatUserMessage
from tarsy.domain.incident import IncidentState
from tarsy.domain.live_events import LiveEventType
from tarsy.domain.notification import EventKind, NotificationEvent
from tarsy.domain.session import SlackThread
from tarsy.domain.status import RunStatus, SessionStatus, TimelineStatus
from tarsy.domain.timeline import TimelineEventType

_FENCED = re.compile(r"^[ \t]*```[^\n]*\n(.*?)^[ \t]*```", re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"`([^`\n]+ [^`\n]+)`")

_session, _incident = alert_sessions.c, incidents.c
_SESSION = (
    sa.select(
        _session.alert_type,
        sa.func.left(_session.alert_data, TITLE_SEARCH_CHARACTERS).label("alert_data"),
        _session.status,
        _session.final_analysis,
        _session.executive_summary,
        _session.verdict,
        _session.incident_id,
        _session.slack_message_fingerprint,
        _session.slack_thread,
        _incident.title,
        _incident.severity,
        _incident.source,
        _session.citations,
        work.c.parked_by_budget,
        # Each of them is an event of its own.
        sa.exists()
        .where(
            approvals.c.session_id == _session.id, approvals.c.state == ApprovalState.PENDING.value, approvals.c.expires_at > sa.func.now()
        )
        .label("has_approvals"),
        KNOWN_COST.label("cost_usd"),
        session_spending.c.unpriced_calls,
        session_spending.c.estimated_calls,
    )
    .outerjoin(incidents, _incident.id == _session.incident_id)
    .outerjoin(session_spending, session_spending.c.session_id == _session.id)
    .outerjoin(work, (work.c.kind == INVESTIGATION) & (work.c.subject_id == _session.id))
)
# At most 50 values per label: an incident may have a thousand pods, and a rule about one of them should match another label.
_LABELS = sa.text(
    """
    SELECT l.key, (array_agg(DISTINCT l.value))[1:50] AS found FROM alerts a, jsonb_each_text(a.labels) l
    WHERE a.incident_id = :incident_id GROUP BY l.key
    """
)
# The alerts that are most likely to have a message of their own in a chat, in turn of each sender, which may get a note.
_FIRST_ALERTS = sa.text(
    """
    SELECT source, fingerprint FROM alerts WHERE incident_id = :incident_id
    ORDER BY row_number() OVER (PARTITION BY source ORDER BY first_at, id), first_at, id LIMIT 20
    """
)


def kind_of(payload: Mapping[str, Any]) -> EventKind | None:  # noqa: PLR0911 - a case for each kind
    """Return what a live event of a shared channel is for people; None if nobody is notified of it. A wait for a budget is WAITING here."""
    match payload["type"], payload.get("status") or payload.get("state"):
        case LiveEventType.SESSION_STATUS, SessionStatus.IN_PROGRESS:
            return EventKind.STARTED
        case LiveEventType.SESSION_STATUS, SessionStatus.WAITING:
            return EventKind.WAITING
        case LiveEventType.SESSION_COMPLETED, SessionStatus.COMPLETED:
            return EventKind.VERDICT
        case LiveEventType.SESSION_COMPLETED, SessionStatus.FAILED | SessionStatus.TIMED_OUT:
            return EventKind.FAILED
        case LiveEventType.APPROVAL_CHANGED, state:
            return EventKind.WAITING if state == ApprovalState.PENDING else EventKind.DECIDED
        case LiveEventType.CHAT_MESSAGE, RunStatus.COMPLETED | RunStatus.FAILED | RunStatus.TIMED_OUT:
            return EventKind.ANSWERED
        case LiveEventType.INCIDENT_CHANGED, IncidentState.RESOLVED:
            return EventKind.RESOLVED
        case _:
            return None


async def read_event(
    connection: AsyncConnection, kind: EventKind, payload: Mapping[str, Any], *, dashboard_url: str | None
) -> NotificationEvent | None:
    """Read what belongs to a live event; None if its session is gone or waits no more, or its incident became part of another."""
    address = (dashboard_url or "").rstrip("/")
    if kind is EventKind.RESOLVED:
        incident_id: str = payload["incident_id"]
        # Its alerts may fire on, in the other incident.
        if await connection.scalar(sa.select(_incident.merged_into).where(_incident.id == incident_id)):
            return None
        sources, fingerprints = await _first_alerts(connection, incident_id)
        return NotificationEvent(
            kind=kind,
            at=datetime.fromisoformat(payload["resolved_at"]),
            title=payload["title"],
            severity=Severity(payload["severity"]),
            source=payload["source"],
            sources=sources,
            labels=await _labels(connection, incident_id),
            fingerprints=fingerprints,
            incident_id=incident_id,
            link=f"{address}/incidents/{incident_id}" if address else "",
        )
    session_id: str = payload["session_id"]
    row = (await connection.execute(_SESSION.where(_session.id == session_id))).mappings().first()
    if row is None:
        return None
    sources, fingerprints = await _first_alerts(connection, row["incident_id"]) if row["incident_id"] else ((), ())
    slack_fingerprint = row["slack_message_fingerprint"]
    event = NotificationEvent(
        kind=kind,
        # `_with_approval` sets the time of an approval.
        at=datetime.fromisoformat(payload["at"]) if "at" in payload else datetime.min.replace(tzinfo=UTC),
        title=row["title"] or alert_title(row["alert_data"], row["alert_type"]),
        severity=Severity(row["severity"] or Severity.UNKNOWN),
        source=row["source"] or "",
        sources=sources,
        alert_type=row["alert_type"],
        labels=await _labels(connection, row["incident_id"]) if row["incident_id"] else {},
        fingerprints=(slack_fingerprint,) if slack_fingerprint else fingerprints,
        is_named_in_slack=slack_fingerprint is not None,
        session_id=session_id,
        incident_id=row["incident_id"],
        reason=payload.get("waiting_reason") or payload.get("error_message") or "",
        slack_thread=read(SlackThread, row["slack_thread"]) if row["slack_thread"] else None,
        link=f"{address}/sessions/{session_id}" if address else "",
    )
    return await _with_details(connection, event, payload, row)


async def _with_details(
    connection: AsyncConnection, event: NotificationEvent, payload: Mapping[str, Any], row: sa.RowMapping
) -> NotificationEvent | None:
    if "approval_id" in payload:
        return await _with_approval(connection, event, payload["approval_id"])
    is_budget = row["parked_by_budget"] is not None
    if event.session_id and event.kind in {EventKind.VERDICT, EventKind.FAILED}:
        event = replace(event, actions=await read_actions(connection, event.session_id))
    match event.kind:
        case EventKind.WAITING if row["status"] != SessionStatus.WAITING or (row["has_approvals"] and not is_budget):
            return None
        case EventKind.WAITING if is_budget:
            return replace(event, kind=EventKind.BUDGET)
        case EventKind.ANSWERED:
            return await _with_answer(connection, event, payload["message_id"])
        case EventKind.VERDICT:
            judged = judged_of(row["verdict"])
            return replace(
                event,
                outcome=judged.verdict.outcome if judged else None,
                confidence=judged.confidence if judged else None,
                object=str(judged.verdict.object or "") if judged else "",
                mechanism=judged.verdict.mechanism if judged else "",
                summary=row["executive_summary"] or "",
                command=first_command(row["final_analysis"] or ""),
                quotations=str(read(CitationCounts, row["citations"])) if row["citations"] else "",
                cost=str(spending_of(row)),
            )
        case _:
            return event


async def _with_approval(connection: AsyncConnection, event: NotificationEvent, approval_id: str) -> NotificationEvent | None:
    """Return the event with its approval; None if there is none any more, or the event is WAITING and its approval is no longer pending."""
    row = (await connection.execute(sa.select(approvals).where(approvals.c.id == approval_id))).mappings().first()
    approval = read(Approval, row) if row else None
    if approval is None or (event.kind is EventKind.WAITING and approval.state is not ApprovalState.PENDING):
        return None
    at = approval.requested_at if event.kind is EventKind.WAITING else approval.decided_at
    return replace(event, at=at or event.at, approval=approval, reason=approval.reason)


async def _with_answer(connection: AsyncConnection, event: NotificationEvent, message_id: str) -> NotificationEvent | None:
    row = (await connection.execute(sa.select(chat_user_messages).where(chat_user_messages.c.id == message_id))).mappings().first()
    if row is None:
        return None
    asked, table = read(ChatUserMessage, row), timeline_events.c
    is_answer = (table.event_type == TimelineEventType.FINAL_ANALYSIS.value) & (table.status == TimelineStatus.COMPLETED.value)
    answers = (
        sa.select(table.content)
        .join(agent_executions, agent_executions.c.id == table.execution_id)
        # Not the report of a sub-agent.
        .where(table.stage_id == asked.stage_id, is_answer, agent_executions.c.parent_execution_id.is_(None))
    )
    answer = await connection.scalar(answers.order_by(table.position.desc()).limit(1))
    return replace(event, message_id=asked.id, question=asked.content, answer=answer or "", slack_thread=asked.slack_thread)


async def _labels(connection: AsyncConnection, incident_id: str) -> Mapping[str, tuple[str, ...]]:
    return {row.key: tuple(row.found) for row in await connection.execute(_LABELS, {"incident_id": incident_id})}


async def _first_alerts(connection: AsyncConnection, incident_id: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the senders and the fingerprints of an incident's first alerts."""
    found = (await connection.execute(_FIRST_ALERTS, {"incident_id": incident_id})).all()
    return tuple(dict.fromkeys(row.source for row in found)), tuple(row.fingerprint for row in found)


def first_command(analysis: str) -> str:
    """Return the first command of *Do now*: the first line of its first code block, or its first inline code with an argument."""
    do_now = summary_source(analysis, None, None).do_now
    fenced = _FENCED.search(do_now)
    lines = (line.strip() for line in fenced[1].splitlines()) if fenced else ()
    if command := next((line for line in lines if line and not line.startswith("#")), ""):
        return command
    inline = _INLINE.search(do_now)
    return inline[1] if inline else ""
