"""An investigation taken up again from one of its steps, by another model or after a hint."""

from pathlib import Path

import sqlalchemy as sa

from support.agent_scenario import SESSION_ID, SUMMARY, Scenario, agent, answers, calls, chain, says, stage
from support.audited import entries_about
from support.forking import forking
from support.replaying import replayed
from tarsy.db.audit import AuditAction
from tarsy.db.session.recordings import RecordingSource
from tarsy.db.tables import session_figures
from tarsy.domain.recording import Recording

TRACK = "0.look/1.Investigator"
SECOND = "1.act/1.Actor"
END = f"2.{SUMMARY}"

FIRST = Scenario(
    chain(stage(agent()), stage(agent("Actor"), name="act")),
    [
        says(TRACK, 0, calls("c1", "k8s.pods")),
        says(TRACK, 1, calls("c2", "k8s.logs")),
        says(TRACK, 2, "It is the disk [A2]."),
        says(SECOND, 0, "Clean the disk [A2]."),
        says(END, 0, "Disk."),
    ],
    [answers(TRACK, "c1", "k8s.pods", "web-1 crashes"), answers(TRACK, "c2", "k8s.logs", "no space left on device")],
)
# What the model says that takes over: it looks again, and concludes otherwise.
OTHER = Scenario(
    FIRST.chain,
    [
        says(TRACK, 1, calls("d1", "k8s.logs")),
        says(TRACK, 2, "It is the memory [A2]."),
        says(SECOND, 0, "Add memory [A2]."),
        says(END, 0, "Memory."),
    ],
    [answers(TRACK, "d1", "k8s.logs", "out of memory")],
)


async def test_a_fork_keeps_the_steps_before_and_another_model_goes_on(database_url: str, tmp_path: Path) -> None:
    async with forking(database_url, tmp_path, FIRST, OTHER) as session:
        before = await session.get(SESSION_ID)
        assert before["final_analysis"] == "Clean the disk [A2]."
        answer = await session.fork(1, model="second", hint="Think of memory. password=hunter2hunter2")
        assert answer.status_code == 202, answer.text
        forked_id = answer.json()["session_id"]
        await session.work()
        forked = await session.get(forked_id)
        was, reported = await session.conversation(SESSION_ID, 1), await session.conversation(forked_id, 1)
        old, new = [(await session.get(f"{one}/timeline"))["events"] for one in (SESSION_ID, forked_id)]
        notes = (await session.get(f"{forked_id}/notes"))["notes"]
        audited = await entries_about(session.running.services.system.audit, forked_id)
        listed = (await session.http.get("/api/v1/sessions")).json()["sessions"]
        async with session.running.engine.connect() as connection:
            figures = await connection.execute(sa.select(session_figures.c.session_id, session_figures.c.agents))
            worked = {row.session_id: row.agents for row in figures}
        models = (await session.http.get("/api/v1/models")).json()["models"]
        assert await session.get(SESSION_ID) == before

    assert (forked["status"], forked["final_analysis"], forked["executive_summary"]) == ("completed", "Add memory [A2].", "Memory.")
    place = {"stage": "look", "agent": "Investigator", "dispatched_by": None, "turn": 1}
    assert forked["fork"] == {"session_id": SESSION_ID, **place, "model": "second"}
    # The same conversation up to there, then the hint, its secret masked.
    assert reported[: len(was)] == was
    assert "Think of memory." in reported[len(was)][1]
    assert "hunter2hunter2" not in str((reported, notes))
    assert [note["told"] for note in notes] == [["Actor", "Investigator"]]
    # Nothing of what is kept is done again, and what is new follows it.
    kept = [(event["event_type"], event["content"]) for event in old[:2]]
    assert [(event["event_type"], event["content"]) for event in new[:2]] == kept
    assert [event["content"] for event in new if event["event_type"] == "tool_result"] == ["web-1 crashes", "out of memory"]
    assert [event["position"] for event in new] == sorted(event["position"] for event in new)
    # What is kept was paid for by the session it was made in: two turns, one of the next stage, and the summary.
    assert (before["usage"]["total_tokens"], forked["usage"]["total_tokens"]) == (75, 60)
    assert {one["total_tokens"] for one in listed} == {75, 60}
    # Whoever is copied has worked on it too, for those who look and for those who sort.
    assert worked == {one["id"]: one["agents"] for one in listed} == {SESSION_ID: 3, forked_id: 3}
    assert audited[0].action is AuditAction.SESSION_FORKED
    assert [model["name"] for model in models] == ["second"]


async def test_a_fork_of_a_later_stage_keeps_the_stages_before_and_replays_to_the_letter(database_url: str, tmp_path: Path) -> None:
    async with forking(database_url, tmp_path, FIRST, OTHER) as session:
        forked_id = (await session.fork(0, "Actor", model="second")).json()["session_id"]
        await session.work()
        forked = await session.get(forked_id)
        evidence = await session.get(f"{forked_id}/evidence/A2")
        again_id = (await session.fork(1, session_id=forked_id, model="second")).json()["session_id"]
        await session.work()
        again = await session.get(again_id)
        exported = await session.http.get(f"/api/v1/sessions/{again_id}/recording")
        recording = await RecordingSource(session.running.engine).read(again_id)
    assert [one["stage_name"] for one in forked["stages"]] == ["look", "act", "executive summary"]
    assert forked["final_analysis"] == "Add memory [A2]."
    assert evidence["text"] == "no space left on device"
    # A fork of a fork is like any other.
    assert (again["fork"]["session_id"], again["final_analysis"]) == (forked_id, "Add memory [A2].")
    assert recording is not None
    assert Recording.model_validate_json(exported.text) == recording
    assert exported.headers["content-disposition"] == f'attachment; filename="tarsy-{again_id}.json"'
    assert await replayed(database_url, recording) == []


async def test_a_fork_that_cannot_be_is_refused_in_words(database_url: str, tmp_path: Path) -> None:
    async with forking(database_url, tmp_path, FIRST, OTHER) as session:
        recorded = await session.fork(1)
        unknown = await session.fork(1, model="secnd")
        missing = await session.fork(9, model="second")
        no_user = await session.http.post(
            f"/api/v1/sessions/{SESSION_ID}/fork",
            json={"execution_id": "00000000-0000-4000-8000-000000000009", "turn": 0, "model": "second"},
        )
        nowhere = await session.http.post("/api/v1/sessions/nonsense/fork", json={"execution_id": SESSION_ID, "turn": 0})
        waiting = (await session.fork(1, model="second")).json()["session_id"]
        running = await session.fork(1, session_id=waiting, model="second")
    assert (recorded.status_code, "name a model that continues" in recorded.text) == (409, True)
    assert (unknown.status_code, 'did you mean \\"second\\"?' in unknown.text) == (400, True)
    assert (missing.status_code, "made 3 calls to its model" in missing.text) == (409, True)
    assert no_user.status_code == 404
    assert (nowhere.status_code, "An id has 32 hexadecimal digits" in nowhere.json()["detail"]) == (400, True)
    assert (running.status_code, "still running" in running.text) == (409, True)
