"""The score of a finished session."""

from fastapi import APIRouter

from tarsy.api.schemas.followups import Score
from tarsy.api.schemas.view import SessionId
from tarsy.api.services import AuthorOf, ServicesOf
from tarsy.db.errors import NotFoundError

router = APIRouter(prefix="/sessions/{session_id}/score", tags=["score"])


@router.get("", operation_id="getScore")
async def get_score(session_id: SessionId, services: ServicesOf) -> Score:
    """The newest score, finished or not."""
    await services.sessions.require(str(session_id))
    score = await services.scores.latest(str(session_id))
    if score is None:
        raise NotFoundError("score of session", str(session_id))
    return Score.model_validate(score)


@router.post("", status_code=202, operation_id="requestScore")
async def request_score(session_id: SessionId, services: ServicesOf, author: AuthorOf) -> Score:
    """Have a finished session judged, again if it was before."""
    return Score.model_validate(await services.scores.request(str(session_id), requested_by=author))
