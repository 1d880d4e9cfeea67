"""Follow-up questions about a finished session."""

from uuid import UUID

from fastapi import APIRouter

from tarsy.api.schemas.followups import ChatMessage, ChatMessages, Question
from tarsy.api.schemas.sessions import CancelResult
from tarsy.api.schemas.view import SessionId
from tarsy.api.services import AuthorOf, ServicesOf

router = APIRouter(prefix="/sessions/{session_id}/chat/messages", tags=["chat"])


@router.post("", status_code=202, operation_id="askQuestion")
async def ask_question(session_id: SessionId, question: Question, services: ServicesOf, author: AuthorOf) -> ChatMessage:
    """Ask about a finished session. The answer streams like an investigation; one question at a time, a second gets 409."""
    message = await services.chats.ask(str(session_id), services.mask(question.content), author=author)
    return ChatMessage.model_validate(message)


@router.get("", operation_id="listQuestions")
async def list_questions(session_id: SessionId, services: ServicesOf) -> ChatMessages:
    """The questions asked so far, oldest first."""
    await services.sessions.require(str(session_id))
    messages = await services.chats.list(str(session_id))
    return ChatMessages(messages=[ChatMessage.model_validate(message) for message in messages])


@router.post("/{message_id}/cancel", status_code=202, operation_id="cancelQuestion")
async def cancel_question(session_id: SessionId, message_id: UUID, services: ServicesOf, author: AuthorOf) -> CancelResult:
    """Withdraw a question or stop its answer."""
    answer = await services.chats.request_cancel(str(session_id), str(message_id), actor=author)
    return CancelResult(result=answer)
