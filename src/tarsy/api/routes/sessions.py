"""Sessions: listing, reading, cancelling and deleting them."""

from typing import Annotated
from uuid import UUID

from fastapi import Query
from pydantic import Field

from tarsy.api.permissions import require
from tarsy.api.problems import ProblemKind, RequestRefusedError
from tarsy.api.router import api_router
from tarsy.api.schemas.sessions import (
    CancelledSessions,
    CancelResult,
    DeletedSessions,
    SessionCounts,
    SessionDetail,
    SessionList,
)
from tarsy.api.schemas.trace import Timeline
from tarsy.api.schemas.view import IdPrefix, Name, Request, SessionId, StorableText, UtcTime
from tarsy.api.services import AuthorDep, IdentityDep, ServicesDep
from tarsy.db.session.listing import SessionFilter
from tarsy.db.session.sorting import NEWEST_FIRST, SessionOrder
from tarsy.domain.session_sort import SessionSort, SortOrder
from tarsy.domain.status import SessionStatus
from tarsy.domain.verdict import Confidence, VerdictOutcome

router = api_router(tag="sessions")
# Many sessions at once; a router of its own because the OpenAPI document lists these operations after the reports.
bulk_router = api_router(tag="sessions")

MAX_PAGE = 200
# Beyond it a filter is needed: an offset costs more the larger it is.
MAX_OFFSET = 100_000
MAX_TIMELINE_PAGE = 10_000
# PostgreSQL's bigint.
MAX_POSITION = 2**63 - 1


class SessionChoice(Request):
    """Which sessions are meant."""

    id: list[UUID] = Field(default=[], max_length=MAX_PAGE, description="Only these; repeat it for several.")
    id_prefix: IdPrefix | None = Field(default=None, description="Only ids that begin with these hexadecimal digits.")
    status: list[SessionStatus] = Field(default=[], max_length=len(SessionStatus), description="Only these; repeat it for several.")
    alert_type: Name | None = None
    chain_id: Name | None = None
    text: StorableText | None = Field(
        default=None, max_length=500, description="Words of the alert or the analysis; the last word may be incomplete."
    )
    created_from: UtcTime | None = Field(default=None, alias="from", description="Submitted at or after.")
    created_to: UtcTime | None = Field(default=None, alias="to", description="Submitted before.")
    outcome: list[VerdictOutcome] = Field(default=[], max_length=len(VerdictOutcome), description="Only verdicts with these outcomes.")
    confidence: list[Confidence] = Field(default=[], max_length=len(Confidence), description="Only verdicts with this confidence.")
    object: Name | None = Field(default=None, description="Only verdicts that blame this object: a name, or `Kind/namespace/name`.")
    reviewed: bool | None = Field(default=None, description="Only ended sessions with a verdict: with a review, or without.")

    def filter(self) -> SessionFilter:
        return SessionFilter(
            ids=tuple(str(one) for one in self.id),
            id_prefix=self.id_prefix,
            statuses=tuple(self.status),
            alert_type=self.alert_type or None,
            chain_id=self.chain_id or None,
            text=self.text or None,
            created_from=self.created_from,
            created_to=self.created_to,
            outcomes=tuple(self.outcome),
            confidences=tuple(self.confidence),
            affected=self.object or None,
            reviewed=self.reviewed,
        )


class SessionQuery(SessionChoice):
    """Which sessions to list."""

    limit: int = Field(default=50, ge=1, le=MAX_PAGE)
    cursor: str | None = Field(default=None, max_length=200, description="`next_cursor` of the previous page.")
    sort: SessionSort = Field(default=SessionSort.CREATED, description="Sort by this; sessions without a value come last.")
    order: SortOrder | None = Field(
        default=None, description="Absent: ascending for names and queue positions, descending for everything else."
    )
    offset: int = Field(default=0, ge=0, le=MAX_OFFSET, description="How many sessions to skip: for pages in any order.")

    def ordered(self) -> SessionOrder:
        """Return the requested order.

        Raises:
            RequestRefusedError: there is a cursor too, which is a position in the order "newest first".
        """
        order = SessionOrder.of(self.sort, self.order)
        if self.cursor and (order != NEWEST_FIRST or self.offset):
            raise RequestRefusedError(ProblemKind.BAD_REQUEST, "`cursor` works only with the default order; use `offset` with any other.")
        return order


