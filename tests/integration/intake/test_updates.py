"""A running investigation gets notes about changes of its incident's alerts."""

from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import anyio
import pytest
import sqlalchemy as sa

from support.intake_world import RESOLVED, ROUTE, IntakeWorld, alert, intake_world
from support.queue_ground import Ground
from tarsy.db.outbox import Publisher, Transaction
from tarsy.db.session.notes import NoteRepository
from tarsy.domain.alert import Severity
from tarsy.domain.live_events import session_status
from tarsy.domain.note import NoteKind
from tarsy.domain.route import OnResolved
from tarsy.domain.status import SessionStatus
from tarsy.intake import acceptance, maintenance


async def _notes(ground: IntakeWorld) -> list[tuple[NoteKind, str]]:
    [incident] = [one for one in await ground.incidents() if one["merged_into"] is None]
    return [(one.note.kind, one.note.text) for one in await NoteRepository(Publisher(ground.engine)).of_incident(str(incident["id"]))]


@contextmanager
def _begun_before_the_lock(ground: IntakeWorld, module: ModuleType) -> Generator[None]:
    """A worker begins the investigation after `module` has decided about it, and before it locks its work."""
    lock: Callable[..., Coroutine[Any, Any, set[str]]] = module.lock_waiting

    async def begun_first(*arguments: object) -> set[str]:
        await ground.begin()
        return await lock(*arguments)

    with patch.object(module, "lock_waiting", begun_first):
        yield


async def test_alerts_that_join_or_end_are_reported_to_an_investigation_that_runs_and_repeats_are_not(database_url: str) -> None:
    async with intake_world(database_url) as ground:
        await ground.take(alert("f1"))
        await ground.begin()
        await ground.take(alert("f1"))
        assert await _notes(ground) == [], "that it still fires is no news"
        await ground.take(alert("f2"), alert("f3", title="The password is hunter2"))
        await ground.take(alert("f1", RESOLVED))
        await ground.take(alert("f1"))
        await ground.take(alert("f2", severity=Severity.CRITICAL))
        joined, over, back, worse = await _notes(ground)
    assert joined == (
        NoteKind.ALERTS,
        """Joined the incident (2):
- warning: Disk f2 is full (disk=f2, problem=p1)
- warning: The password is [MASKED] (disk=f3, problem=p1)
3 of 3 alerts of the incident fire now; its severity is warning.""",
    )
    assert over[1].startswith("Over (1):\n- warning: Disk f1 is full (disk=f1, problem=p1)\n2 of 3 alerts")
    assert back[1].startswith("Fires again (1):\n- warning: Disk f1 is full")
    assert worse[1].startswith("Has become worse (1):\n- critical: Disk f2 is full")


async def test_that_everything_is_over_is_reported_as_such(database_url: str) -> None:
    async with intake_world(database_url) as ground:
        await ground.take(alert("f1"), alert("f2"))
        await ground.begin()
        await ground.take(alert("f1", RESOLVED), alert("f2", RESOLVED))
        [(kind, text)] = await _notes(ground)
    assert kind is NoteKind.RESOLVED
    assert text.endswith("None of the incident's 2 alerts fires any more.")


async def test_a_route_can_keep_the_end_of_alerts_from_an_investigation(database_url: str) -> None:
    async with intake_world(database_url, routes=[replace(ROUTE, on_resolved=OnResolved.IGNORE)]) as ground:
        await ground.take(alert())
        await ground.begin()
        await ground.take(alert(status=RESOLVED))
        assert await _notes(ground) == []


async def test_an_investigation_that_has_not_begun_gets_no_notes_for_it_is_briefed_when_it_does(database_url: str) -> None:
    async with intake_world(database_url) as ground:
        await ground.take(alert("f1"))
        await ground.take(alert("f2"))
        claimed = await ground.begin()
        assert await _notes(ground) == []
        assert "Disk f2 is full" in claimed.subject.alert_data


async def test_an_investigation_that_begins_while_an_alert_joins_is_informed_of_it(database_url: str) -> None:
    async with intake_world(database_url) as ground:
        await ground.take(alert("f1"))
        with _begun_before_the_lock(ground, acceptance):
            await ground.take(alert("f2"))
        [(_, text)] = await _notes(ground)
    assert "Disk f2 is full" in text


async def test_an_investigation_that_begins_while_its_alert_ends_and_returns_remains_the_only_one(database_url: str) -> None:
    async with intake_world(database_url) as ground:
        await ground.take(alert("f1"))
        with _begun_before_the_lock(ground, acceptance):
            taken = await ground.take(alert("f1", RESOLVED), alert("f1"))
        [incident] = await ground.incidents()
        [session] = await ground.sessions()
        [(kind, text)] = await _notes(ground)
    assert (str(session["id"]), session["status"]) == (str(incident["session_id"]), "in_progress")
    assert [(one.session_id, one.session_status) for one in taken.results] == [(str(session["id"]), "in_progress")]
    assert (kind, text.partition("\n")[0]) == (NoteKind.ALERTS, "Fires again (1):")


