"""Tool calls that wait for a person, and the decisions about them."""

from typing import Annotated
from uuid import UUID

from fastapi import Path, Query

from tarsy.api.router import api_router
from tarsy.api.schemas.approvals import ApprovalListView, ApprovalView, DecisionRequest
from tarsy.api.services import AuthorDep, Services, ServicesDep
from tarsy.domain.approval import ApprovalState
from tarsy.domain.session_sort import SortOrder

router = api_router(tag="approvals")

ApprovalId = Annotated[UUID, Path(description="The id of an approval.")]


@router.get("/approvals", operation_id="listApprovals")
async def list_approvals(
    services: ServicesDep,
    state: Annotated[ApprovalState | None, Query(description="Only those in this state.")] = None,
    session_id: Annotated[UUID | None, Query(description="Only those of this session.")] = None,
    order: Annotated[SortOrder, Query(description="By the time of their requests: `asc` for the oldest first.")] = SortOrder.DESC,
) -> ApprovalListView:
    """Tool calls that need a person's approval, the newest first, at most 200."""
    found = await services.repositories.approvals.list(state=state, session_id=str(session_id) if session_id else None, order=order)
    return ApprovalListView(approvals=[ApprovalView.model_validate(one) for one in found])


@router.post("/approvals/{approval_id}/approve", operation_id="approveCall")
async def approve_call(approval_id: ApprovalId, decision: DecisionRequest, services: ServicesDep, author: AuthorDep) -> ApprovalView:
    """Approve a tool call: it runs once, exactly as shown; 409 if it was decided about before, or has expired."""
    return await _decide(approval_id, ApprovalState.APPROVED, decision, services, author)


@router.post("/approvals/{approval_id}/reject", operation_id="rejectCall")
async def reject_call(approval_id: ApprovalId, decision: DecisionRequest, services: ServicesDep, author: AuthorDep) -> ApprovalView:
    """Reject a tool call: the agent reads the reason; 409 if it was decided about before, or has expired."""
    return await _decide(approval_id, ApprovalState.REJECTED, decision, services, author)


async def _decide(approval_id: UUID, state: ApprovalState, decision: DecisionRequest, services: Services, author: str) -> ApprovalView:
    reason = services.mask(decision.reason.strip())
    return ApprovalView.model_validate(await services.repositories.approvals.decide(str(approval_id), state, actor=author, reason=reason))