@router.get("/sessions", operation_id="listSessions")
async def list_sessions(services: ServicesDep, query: Annotated[SessionQuery, Query()]) -> SessionList:
    """Sessions, newest first unless `sort` says otherwise."""
    order = query.ordered()
    page = await services.repositories.sessions.list(
        query.filter(), limit=query.limit, cursor=query.cursor, order=order, offset=query.offset
    )
    return SessionList.of(page)


@router.get("/sessions/{session_id}", operation_id="getSession")
async def get_session(session_id: SessionId, services: ServicesDep) -> SessionDetail:
    """A session with its stages, their executions and what they used."""
    return SessionDetail.of(await services.repositories.sessions.detail(str(session_id)))


@router.get("/sessions/{session_id}/timeline", operation_id="getTimeline")
async def get_timeline(
    session_id: SessionId,
    services: ServicesDep,
    after: Annotated[int, Query(ge=0, le=MAX_POSITION, description="Only events after this position.")] = 0,
    limit: Annotated[int, Query(ge=1, le=MAX_TIMELINE_PAGE)] = MAX_TIMELINE_PAGE,
) -> Timeline:
    """What happened, in the order in which it happened."""
    return Timeline.model_validate(await services.repositories.timeline.read(str(session_id), after=after, limit=limit))


@router.post("/sessions/{session_id}/cancel", status_code=202, operation_id="cancelSession")
async def cancel_session(session_id: SessionId, services: ServicesDep, author: AuthorDep) -> CancelResult:
    """Cancel a session: at once if it waits, otherwise as soon as its worker notices. Repeating the request is harmless."""
    return CancelResult(result=await services.repositories.sessions.request_cancel(str(session_id), actor=author))


@router.post("/sessions/{session_id}/executions/{execution_id}/cancel", status_code=202, operation_id="cancelExecution")
async def cancel_execution(session_id: SessionId, execution_id: UUID, services: ServicesDep, author: AuthorDep) -> CancelResult:
    """Cancel one agent; the others of its stage continue."""
    answer = await services.repositories.sessions.request_execution_cancel(str(session_id), str(execution_id), actor=author)
    return CancelResult(result=answer)


@router.delete("/sessions/{session_id}", status_code=204, operation_id="deleteSession")
async def delete_session(
    session_id: SessionId,
    services: ServicesDep,
    author: AuthorDep,
    identity: IdentityDep,
    hard: Annotated[bool, Query(description="Erase it permanently, with everything stored about it.")] = False,  # noqa: FBT002 - a query parameter
    confirm: Annotated[UUID | None, Query(description="With `hard`: repeat the session's id.")] = None,
) -> None:
    """Hide a finished session or, with `hard` and `confirm`, erase it."""
    if not hard:
        await services.repositories.sessions.soft_delete(str(session_id), actor=author)
        return
    require("eraseSession", identity)
    if confirm != session_id:
        detail = "Erasing cannot be undone: repeat the session's id as `confirm`."
        raise RequestRefusedError(ProblemKind.BAD_REQUEST, detail)
    await services.repositories.sessions.purge(str(session_id), actor=author)


@router.get("/session-counts", operation_id="countSessions")
async def count_sessions(services: ServicesDep, choice: Annotated[SessionChoice, Query()]) -> SessionCounts:
    """The number of matching sessions by status."""
    return SessionCounts.of(await services.repositories.sessions.counts(choice.filter()))


@bulk_router.post("/cancellations", status_code=202, operation_id="cancelSessions")
async def cancel_sessions(services: ServicesDep, author: AuthorDep, choice: Annotated[SessionChoice, Query()]) -> CancelledSessions:
    """Cancel every matching session that has not ended. At least one filter is required."""
    if choice.filter() == SessionFilter():
        raise RequestRefusedError(ProblemKind.BAD_REQUEST, "Give at least one filter, such as `status=pending`.")
    return CancelledSessions(cancelled=await services.repositories.sessions.cancel_matching(choice.filter(), actor=author))


@bulk_router.post("/deletions", operation_id="deleteSessions")
async def delete_sessions(
    services: ServicesDep,
    author: AuthorDep,
    ids: Annotated[list[UUID], Query(alias="id", min_length=1, max_length=MAX_PAGE, description="Ids of sessions; repeat it for several.")],
) -> DeletedSessions:
    """Hide these sessions if they have ended. Accepts only ids, because a filter could match more sessions than intended."""
    deleted = await services.repositories.sessions.soft_delete_many([str(one) for one in ids], actor=author)
    return DeletedSessions(deleted=deleted)
