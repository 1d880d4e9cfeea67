"""What people do to incidents, and what senders say of them afterwards."""

from dataclasses import replace
from datetime import timedelta

import pytest

from support.intake_world import RESOLVED, IntakeWorld, alert, intake_world
from tarsy.db.errors import ConflictError, NotFoundError
from tarsy.db.incident.repository import IncidentFilter, IncidentRepository
from tarsy.domain.alert import Severity
from tarsy.domain.incident import Mute
from tarsy.domain.verdict import AffectedObject, Confidence, JudgedVerdict, Verdict, VerdictOutcome
from tarsy.intake.answer import Outcome


async def test_a_person_has_an_incident_investigated_again_but_not_twice_at_once(database_url: str) -> None:
    async with intake_world(database_url) as ground:
        taken = await ground.take(alert())
        assert taken.main
        assert taken.main.incident_id
        with pytest.raises(ConflictError, match="is already investigating this incident"):
            await ground.commands().investigate(taken.main.incident_id, actor="alice")
        await ground.finish(await ground.begin(), "It was the disk.")
        session_id = await ground.commands().investigate(taken.main.incident_id, actor="alice")
        begun = await ground.begin()
        assert begun.claim.subject_id == session_id
        assert "It was the disk." in begun.subject.alert_data
        with pytest.raises(NotFoundError):
            await ground.commands().investigate("00000000-0000-4000-8000-000000000000", actor="alice")


async def test_what_a_person_resolved_is_opened_again_by_a_sender_that_says_it_fires(database_url: str) -> None:
    async with intake_world(database_url) as ground:
        taken = await ground.take(alert("f1"), alert("f2"))
        assert taken.main
        await ground.commands().resolve(taken.main.incident_id or "", actor="alice")
        [incident] = await ground.incidents()
        assert (incident["firing"], incident["resolved_at"] is not None) == (0, True)
        assert [session["status"] for session in await ground.sessions()] == ["cancelled"]
        again = await ground.take(alert("f1"))
        assert again.main
        assert again.main.action is Outcome.REOPENED
        assert (await ground.incidents())[0]["firing"] == 1


async def test_merged_incidents_are_one_from_then_on(database_url: str) -> None:
    async with intake_world(database_url) as ground:
        first = (await ground.take(alert("f1", problem="cart"))).main
        ground.later(minutes=1)
        second = (await ground.take(alert("f2", problem="payment", severity=Severity.HIGH))).main
        assert first
        assert second
        assert first.incident_id
        assert second.incident_id
        await ground.commands().merge(first.incident_id, second.incident_id, actor="alice")
        assert [session["status"] for session in await ground.sessions()] == ["pending", "cancelled"]
        # One that is known, and one that is new under the key of the other.
        await ground.take(alert("f2", problem="payment"))
        await ground.take(alert("f3", problem="payment"))
        one, other = await ground.incidents()
        assert (one["alerts"], one["firing"], one["deliveries"], one["severity"]) == (3, 3, 4, "high")
        assert str(other["merged_into"]) == first.incident_id
        await ground.take(*(alert(f"f{number}", RESOLVED, problem="x") for number in (1, 2, 3)))
        assert (await ground.incidents())[0]["resolved_at"] is not None
        with pytest.raises(ConflictError, match="part of incident"):
            await ground.commands().investigate(second.incident_id, actor="alice")


async def test_what_was_split_off_lives_on_by_itself(database_url: str) -> None:
    async with intake_world(database_url) as ground:
        main = (await ground.take(alert("f1"), alert("f2"), alert("f3", severity=Severity.CRITICAL))).main
        assert main
        [row] = await ground.rows("SELECT id FROM alerts WHERE fingerprint = 'f3'")
        new_id = await ground.commands().split(main.incident_id or "", [str(row["id"])], actor="alice")
        await ground.take(alert("f3"), alert("f1"), alert("f4"))
        incidents = {str(one["id"]): one for one in await ground.incidents()}
        assert (incidents[new_id]["alerts"], incidents[new_id]["deliveries"], incidents[new_id]["title"]) == (1, 2, "Disk f3 is full")
        rest = incidents[main.incident_id or ""]
        assert (rest["alerts"], rest["firing"], rest["deliveries"]) == (3, 3, 4)
        # Time gives it an investigation of its own.
        await ground.maintenance().round()
        assert {str(session["incident_id"]) for session in await ground.sessions()} == {new_id, main.incident_id}
        with pytest.raises(ConflictError, match="leave at least one"):
            await ground.commands().split(new_id, [str(row["id"])], actor="alice")


async def _mute(ground: IntakeWorld, incident_id: str) -> None:
    [key] = [one["key"] for one in await ground.incidents() if str(one["id"]) == incident_id]
    ground.mutes = [Mute(starts=ground.clock.at, ends=ground.clock.at + timedelta(hours=1), incident_key=key)]


