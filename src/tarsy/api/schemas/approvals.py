"""Tool calls that need a person's approval."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from tarsy.api.schemas.view import Request, StorableText, View
from tarsy.domain.approval import ApprovalState, CallOutcome

# As long as a paragraph: the model reads it.
MAX_REASON = 2000


class DecisionRequest(Request):
    reason: Annotated[StorableText, Field(max_length=MAX_REASON)] = Field(
        default="", description="Why. The agent reads the reason of a rejection."
    )


class ApprovalView(View):
    """A tool call that needs an approval, exactly as it is sent to its server, and the decision."""

    id: UUID
    session_id: UUID
    execution_id: UUID
    call_id: str
    evidence_id: str
    server: str
    tool: str
    # As JSON.
    arguments: str
    # Of server, tool, its schema and arguments: the decision holds for this call only.
    call_hash: str
    state: ApprovalState
    requested_at: datetime
    expires_at: datetime
    decided_at: datetime | None
    decided_by: str | None
    reason: str
    started_at: datetime | None
    # `unknown`: its worker stopped after the call had begun, or it did not answer in time. It is not repeated.
    outcome: CallOutcome


class ApprovalListView(View):
    # Newest first, at most 200.
    approvals: list[ApprovalView]