async def _a_delivery(ground: IntakeWorld) -> object:
    return await ground.take(alert("f1", RESOLVED, problem="over"), alert("f3", problem="runs"))


async def _a_merge(ground: IntakeWorld) -> object:
    runs, over = [str(one["id"]) for one in await ground.incidents()]
    return await ground.commands().merge(runs, over, actor="ada")


@pytest.mark.parametrize("action", [_a_delivery, _a_merge])
async def test_what_cancels_one_investigation_and_informs_another_does_not_lock_out_a_step_of_the_other(
    database_url: str, tmp_path: Path, action: Callable[[IntakeWorld], Coroutine[Any, Any, object]]
) -> None:
    async with intake_world(database_url) as ground:
        await ground.take(alert("f2", problem="runs"))
        running = (await ground.begin()).claim.subject_id
        ground.later(seconds=1)
        await ground.take(alert("f1", problem="over"))
    async with intake_world(database_url) as ground, ground.engine.connect() as worker, anyio.create_task_group() as tasks:
        # A step publishes to the channel of its session, then to that of the session list.
        own, shared = session_status(running, SessionStatus.IN_PROGRESS, alert_type="kubernetes", at=datetime.now(UTC))
        step = Transaction(worker)
        await step.publish([own], session_id=running)
        tasks.start_soon(action, ground)
        blocked = "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        await Ground(database_url, tmp_path).until(blocked)
        await step.publish([shared], session_id=running)
        await worker.commit()
    async with intake_world(database_url) as ground:
        assert [session["status"] for session in await ground.sessions()] == ["in_progress", "cancelled"]
        assert len(await ground.rows("SELECT number FROM notes WHERE session_id = :id", id=running)) == 1


async def test_an_investigation_that_begins_while_its_alert_is_resolved_for_silence_is_informed_of_it(database_url: str) -> None:
    async with intake_world(database_url) as ground:
        await ground.take(alert("f1"))
        ground.later(hours=25)
        with _begun_before_the_lock(ground, maintenance):
            await ground.maintenance().round()
        [(kind, text)] = await _notes(ground)
    assert (kind, text.partition("\n")[0]) == (NoteKind.RESOLVED, "Counted as over, for its sender has been silent (1):")


async def test_a_storm_is_reported_in_few_words(database_url: str) -> None:
    async with intake_world(database_url) as ground:
        await ground.take(alert("f0"))
        await ground.begin()
        await ground.take(*(alert(f"f{number}") for number in range(1, 301)))
        [(_, text)] = await _notes(ground)
    assert text.splitlines()[0] == "Joined the incident (300):"
    assert "- and 290 more" in text
    assert len(text) < 2_000


async def test_silence_and_what_a_person_does_are_reported_too(database_url: str) -> None:
    async with intake_world(database_url) as ground:
        await ground.take(alert("f1"), alert("f2"))
        await ground.begin()
        [incident] = await ground.incidents()
        ground.later(hours=23)
        await ground.take(alert("f2"))
        ground.later(hours=2)
        await ground.maintenance().round()
        await ground.take(alert("x1", problem="p2", title="The switch is down"))
        other = next(one for one in await ground.incidents() if one["id"] != incident["id"])
        await ground.commands().merge(str(incident["id"]), str(other["id"]), actor="ada")
        await ground.commands().resolve(str(incident["id"]), actor="ada")
        reported = await _notes(ground)
    assert [(kind.value, text.partition("\n")[0]) for kind, text in reported] == [
        ("alerts", "Counted as over, for its sender has been silent (1):"),
        ("alerts", "ada has found another incident to be part of this one, with 1 of its alerts firing: The switch is down"),
        ("resolved", "ada has declared the incident over."),
    ]


async def test_the_newest_notes_of_an_incident_are_listed_oldest_first(database_url: str) -> None:
    async with intake_world(database_url) as ground:
        await ground.take(alert("f1", problem="p1"))
        ground.later(seconds=1)
        await ground.take(alert("f2", problem="p2"))
        first, second = [str(one["id"]) for one in await ground.sessions()]
        publisher = Publisher(ground.engine)
        async with publisher.engine.begin() as connection:
            joined = "UPDATE alert_sessions SET incident_id = (SELECT incident_id FROM alert_sessions WHERE id = :first)"
            await connection.execute(sa.text(joined), {"first": first})
        notes = NoteRepository(publisher)
        for session, number in [*((first, number) for number in range(50)), *((second, number) for number in range(50))]:
            await notes.hint(session, f"{number}", author="ada")
        [incident] = {str(one["incident_id"]) for one in await ground.sessions()}
        listed = [(one.session_id, one.note.number) for one in await notes.of_incident(incident)]
    assert listed == [*((first, number) for number in range(11, 51)), *((second, number) for number in range(1, 51))]
