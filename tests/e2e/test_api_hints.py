"""Hints to a running investigation over HTTP and in a terminal."""

import json
from pathlib import Path

import sqlalchemy as sa
from anyio import to_thread

from support.api_rows import set_status
from support.api_world import World, world
from support.audited import entries_about
from support.tarsy_process import Tarsy
from tarsy.db.audit import AuditAction
from tarsy.db.connection import create_engine
from tarsy.db.tables import events
from tarsy.domain.live_events import session_channel
from tarsy.domain.note import MAX_HINT_CHARACTERS
from tarsy.domain.status import SessionStatus


async def _reported(database_url: str, session_id: str) -> list[str]:
    engine = create_engine(database_url)
    async with engine.connect() as connection:
        rows = await connection.execute(sa.select(events.c.payload).where(events.c.channel == session_channel(session_id)))
        payloads = list(rows.scalars())
    await engine.dispose()
    return [payload["note"]["text"] for payload in payloads if payload["type"] == "note.created"]


async def _live_session(api: World, database_url: str) -> str:
    """A session whose model is asked, where those of this world play a recording."""
    session_id = await api.submit()
    engine = create_engine(database_url)
    async with engine.begin() as connection:
        asked = (
            "UPDATE alert_sessions SET chain_snapshot = CAST(replace(CAST(chain_snapshot AS text), '\"replay\"', '\"google\"') AS jsonb)"
        )
        await connection.execute(sa.text(asked))
    await engine.dispose()
    return session_id


async def _end(database_url: str, session_id: str) -> None:
    engine = create_engine(database_url)
    await set_status(engine, session_id, SessionStatus.COMPLETED)
    await engine.dispose()


async def test_a_hint_is_masked_stored_delivered_and_audited(database_url: str) -> None:
    async with world(database_url) as api:
        session_id = await _live_session(api, database_url)
        given = await api.client.post(f"/api/v1/sessions/{session_id}/hints", json={"text": "The password is hunter2, look at web-3."})
        assert given.status_code == 202, given.text
        listed = (await api.client.get(f"/api/v1/sessions/{session_id}/notes")).json()["notes"]
        audited = await entries_about(api.services.system.audit, session_id)
    note = given.json()
    assert (note["id"], note["kind"], note["state"], note["told"]) == ("NOTE1", "hint", "waiting", [])
    assert note["text"] == "The password is [MASKED], look at web-3."
    assert listed == [note]
    assert await _reported(database_url, session_id) == ["The password is [MASKED], look at web-3."]
    assert audited[-1].action is AuditAction.HINT_GIVEN


async def test_the_page_of_an_incident_shows_which_notes_its_investigations_got(database_url: str) -> None:
    async with world(database_url) as api:
        await api.client.post("/api/v1/webhook", content="disk full")
        await _live_session(api, database_url)
        [listed] = (await api.client.get("/api/v1/incidents")).json()["incidents"]
        incident_id, session_id = listed["id"], listed["last_session_id"]
        given = await api.client.post(f"/api/v1/sessions/{session_id}/hints", json={"text": "Look at web-3."})
        incident = (await api.client.get(f"/api/v1/incidents/{incident_id}")).json()
    assert incident["notes"] == [given.json()]


async def test_a_hint_to_what_has_ended_or_never_was_is_refused_in_words(database_url: str) -> None:
    async with world(database_url) as api:
        session_id = await _live_session(api, database_url)

        async def hint(text: str, to: str = session_id) -> tuple[int, str]:
            answer = await api.client.post(f"/api/v1/sessions/{to}/hints", json={"text": text})
            return answer.status_code, answer.json().get("detail", "")

        assert (await hint("   "))[0] == 400
        assert (await hint("x" * (MAX_HINT_CHARACTERS + 1)))[0] == 400
        assert (await hint("hello", "00000000-0000-4000-8000-000000000009"))[0] == 404
        assert (await hint("in time"))[0] == 202
        await _end(database_url, session_id)
        status, detail = await hint("hello")
        assert (status, "came too late" in detail, "Ask it as a question" in detail) == (409, True, True)
        late = (await api.client.get(f"/api/v1/sessions/{session_id}/notes")).json()["notes"]
    assert [(note["text"], note["state"]) for note in late] == [("in time", "too_late")]


async def _hint(api: World, tarsy: Tarsy, tmp_path: Path, *arguments: str) -> tuple[int, str]:
    url = f"http://127.0.0.1:{api.port}"
    ran = await to_thread.run_sync(lambda: tarsy("hint", *arguments, "--url", url, cwd=tmp_path))
    return ran.returncode, ran.stdout + ran.stderr


async def test_a_hint_is_given_from_a_terminal(database_url: str, tarsy: Tarsy, tmp_path: Path) -> None:
    async with world(database_url) as api:
        session_id = await _live_session(api, database_url)
        code, reported = await _hint(api, tarsy, tmp_path, session_id, "look at web-3")
        assert (code, reported) == (0, "NOTE1: each agent reads it before its next model call.\n")
        notes = (await api.client.get(f"/api/v1/sessions/{session_id}/notes")).json()["notes"]
        assert [note["text"] for note in notes] == ["look at web-3"], json.dumps(notes)
        await _end(database_url, session_id)
        code, reported = await _hint(api, tarsy, tmp_path, session_id, "too late")
        wrong, answered = await _hint(api, tarsy, tmp_path, "nonsense", "hello")
    assert (code, "came too late" in reported) == (1, True)
    assert (wrong, answered) == (1, "There is no session nonsense. To see their ids: tarsy sessions list\n")


async def test_a_model_that_plays_a_recording_takes_no_hints(database_url: str) -> None:
    async with world(database_url) as api:
        answer = await api.client.post(f"/api/v1/sessions/{await api.submit()}/hints", json={"text": "hello"})
    assert (answer.status_code, "recording" in answer.json()["detail"]) == (409, True)
