"""News of incidents on their way to the investigations that run."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from tarsy.db.notes import NewNote, store_notes
from tarsy.domain import announce
from tarsy.domain.incident import Incident
from tarsy.domain.live import LiveEvent
from tarsy.domain.note import NoteKind

ToldNews = list[tuple[str, LiveEvent]]


async def tell_news(connection: AsyncConnection, news: Sequence[tuple[Incident, str]], now: datetime) -> ToldNews:
    """Leave a note for the last investigation of each incident; answers with what is to be published of them.

    What ends an incident is a note of its own kind: its investigators must decide whether to go on.
    """
    told: ToldNews = []
    for kind in (NoteKind.ALERTS, NoteKind.RESOLVED):
        new = [
            NewNote(incident.session_id, incident.source, text)
            for incident, text in news
            if incident.session_id and (incident.resolved_at is not None) == (kind is NoteKind.RESOLVED)
        ]
        stored = await store_notes(connection, kind, new, now)
        told += [(session_id, announce.note_created(session_id, note)) for session_id, note in stored]
    return told
