"""Notes to a running investigation: an engineer's hints, and news of the incident's alerts."""

from tarsy.api.router import api_router
from tarsy.api.schemas.notes import Hint, Notes, NoteView
from tarsy.api.schemas.view import SessionId
from tarsy.api.services import AuthorOf, ServicesOf
from tarsy.db.errors import ConflictError

router = api_router("/sessions/{session_id}", tag="sessions")


@router.post("/hints", status_code=202, operation_id="giveHint")
async def give_hint(session_id: SessionId, hint: Hint, services: ServicesOf, author: AuthorOf) -> NoteView:
    """Tell every agent of a running investigation something, before its next call to the model. 409 once the investigation has ended: ask a question instead."""
    session = await services.sessions.get(str(session_id))
    if session.is_recorded:
        raise ConflictError("The model of this session is recorded: it says what it once said, whatever it is told.")
    return NoteView.of(await services.notes.hint(str(session_id), services.mask(hint.text), author=author))


@router.get("/notes", operation_id="listNotes")
async def list_notes(session_id: SessionId, services: ServicesOf) -> Notes:
    """What reached the investigation while it ran, oldest first, and which agents were told."""
    await services.sessions.require(str(session_id))
    return Notes.of(await services.notes.of_session(str(session_id)))
