"""A ledger written to the database, and told."""

from dataclasses import replace

from sqlalchemy.ext.asyncio import AsyncConnection

from tarsy.db.incidents.looks import WantedLook, cancel_looks, lock_waiting, raise_looks, room_in_queue, store_looks
from tarsy.db.incidents.state import count_activity, write_incidents, write_members
from tarsy.db.outbox import publish_for
from tarsy.domain import announce
from tarsy.domain.incident import Incident, Investigation, Member
from tarsy.intake.investigations import Chains, Investigations, Request
from tarsy.intake.ledger import Ledger, NewLook
from tarsy.intake.news import news_text
from tarsy.intake.told_news import tell_news


async def write_ledger(connection: AsyncConnection, ledger: Ledger, investigations: Investigations, chains: Chains) -> None:
    """Store everything that has changed. Work is locked before anything is told: the order that all writers keep."""
    waiting = await lock_waiting(connection, [*ledger.cancelled.values(), *ledger.raised, *_may_have_begun(ledger)])
    _spare_what_has_begun(ledger, waiting)
    looks = await _looks(connection, ledger, investigations, chains)
    incidents = [ledger.incidents[incident_id] for incident_id in sorted(ledger.touched)]
    await write_incidents(connection, incidents)
    await write_members(connection, list(ledger.written.values()), set(ledger.retired))
    await count_activity(connection, ledger.activity, ledger.now)
    told = await store_looks(connection, looks)
    await raise_looks(connection, {session: priority for session, priority in ledger.raised.items() if session in waiting})
    await cancel_looks(connection, [session for session in ledger.cancelled.values() if session in waiting])
    news = await tell_news(connection, _news(ledger, waiting), ledger.now)
    changed = [(None, announce.incident_changed(incident, ledger.now)) for incident in incidents]
    await publish_for(connection, [*news, *told, *changed])


def _may_have_begun(ledger: Ledger) -> list[str]:
    """Investigations that waited when the alerts were decided about, and that are told of them if a worker has begun meanwhile."""
    told = (ledger.incidents[incident_id] for incident_id in ledger.news if incident_id not in ledger.looks)
    return [incident.session_id for incident in told if incident.session_id and incident.view.investigation is Investigation.PENDING]


def _news(ledger: Ledger, waiting: set[str]) -> list[tuple[Incident, str]]:
    """What those hear who investigate; an investigation that has not begun is briefed when it does."""
    incidents = {incident_id: ledger.incidents[incident_id] for incident_id in ledger.news if incident_id not in ledger.looks}
    return [
        (incident, news_text(ledger.news[incident_id], incident))
        for incident_id, incident in incidents.items()
        if incident.session_id and incident.session_id not in waiting
    ]


def _spare_what_has_begun(ledger: Ledger, waiting: set[str]) -> None:
    """An investigation that a worker took while we decided is not taken back: it is the incident's, and goes on."""
    for incident_id, session_id in ledger.cancelled.items():
        if session_id not in waiting:
            ledger.incidents[incident_id] = replace(ledger.incidents[incident_id], session_id=session_id)


async def _looks(connection: AsyncConnection, ledger: Ledger, investigations: Investigations, chains: Chains) -> list[WantedLook]:
    """The investigations that there is room for. Incidents that get none keep their alerts; time brings them one when there is room."""
    wanted = sorted(ledger.looks.items(), key=lambda item: -item[1].look.priority)
    room = await room_in_queue(connection, investigations.max_queue_size, len(wanted))
    for incident_id, _ in wanted[room:]:
        ledger.without_look(incident_id)
    return [
        investigations.of(ledger.incidents[incident_id], _told(ledger, look), _request(look), chains, ledger.now)
        for incident_id, look in wanted[:room]
    ]


def _told(ledger: Ledger, look: NewLook) -> Member:
    return ledger.members[look.cause.key]


def _request(look: NewLook) -> Request:
    cause = look.cause
    return Request(session_id=look.session_id, look=look.look, author=cause.author, runbook_url=cause.runbook_url, runbook=cause.runbook)
