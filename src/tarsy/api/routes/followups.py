"""What follows a finished session: questions about it, and its score."""

from uuid import UUID

from tarsy.api.router import api_router
from tarsy.api.schemas.followups import ChatMessage, ChatMessages, Question, Score
from tarsy.api.schemas.sessions import CancelResult
from tarsy.api.schemas.view import SessionId
from tarsy.api.services import AuthorOf, ServicesOf
from tarsy.db.errors import NotFoundError

router = api_router("/sessions/{session_id}")


@router.post("/chat/messages", status_code=202, operation_id="askQuestion", tags=["chat"])
async def ask_question(session_id: SessionId, question: Question, services: ServicesOf, author: AuthorOf) -> ChatMessage:
    """Ask about a finished session. The answer streams like an investigation; one question at a time, a second gets 409."""
    message = await services.chats.ask(str(session_id), services.mask(question.content), author=author)
    return ChatMessage.model_validate(message)


@router.get("/chat/messages", operation_id="listQuestions", tags=["chat"])
async def list_questions(session_id: SessionId, services: ServicesOf) -> ChatMessages:
    """The questions asked so far, oldest first."""
    await services.sessions.require(str(session_id))
    return ChatMessages.shown(messages=await services.chats.list(str(session_id)))


@router.post("/chat/messages/{message_id}/cancel", status_code=202, operation_id="cancelQuestion", tags=["chat"])
async def cancel_question(session_id: SessionId, message_id: UUID, services: ServicesOf, author: AuthorOf) -> CancelResult:
    """Cancel a question or its answer."""
    return CancelResult(result=await services.chats.request_cancel(str(session_id), str(message_id), actor=author))


@router.get("/score", operation_id="getScore", tags=["score"])
async def get_score(session_id: SessionId, services: ServicesOf) -> Score:
    """The newest score, finished or not."""
    await services.sessions.require(str(session_id))
    score = await services.scores.latest(str(session_id))
    if score is None:
        raise NotFoundError("score of session", str(session_id))
    return Score.model_validate(score)


@router.post("/score", status_code=202, operation_id="requestScore", tags=["score"])
async def request_score(session_id: SessionId, services: ServicesOf, author: AuthorOf) -> Score:
    """Have a finished session scored, or scored again."""
    return Score.model_validate(await services.scores.request(str(session_id), requested_by=author))
