"""Pure module: what became of an incident's alerts while it was being investigated, in words for those who investigate it."""

from collections.abc import Iterator, Mapping, Sequence
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

# Of each kind: more of the same say nothing new.
MAX_SHOWN = 10
# Titles and labels are the senders' own words.
_LONGEST_TITLE = 200
_LONGEST_LABELS = 300


class NewsKind(StrEnum):
    JOINED = "Joined the incident"
    BACK = "Fires again"
    WORSE = "Has become worse"
    OVER = "Over"
    SILENT = "Counted as over, for its sender has been silent"


@dataclass(frozen=True, slots=True)
class News:
    kind: NewsKind
    # Masked.
    alert: Alert
    severity: Severity


def news_text(news: Sequence[News], incident: Incident) -> str:
    """All that happened to an incident's alerts at one time, and where it leaves the incident."""
    return "\n".join([*_sections(news), _standing(incident)])


def _sections(news: Sequence[News]) -> Iterator[str]:
    for kind in NewsKind:
        told = [one for one in news if one.kind is kind]
        if told:
            yield f"{kind} ({len(told)}):"
            yield from (f"- {_line(one)}" for one in told[:MAX_SHOWN])
        if len(told) > MAX_SHOWN:
            yield f"- and {len(told) - MAX_SHOWN} more"


def _line(news: News) -> str:
    title = clip(" ".join(news.alert.title.split()), _LONGEST_TITLE)
    labels = _labels(news.alert.labels)
    return f"{news.severity}: {title}" + (f" ({labels})" if labels else "")


def _labels(labels: Mapping[str, str]) -> str:
    return clip(", ".join(f"{name}={value}" for name, value in sorted(labels.items())), _LONGEST_LABELS)


def _standing(incident: Incident) -> str:
    if incident.firing:
        return f"{incident.firing} of {incident.alerts} alerts of the incident fire now; its severity is {incident.severity}."
    return f"None of the incident's {incident.alerts} alerts fires any more."


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
        told += [(session_id, live_events.note_created(session_id, note)) for session_id, note in stored]
    return told
