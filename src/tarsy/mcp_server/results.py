"""The results of the tools: what an agent needs of a session, and no more than fits its context."""

from datetime import datetime
from typing import Self
from uuid import UUID

from tarsy.api.schemas.evidence import EvidenceDetail
from tarsy.api.schemas.sessions import SessionDetail, SessionListItem, VerdictView
from tarsy.api.schemas.view import Cost, View
from tarsy.domain.status import RunStatus, SessionStatus

# Some five thousand tokens; the next part begins where it ends.
EVIDENCE_CHARACTERS = 20_000


def report_uri(session_id: object) -> str:
    return f"tarsy://sessions/{session_id}/report"


class Investigation(View):
    session_id: UUID
    # It runs until the status is completed, failed, timed_out or cancelled.
    status: SessionStatus
    title: str
    alert_type: str
    verdict: VerdictView | None
    executive_summary: str | None
    final_analysis: str | None
    analysis_is_partial: bool
    error_message: str | None
    # Why it waits, such as for a person's approval of a tool call.
    waiting_reason: str | None
    created_at: datetime
    completed_at: datetime | None
    cost: Cost
    # The page in the dashboard; absent if the address of the dashboard is not configured.
    page: str | None
    # The resource with the whole report.
    report: str

    @classmethod
    def of(cls, detail: SessionDetail, dashboard_url: str | None) -> Self:
        page = f"{dashboard_url.rstrip('/')}/sessions/{detail.id}" if dashboard_url else None
        return cls.build(detail, session_id=detail.id, page=page, report=report_uri(detail.id))


class FoundInvestigation(View):
    session_id: UUID
    status: SessionStatus
    title: str
    alert_type: str
    created_at: datetime
    verdict: VerdictView | None
    executive_summary: str | None

    @classmethod
    def of(cls, item: SessionListItem) -> Self:
        return cls.build(item, session_id=item.id)


class FoundInvestigations(View):
    investigations: list[FoundInvestigation]


class EvidencePart(View):
    """A part of the text of one piece of evidence."""

    id: str
    server: str | None
    tool: str | None
    arguments: str | None
    read_at: datetime | None
    is_error: bool
    # Characters of the whole text, and where this part of it begins.
    size: int
    start: int
    text: str

    @classmethod
    def of(cls, detail: EvidenceDetail, start: int) -> Self:
        return cls.build(detail, start=start, text=detail.text[start : start + EVIDENCE_CHARACTERS])


class Answer(View):
    status: RunStatus
    # Empty while the question is being answered; the report has the answer later.
    answer: str
    error_message: str | None
    report: str
