"""Notes to a running investigation: an engineer's hints, and news of the incident's alerts."""

from tarsy.api.router import api_router
from tarsy.api.schemas.notes import Hint, Notes, NoteView
from tarsy.api.schemas.view import SessionId
from tarsy.api.services import AuthorOf, ServicesOf
from tarsy.db.errors import ConflictError

router = api_router("/sessions/{session_id}", tag="sessions")


@router.post("/hints", status_code=202, operation_id="giveHint")
async def give_hint(session_id: SessionId, hint: Hint, services: ServicesOf, author: AuthorOf) -> NoteView:
    """Give the agents of a running investigation a hint; each reads it before its next model call. 409 once the investigation has ended: ask a question instead."""
    session = await services.sessions.get(str(session_id))
    if session.is_recorded:
        raise ConflictError("The model of this session is a recording, so it cannot react to hints.")
    return NoteView.of(await services.notes.hint(str(session_id), services.mask(hint.text), author=author))


@router.get("/notes", operation_id="listNotes")
async def list_notes(session_id: SessionId, services: ServicesOf) -> Notes:
    """Hints and news that the investigation received while it ran, oldest first, and which agents read them."""
    await services.sessions.require(str(session_id))
    return Notes.of(await services.notes.of_session(str(session_id)))
