"""Reviews of sessions, the triage of sessions and incidents, and how often verdicts were right, over HTTP."""

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
from anyio import to_thread
from sqlalchemy.ext.asyncio import AsyncEngine

from support.api_rows import add_run, set_status
from support.api_world import World, world
from support.audited import entries_about
from support.intake_world import alert, intake_world
from support.tarsy_process import Tarsy
from support.verdicts import VERDICT
from tarsy.db.audit import AuditAction
from tarsy.db.connection import create_engine
from tarsy.domain.status import SessionStatus
from tarsy.domain.verdict import JudgedVerdict, judged_fields


async def _concluded(api: World, engine: AsyncEngine, *, confidence: str = "high") -> str:
    """A session that has ended with a verdict just now."""
    session_id = await api.submit()
    await add_run(engine, session_id)
    now = datetime.now(UTC)
    judged = judged_fields(JudgedVerdict(VERDICT, VERDICT.confidence))
    verdict = {"verdict": judged, "verdict_outcome": "fault", "verdict_confidence": confidence}
    await set_status(engine, session_id, SessionStatus.COMPLETED, started_at=now, completed_at=now, **verdict)
    return session_id


async def _post(api: World, path: str, body: dict[str, Any]) -> httpx.Response:
    return await api.client.post(f"/api/v1/{path}", json=body)


async def test_a_session_is_reviewed_with_one_word_described_later_acknowledged_assigned_and_commented(database_url: str) -> None:
    async with world(database_url) as api:
        engine = create_engine(database_url)
        session_id, other = await _concluded(api, engine), await _concluded(api, engine)
        running = await api.submit()
        await engine.dispose()
        path = f"sessions/{session_id}/review"
        assert (await api.client.get(f"/api/v1/{path}")).json()["review"] is None
        first = await _post(api, path, {"useful": True})
        assert first.status_code == 200, first.text
        details = {"accuracy": "partly", "actual_cause": "The password hunter2 expired.", "action_taken": "Rotated it."}
        await _post(api, path, {"useful": True, **details})
        # Another click on the first button loses no detail.
        kept = (await _post(api, path, {"useful": False})).json()
        unreviewed = (await api.client.get("/api/v1/sessions", params={"reviewed": False})).json()["sessions"]
        reviewed = (await api.client.get("/api/v1/sessions", params={"reviewed": True})).json()["sessions"]
        triaged = await api.client.patch(f"/api/v1/sessions/{session_id}/triage", json={"acknowledged": True, "assignee": "ada"})
        assert triaged.status_code == 200, triaged.text
        await _post(api, f"sessions/{session_id}/comments", {"text": "The password hunter2 is in the log."})
        triage = (await api.client.get(f"/api/v1/{path}")).json()["triage"]
        refused = await _post(api, f"sessions/{running}/review", {"useful": True})
        unknown = await _post(api, "sessions/00000000-0000-4000-8000-000000000009/review", {"useful": True})
        audited = await entries_about(api.services.system.audit, session_id)
    assert (kept["useful"], kept["accuracy"], kept["action_taken"], kept["reviewer"]) == (False, "partly", "Rotated it.", "api-client")
    assert kept["actual_cause"] == "The password [MASKED] expired."
    assert [one["id"] for one in unreviewed] == [other]
    assert [one["id"] for one in reviewed] == [session_id]
    assert (refused.status_code, "after it has ended" in refused.json()["detail"], unknown.status_code) == (409, True, 404)
    assert (triage["acknowledged_by"], triage["assignee"]) == ("api-client", "ada")
    assert [(one["author"], one["text"]) for one in triage["comments"]] == [("api-client", "The password [MASKED] is in the log.")]
    actions = Counter(entry.action for entry in audited)
    assert (actions[AuditAction.SESSION_REVIEWED], actions[AuditAction.SESSION_ASSIGNED], actions[AuditAction.SESSION_COMMENTED]) == (
        3,
        1,
        1,
    )


async def test_figures_tell_how_often_each_confidence_was_right(database_url: str) -> None:
    given = [("high", "accurate"), ("high", "accurate"), ("high", "wrong"), ("low", "partly"), ("low", None)]
    async with world(database_url) as api:
        engine = create_engine(database_url)
        for confidence, accuracy in given:
            session_id = await _concluded(api, engine, confidence=confidence)
            await _post(api, f"sessions/{session_id}/review", {"useful": accuracy == "accurate", "accuracy": accuracy})
        await _concluded(api, engine)
        await engine.dispose()
        figures = (await api.client.get("/api/v1/reviews/figures")).json()

    def counted(group: str) -> list[tuple[Any, ...]]:
        names = ("name", "reviewed", "useful", "accurate", "partly", "wrong")
        return [tuple(one[name] for name in names) for one in figures[group]]

    assert counted("by_confidence") == [("high", 3, 2, 2, 0, 1), ("low", 2, 0, 0, 1, 0)]
    assert counted("total") == [("", 5, 2, 2, 1, 1)]
    assert counted("by_chain") == [("kubernetes", 5, 2, 2, 1, 1)]
    assert counted("by_alert_type") == counted("by_chain")
    assert counted("by_model") == [("recorded / recorded", 5, 2, 2, 1, 1)]
    assert (len(figures["weeks"]), figures["weeks"][-1]["verdicts"]) == (13, 6)
    assert figures["weeks"][-1]["first_day"] == figures["total"][0]["first_day"]


async def test_an_incident_is_acknowledged_assigned_and_commented_in_a_terminal(database_url: str, tarsy: Tarsy, tmp_path: Path) -> None:
    async with intake_world(database_url) as ground:
        taken = (await ground.take(alert("f1"))).main
    assert taken
    async with world(database_url) as api:
        incident = str(taken.incident_id)

        async def run(*arguments: str) -> tuple[int, str]:
            url = f"http://127.0.0.1:{api.port}"
            ran = await to_thread.run_sync(lambda: tarsy("incidents", *arguments, "--url", url, cwd=tmp_path))
            return ran.returncode, ran.stdout + ran.stderr

        assert await run("acknowledge", incident[:8]) == (0, "")
        assert await run("assign", incident, "ada") == (0, "")
        assert await run("comment", incident, "The password is hunter2.") == (0, "")
        _, shown = await run("show", incident)
        triage = (await api.client.get(f"/api/v1/incidents/{incident}")).json()["triage"]
        path = f"/api/v1/incidents/{incident}/triage"
        nobody = (await api.client.patch(path, json={"assignee": "", "acknowledged": False})).json()
        empty = await _post(api, f"incidents/{incident}/comments", {"text": "  "})
        unknown = await api.client.patch("/api/v1/incidents/00000000-0000-4000-8000-000000000009/triage", json={"acknowledged": True})
    assert "acknowledged by api-client" in shown
    assert "assigned to ada" in shown
    assert "The password is [MASKED]." in shown
    assert (triage["assignee"], triage["acknowledged_by"], len(triage["comments"])) == ("ada", "api-client", 1)
    assert (nobody["assignee"], nobody["acknowledged_by"], len(nobody["comments"])) == (None, None, 1)
    assert (empty.status_code, unknown.status_code) == (400, 404)
