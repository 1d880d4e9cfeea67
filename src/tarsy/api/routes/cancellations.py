"""Many sessions stopped at once: for a storm."""

from typing import Annotated

from fastapi import Query

from tarsy.api.problems import ProblemKind, RequestRefusedError
from tarsy.api.router import api_router
from tarsy.api.routes.sessions import SessionChoice
from tarsy.api.schemas.sessions import CancelledSessions
from tarsy.api.services import AuthorOf, ServicesOf
from tarsy.db.session_list import SessionFilter

router = api_router(tag="sessions")


@router.post("/cancellations", status_code=202, operation_id="cancelSessions")
async def cancel_sessions(services: ServicesOf, author: AuthorOf, choice: Annotated[SessionChoice, Query()]) -> CancelledSessions:
    """Stop every session that fits and has not ended. At least one condition must be given."""
    if choice.filter() == SessionFilter():
        raise RequestRefusedError(ProblemKind.BAD_REQUEST, "Say which sessions: `status=pending` is every one that waits.")
    return CancelledSessions(cancelled=await services.sessions.cancel_matching(choice.filter(), actor=author))