async def test_a_mute_of_an_incident_covers_the_alerts_that_were_split_off_into_it(database_url: str) -> None:
    async with intake_world(database_url) as ground:
        main = (await ground.take(alert("f1"), alert("f2"))).main
        assert main
        [row] = await ground.rows("SELECT id FROM alerts WHERE fingerprint = 'f2'")
        new_id = await ground.commands().split(main.incident_id or "", [str(row["id"])], actor="alice")
        await _mute(ground, new_id)
        repeated = (await ground.take(alert("f2"))).main
        assert repeated
        assert (repeated.incident_id, repeated.action) == (new_id, Outcome.REPEATED)
        await ground.maintenance().round()
        assert [str(session["incident_id"]) for session in await ground.sessions()] == [main.incident_id]
        # The alerts of the incident that it was split off from are not muted.
        joined = (await ground.take(alert("f3"))).main
        assert joined
        assert (joined.incident_id, joined.action) == (main.incident_id, Outcome.JOINED)


async def test_a_mute_of_an_incident_covers_the_alerts_of_those_that_were_merged_into_it(database_url: str) -> None:
    async with intake_world(database_url) as ground:
        first = (await ground.take(alert("f1", problem="cart"))).main
        ground.later(seconds=1)
        second = (await ground.take(alert("f2", problem="payment"))).main
        assert first
        assert second
        await ground.commands().merge(first.incident_id or "", second.incident_id or "", actor="alice")
        await ground.finish(await ground.begin())
        ground.later(hours=5)
        await _mute(ground, first.incident_id or "")
        # One that is part of it, and one that is new under the key of the other.
        assert [one.action for one in (await ground.take(alert("f2", problem="payment"))).results] == [Outcome.REPEATED]
        assert [one.action for one in (await ground.take(alert("f3", problem="payment"))).results] == [Outcome.RECORDED]
        await ground.maintenance().round()
        assert [session["status"] for session in await ground.sessions()] == ["completed", "cancelled"]
        ground.later(hours=1)
        await ground.maintenance().round()
        assert [session["status"] for session in await ground.sessions()] == ["completed", "cancelled", "pending"]
        assert [one["alerts"] for one in await ground.incidents() if one["merged_into"] is None] == [3]


async def test_an_alert_that_has_another_incident_by_now_is_split_off_an_older_one(database_url: str) -> None:
    async with intake_world(database_url) as ground:
        older = (await ground.take(alert("f1"), alert("f2"))).main
        await ground.take(alert("f1", RESOLVED), alert("f2", RESOLVED))
        ground.later(hours=2)
        newer = (await ground.take(alert("f1"))).main
        assert older
        assert newer
        assert older.incident_id != newer.incident_id
        [row] = await ground.rows("SELECT id FROM alerts WHERE fingerprint = 'f1' AND incident_id = :id", id=older.incident_id)
        new_id = await ground.commands().split(older.incident_id or "", [str(row["id"])], actor="alice")
        rows = await ground.rows("SELECT incident_id, is_current FROM alerts WHERE fingerprint = 'f1' ORDER BY first_at")
        assert [(str(row["incident_id"]), row["is_current"]) for row in rows] == [(new_id, False), (newer.incident_id, True)]
        assert (await ground.take(alert("f1"))).main == replace(newer, action=Outcome.REPEATED)


async def test_incidents_are_found_by_the_verdict_of_their_last_investigation_which_the_next_one_gets(database_url: str) -> None:
    disk = AffectedObject(kind="Volume", namespace="shop", name="data")
    fault = JudgedVerdict(Verdict(outcome=VerdictOutcome.FAULT, object=disk), Confidence.MEDIUM)
    async with intake_world(database_url) as ground:
        first = (await ground.take(alert("f1", problem="a"))).main
        ground.later(seconds=1)
        await ground.take(alert("f2", problem="b"))
        assert first
        assert first.incident_id
        await ground.finish(await ground.begin(), "It is the disk.", fault)
        incidents = IncidentRepository(ground.engine)
        page = await incidents.list(IncidentFilter(verdicts=(VerdictOutcome.FAULT,)))
        [found] = page.incidents
        assert (found.incident.id, found.verdict_confidence, found.verdict_object) == (first.incident_id, Confidence.MEDIUM, str(disk))
        assert page.total == 1
        assert (await incidents.list(IncidentFilter(verdicts=(VerdictOutcome.NO_FAULT,)))).total == 0
        await ground.begin()
        await ground.commands().investigate(first.incident_id, actor="alice")
        assert f"Its verdict: fault, {disk}." in (await ground.begin()).subject.alert_data
