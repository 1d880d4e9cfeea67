"""How many sessions there are, without reading them."""

from typing import Annotated

from fastapi import Query

from tarsy.api.router import api_router
from tarsy.api.routes.sessions import SessionChoice
from tarsy.api.schemas.sessions import SessionCounts
from tarsy.api.services import ServicesOf

router = api_router(tag="sessions")


@router.get("/session-counts", operation_id="countSessions")
async def count_sessions(services: ServicesOf, choice: Annotated[SessionChoice, Query()]) -> SessionCounts:
    """The number of matching sessions by status."""
    return SessionCounts.of(await services.sessions.counts(choice.filter()))
