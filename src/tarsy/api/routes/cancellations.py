"""Many sessions stopped at once: for a storm."""

from typing import Annotated

from fastapi import Query

from tarsy.api.problems import ProblemKind, RequestRefusedError
from tarsy.api.router import api_router
from tarsy.api.routes.sessions import SessionChoice
from tarsy.api.schemas.sessions import CancelledSessions
from tarsy.api.services import AuthorOf, ServicesOf
from tarsy.db.session.listing import SessionFilter

router = api_router(tag="sessions")


@router.post("/cancellations", status_code=202, operation_id="cancelSessions")
async def cancel_sessions(services: ServicesOf, author: AuthorOf, choice: Annotated[SessionChoice, Query()]) -> CancelledSessions:
    """Cancel every matching session that has not ended. At least one filter is required."""
    if choice.filter() == SessionFilter():
        raise RequestRefusedError(ProblemKind.BAD_REQUEST, "Name the sessions: `status=pending` means all that wait.")
    return CancelledSessions(cancelled=await services.sessions.cancel_matching(choice.filter(), actor=author))
