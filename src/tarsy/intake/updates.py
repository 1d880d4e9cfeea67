"""Updates about an incident's alerts, stored as notes for the investigation that is running."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy.ext.asyncio import AsyncConnection

from tarsy.db.session.notes import NewNote, store_notes
from tarsy.domain import live_events
from tarsy.domain.alert import Alert, Severity
from tarsy.domain.incident import Incident
from tarsy.domain.live_events import LiveEvent
from tarsy.domain.note import NoteKind
from tarsy.kit.text import clip

# For each kind; further ones are only counted.
MAX_SHOWN = 10
# The sender chooses titles and labels.
_MAX_TITLE = 200
_MAX_LABELS = 300


class UpdateKind(StrEnum):
    """What happened to an alert; the value is its heading in the note."""

    JOINED = "Joined the incident"
    BACK = "Fires again"
    WORSE = "Has become worse"
    RESOLVED = "Over"
    SILENT = "Counted as over, for its sender has been silent"


@dataclass(frozen=True, slots=True)
class AlertUpdate:
    kind: UpdateKind
    # Masked.
    alert: Alert
    severity: Severity


def update_text(updates: Sequence[AlertUpdate], incident: Incident) -> str:
    """Return the text of a note: the updates by kind, and how many alerts of the incident fire now."""
    lines: list[str] = []
    for kind in UpdateKind:
        of_kind = [update for update in updates if update.kind is kind]
        if not of_kind:
            continue
        lines.append(f"{kind} ({len(of_kind)}):")
        for update in of_kind[:MAX_SHOWN]:
            title = clip(" ".join(update.alert.title.split()), _MAX_TITLE)
            labels = clip(", ".join(f"{name}={value}" for name, value in sorted(update.alert.labels.items())), _MAX_LABELS)
            lines.append(f"- {update.severity}: {title}" + (f" ({labels})" if labels else ""))
        if len(of_kind) > MAX_SHOWN:
            lines.append(f"- and {len(of_kind) - MAX_SHOWN} more")
    if incident.firing:
        lines.append(f"{incident.firing} of {incident.alerts} alerts of the incident fire now; its severity is {incident.severity}.")
    else:
        lines.append(f"None of the incident's {incident.alerts} alerts fires any more.")
    return "\n".join(lines)


async def store_updates(connection: AsyncConnection, texts: Sequence[tuple[Incident, str]], now: datetime) -> list[tuple[str, LiveEvent]]:
    """Store the text of a note for the latest investigation of each incident, and return the events to publish, by session.

    A note about a resolved incident has a kind of its own: its investigators must decide whether to go on.
    """
    events: list[tuple[str, LiveEvent]] = []
    for kind in (NoteKind.ALERTS, NoteKind.RESOLVED):
        new = [
            NewNote(incident.session_id, incident.source, text)
            for incident, text in texts
            if incident.session_id and (incident.resolved_at is not None) == (kind is NoteKind.RESOLVED)
        ]
        stored = await store_notes(connection, kind, new, now)
        events += [(session_id, live_events.note_created(session_id, note)) for session_id, note in stored]
    return events
