"""Many sessions hidden at once: those that a person has marked."""

from typing import Annotated
from uuid import UUID

from fastapi import Query

from tarsy.api.router import api_router
from tarsy.api.routes.sessions import MAX_PAGE
from tarsy.api.schemas.sessions import DeletedSessions
from tarsy.api.services import AuthorOf, ServicesOf

router = api_router(tag="sessions")


@router.post("/deletions", operation_id="deleteSessions")
async def delete_sessions(
    services: ServicesOf,
    author: AuthorOf,
    ids: Annotated[list[UUID], Query(alias="id", min_length=1, max_length=MAX_PAGE, description="Ids of sessions; repeat it for several.")],
) -> DeletedSessions:
    """Hide these sessions if they have ended. Accepts only ids, because a filter could match more sessions than intended."""
    deleted = await services.sessions.soft_delete_many([str(one) for one in ids], actor=author)
    return DeletedSessions(deleted=deleted)
