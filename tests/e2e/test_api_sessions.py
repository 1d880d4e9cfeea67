"""Sessions over HTTP: found, read whole, stopped, asked about, judged, deleted."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import anyio
import sqlalchemy as sa

from support.api_rows import Run, add_run, set_status
from support.api_world import World, world
from support.audited import entries_about
from tarsy.api.schemas.trace import Timeline, TimelineEventView
from tarsy.db.audit import AuditAction
from tarsy.db.connection import create_engine
from tarsy.db.tables import timeline_events
from tarsy.domain.status import SessionStatus
from tarsy.domain.verdict import AffectedObject, Confidence, JudgedVerdict, Verdict, VerdictOutcome, judged_fields

_JUDGED = JudgedVerdict(
    Verdict(outcome=VerdictOutcome.FAULT, object=AffectedObject(kind="Pod", namespace="shop", name="web-1"), mechanism="Its disk is full."),
    Confidence.MEDIUM,
    "no citation could be verified",
)
VERDICT = {
    "verdict": judged_fields(_JUDGED),
    "verdict_outcome": "fault",
    "verdict_confidence": "medium",
    "verdict_object": "Pod/shop/web-1",
}


async def _finished(api: World, database_url: str, **alert: Any) -> tuple[str, Run]:
    """A session that ran to its end."""
    session_id = await api.submit(**alert)
    engine = create_engine(database_url)
    run = await add_run(engine, session_id)
    await set_status(engine, session_id, SessionStatus.COMPLETED)
    await engine.dispose()
    return session_id, run


async def test_a_session_shows_its_stages_executions_and_tokens(database_url: str) -> None:
    async with world(database_url) as api:
        session_id, run = await _finished(api, database_url)
        session = (await api.client.get(f"/api/v1/sessions/{session_id}")).json()
    [stage] = session["stages"]
    assert (stage["id"], stage["stage_name"], stage["stage_type"], stage["duration_ms"]) == (run.stage_id, "triage", "investigation", 2000)
    [execution] = stage["executions"]
    assert (execution["id"], execution["agent_name"], execution["usage"]["total_tokens"]) == (run.execution_id, "KubernetesAgent", 30)
    assert session["usage"]["total_tokens"] == 30
    assert session["final_analysis"] == "The disk is full."
    assert session["queue_position"] is None


async def test_a_report_is_a_file_and_never_a_page_of_this_site(database_url: str) -> None:
    async with world(database_url) as api:
        session_id, _ = await _finished(api, database_url, data="<b>disk</b> full")
        page = await api.client.get(f"/api/v1/sessions/{session_id}/report")
        text = await api.client.get(f"/api/v1/sessions/{session_id}/report", params={"format": "md"})
        wrong = await api.client.get(f"/api/v1/sessions/{session_id}/report", params={"format": "pdf"})
        missing = await api.client.get(f"/api/v1/sessions/{uuid4()}/report")
    assert (page.headers["content-type"], text.headers["content-type"]) == ("text/html; charset=utf-8", "text/markdown; charset=utf-8")
    assert page.headers["content-disposition"] == f'attachment; filename="tarsy-{session_id}.html"'
    assert "<p>The disk is full.</p>" in page.text
    assert "&lt;b&gt;disk" in page.text
    assert "The analysis has no verdict." in text.text, "a session from before there were verdicts"
    assert (wrong.status_code, missing.status_code) == (400, 404)


async def test_the_list_is_filtered_and_comes_page_by_page(database_url: str) -> None:
    async with world(database_url) as api:

        async def listed(**query: str) -> list[str]:
            answer = await api.client.get("/api/v1/sessions", params=query)
            assert answer.status_code == 200, answer.text
            return [session["id"] for session in answer.json()["sessions"]]

        done, _ = await _finished(api, database_url, data="disk full on db-3")
        quiet = await api.submit("a quiet pod", alert_type="silent")
        newest = await api.submit("a crashing pod")
        everything = [newest, quiet, done]
        assert await listed() == everything
        assert await listed(status="completed") == [done]
        assert await listed(alert_type="silent") == [quiet]
        assert await listed(text="crash") == [newest]
        assert await listed(to="2020-01-01T00:00:00Z") == []
        assert await listed(**{"from": "2020-01-01T00:00:00Z"}) == everything
        paged: list[str] = []
        cursor: dict[str, str] = {}
        for _ in everything:
            page = (await api.client.get("/api/v1/sessions", params={"limit": "1", **cursor})).json()
            paged += [session["id"] for session in page["sessions"]]
            cursor = {"cursor": page["next_cursor"]} if page["next_cursor"] else {}
        refused = await api.client.get("/api/v1/sessions", params={"cursor": "nonsense"})
    assert (paged, cursor) == (everything, {})
    assert (refused.status_code, refused.headers["content-type"]) == (400, "application/problem+json")


async def test_sessions_are_found_by_their_verdict_which_old_ones_lack(database_url: str) -> None:
    async with world(database_url) as api:
        old, _ = await _finished(api, database_url)
        judged, _ = await _finished(api, database_url)
        engine = create_engine(database_url)
        await set_status(engine, judged, SessionStatus.COMPLETED, **VERDICT)
        await engine.dispose()
        shown = {one: (await api.client.get(f"/api/v1/sessions/{one}")).json() for one in (old, judged)}
        listed = {
            query: [one["id"] for one in (await api.client.get(f"/api/v1/sessions?{query}")).json()["sessions"]]
            for query in ("outcome=fault", "confidence=high&confidence=medium", "object=Pod/shop/web-1", "outcome=no_fault", "object=web")
        }
    assert (shown[old]["verdict"], shown[old]["citations"]) == (None, None)
    assert shown[judged]["verdict"]["object"] == {"kind": "Pod", "namespace": "shop", "name": "web-1"}
    assert list(listed.values()) == [[judged], [judged], [judged], [], []]


async def test_the_timeline_comes_in_order_page_by_page(database_url: str) -> None:
    async with world(database_url) as api:
        session_id, _ = await _finished(api, database_url)
        path = f"/api/v1/sessions/{session_id}/timeline"
        whole = (await api.client.get(path)).json()
        first = (await api.client.get(path, params={"limit": 1})).json()
        second = (await api.client.get(path, params={"limit": 1, "after": first["next_after"]})).json()
    assert [event["content"] for event in whole["events"]] == ["thinking about it", "The disk is full."]
    assert whole["next_after"] is None
    assert whole["last_event_id"] == 1
    assert first["events"] + second["events"] == whole["events"]
    assert second["next_after"] is None
    # It is written by the database, not by the schema that describes it.
    assert [set(event) for event in whole["events"]] == [set(TimelineEventView.model_fields)] * 2
    assert [Timeline.model_validate(page).next_after for page in (whole, first, second)] == [None, first["next_after"], None]


async def test_an_event_of_the_timeline_says_what_was_stored_whatever_its_characters(database_url: str) -> None:
    awkward = 'a "quoted" C:\\path\n\t\x01\x7f\u2028</script> \U0001f525 é'
    stored = {
        "id": str(uuid4()),
        "sequence_number": 1,
        "position": 7,
        "event_type": "tool_result",
        "status": "streaming",
        "content": awkward,
        "metadata": {"evidence_id": awkward, "deep": [{"number": 1.5, awkward: None}]},
        "created_at": datetime(2026, 3, 1, 12, 0, 0, 120000, tzinfo=UTC),
    }
    engine = create_engine(database_url)
    async with world(database_url) as api:
        session_id = await api.submit()
        async with engine.begin() as connection:
            await connection.execute(sa.insert(timeline_events).values(session_id=session_id, **stored))
        [event] = (await api.client.get(f"/api/v1/sessions/{session_id}/timeline")).json()["events"]
    absent = {"stage_id": None, "execution_id": None, "completed_at": None}
    assert event == {**stored, **absent, "evidence_id": awkward, "created_at": "2026-03-01T12:00:00.120000Z"}
    await engine.dispose()


async def test_a_trace_shows_the_conversation_as_it_was_sent(database_url: str) -> None:
    async with world(database_url) as api:
        session_id, run = await _finished(api, database_url)
        path = f"/api/v1/sessions/{session_id}/trace"
        trace = (await api.client.get(path)).json()
        call = (await api.client.get(f"{path}/llm/{run.llm_id}")).json()
        own = (await api.client.get(f"{path}/llm/{run.own_llm_id}")).json()
        tool = (await api.client.get(f"{path}/mcp/{run.mcp_id}")).json()
    assert [entry["id"] for entry in trace["llm"]] == [run.llm_id, run.own_llm_id]
    assert [(entry["tool"], entry["arguments_start"]) for entry in trace["mcp"]] == [("pods_list", "{}")]
    assert [(message["role"], message["content"], message["compacted_later"]) for message in call["conversation"]] == [
        ("system", "You are an SRE.", False),
        ("user", "pod is down", False),
        ("assistant", "", False),
        ("tool", "a very long result", True),
    ]
    assert call["conversation"][2]["tool_calls"] == [{"id": "c1", "name": "kubernetes-server.pods_list", "arguments": "{}"}]
    assert [message["content"] for message in own["conversation"]] == ["Summarise this."]
    assert "messages" not in own["request"]
    assert tool["result"] == {"text": "no pods"}


async def test_what_a_model_was_asked_is_shown_as_a_command_unless_it_was_a_recording(database_url: str) -> None:
    async with world(database_url) as api:
        session_id, run = await _finished(api, database_url)
        path = f"/api/v1/sessions/{session_id}/trace/llm/{run.llm_id}/curl"
        recorded = await api.client.get(path)
        engine = create_engine(database_url)
        async with engine.begin() as connection:
            asked = "UPDATE alert_sessions SET chain_snapshot = CAST(replace(CAST(chain_snapshot AS text), '\"replay\"', '\"openai\"') AS jsonb)"
            await connection.execute(sa.text(asked))
        await engine.dispose()
        command = await api.client.get(path)
    assert (recorded.status_code, "comes from a recording" in recorded.json()["detail"]) == (409, True)
    assert command.headers["content-type"] == "text/plain; charset=utf-8"
    assert command.text.startswith("curl -sS https://api.openai.com/v1/chat/completions")
    assert "Bearer $OPENAI_API_KEY" in command.text
    assert "a very long result" in command.text


async def test_an_interaction_of_another_session_is_not_found(database_url: str) -> None:
    async with world(database_url) as api:
        _, run = await _finished(api, database_url)
        other = await api.submit()
        for path in (f"llm/{run.llm_id}", f"mcp/{run.mcp_id}"):
            assert (await api.client.get(f"/api/v1/sessions/{other}/trace/{path}")).status_code == 404
        stop = await api.client.post(f"/api/v1/sessions/{other}/executions/{run.execution_id}/cancel")
        assert stop.status_code == 404


async def test_what_is_not_there_is_not_found_in_the_one_shape(database_url: str) -> None:
    missing = uuid4()
    async with world(database_url) as api:
        paths = ("", "/timeline", "/trace", "/chat/messages", "/score")
        answers = [await api.client.get(f"/api/v1/sessions/{missing}{path}") for path in paths]
        answers.append(await api.client.post(f"/api/v1/sessions/{missing}/cancel"))
        answers.append(await api.client.get("/api/v1/nonsense"))
    assert [answer.status_code for answer in answers] == [404] * len(answers)
    assert {answer.headers["content-type"] for answer in answers} == {"application/problem+json"}


async def test_a_malformed_id_and_a_wrong_method_are_the_callers_fault(database_url: str) -> None:
    async with world(database_url) as api:
        malformed = await api.client.get("/api/v1/sessions/nonsense")
        method = await api.client.put("/api/v1/alerts", json={})
        both = await api.client.put(f"/api/v1/sessions/{uuid4()}", json={})
        patched = await api.client.get(f"/api/v1/sessions/{uuid4()}/triage")
    assert malformed.status_code == 400
    assert malformed.json()["errors"][0]["location"] == "path.session_id"
    assert (method.status_code, method.headers["allow"]) == (405, "POST")
    assert (both.status_code, both.headers["allow"]) == (405, "DELETE, GET")
    assert (patched.status_code, patched.headers["allow"]) == (405, "PATCH")
    assert method.json()["type"] == "urn:tarsy:problem:method-not-allowed"


async def test_a_waiting_session_is_cancelled_at_once_and_only_once(database_url: str) -> None:
    async with world(database_url) as api:
        session_id = await api.submit()
        answers = [(await api.client.post(f"/api/v1/sessions/{session_id}/cancel")).json()["result"] for _ in range(2)]
        session = (await api.client.get(f"/api/v1/sessions/{session_id}")).json()
        entries = await entries_about(api.services.system.audit, session_id)
    assert answers == ["cancelled", "already_ended"]
    assert (session["status"], session["error_message"]) == ("cancelled", "Cancelled by api-client.")
    assert [entry.action for entry in entries] == [AuditAction.ALERT_SUBMITTED, AuditAction.SESSION_CANCELLED]


async def test_a_running_session_is_asked_to_stop_and_stays_so(database_url: str) -> None:
    engine = create_engine(database_url)
    async with world(database_url) as api:
        session_id = await api.submit()
        await set_status(engine, session_id, SessionStatus.IN_PROGRESS)
        answers = [(await api.client.post(f"/api/v1/sessions/{session_id}/cancel")).json()["result"] for _ in range(2)]
        listed = (await api.client.get("/api/v1/sessions", params={"status": "cancelling"})).json()
    await engine.dispose()
    assert answers == ["cancelling", "cancelling"]
    assert [session["id"] for session in listed["sessions"]] == [session_id]


async def test_one_agent_can_be_stopped_alone(database_url: str) -> None:
    engine = create_engine(database_url)
    async with world(database_url) as api:
        session_id = await api.submit()
        run = await add_run(engine, session_id, ended=False)
        path = f"/api/v1/sessions/{session_id}/executions/{run.execution_id}/cancel"
        answer = (await api.client.post(path)).json()
        session = (await api.client.get(f"/api/v1/sessions/{session_id}")).json()
    await engine.dispose()
    assert answer == {"result": "cancelling"}
    assert session["stages"][0]["executions"][0]["cancel_requested"] is True


async def test_a_question_is_answered_one_at_a_time(database_url: str) -> None:
    async with world(database_url) as api:
        session_id, _ = await _finished(api, database_url)
        path = f"/api/v1/sessions/{session_id}/chat/messages"
        asked = await api.client.post(path, json={"content": "why? (hunter2)"})
        again = await api.client.post(path, json={"content": "and now?"})
        cancelled = await api.client.post(f"{path}/{asked.json()['id']}/cancel")
        third = await api.client.post(path, json={"content": "and now?"})
        listed = (await api.client.get(path)).json()["messages"]
    assert (asked.status_code, again.status_code, third.status_code) == (202, 409, 202)
    assert cancelled.json() == {"result": "cancelled"}
    assert [(message["content"], message["status"]) for message in listed] == [("why? ([MASKED])", "cancelled"), ("and now?", "pending")]


async def test_questions_that_cannot_be_asked_say_why(database_url: str) -> None:
    async with world(database_url) as api:
        running = await api.submit()
        silent, _ = await _finished(api, database_url, alert_type="silent")
        early = await api.client.post(f"/api/v1/sessions/{running}/chat/messages", json={"content": "why?"})
        without = await api.client.post(f"/api/v1/sessions/{silent}/chat/messages", json={"content": "why?"})
        bad = [
            (await api.client.post(f"/api/v1/sessions/{silent}/chat/messages", json=body)).status_code
            for body in ({"content": ""}, {"content": " "}, {"content": "x" * 100_001}, {"content": "a\x00"}, {}, {"content": 1})
        ]
        # Half a surrogate pair in the name of a field, which the answer quotes.
        headers = {"Content-Type": "application/json"}
        odd = await api.client.post(f"/api/v1/sessions/{silent}/chat/messages", content='{"content": "x", "\\ud800": 1}', headers=headers)
    assert (early.status_code, without.status_code) == (409, 409)
    assert "wait until it has ended" in early.json()["detail"]
    assert "without chat" in without.json()["detail"]
    assert bad == [400] * 6
    assert (odd.status_code, odd.headers["content-type"]) == (400, "application/problem+json")


async def test_a_score_is_asked_for_and_read(database_url: str) -> None:
    async with world(database_url) as api:
        session_id, _ = await _finished(api, database_url)
        path = f"/api/v1/sessions/{session_id}/score"
        none_yet = await api.client.get(path)
        asked = await api.client.post(path)
        again = await api.client.post(path)
        read = await api.client.get(path)
    assert (none_yet.status_code, asked.status_code, again.status_code) == (404, 202, 409)
    assert read.json() == asked.json()
    assert read.json()["status"] == "pending"


async def test_deleting_hides_and_erasing_needs_a_confirmation(database_url: str) -> None:
    async with world(database_url) as api:
        waiting = await api.submit()
        assert (await api.client.delete(f"/api/v1/sessions/{waiting}")).status_code == 409
        session_id, _ = await _finished(api, database_url)
        path = f"/api/v1/sessions/{session_id}"
        assert (await api.client.delete(path, params={"hard": True})).status_code == 400
        assert (await api.client.delete(path, params={"hard": True, "confirm": waiting})).status_code == 400
        assert (await api.client.delete(path)).status_code == 204
        assert (await api.client.get(path)).status_code == 404
        assert (await api.client.delete(path)).status_code == 404
        assert (await api.client.delete(path, params={"hard": True, "confirm": session_id})).status_code == 204
        assert (await api.client.delete(path, params={"hard": True, "confirm": session_id})).status_code == 404
        actions = [entry.action for entry in await entries_about(api.services.system.audit, session_id)]
    assert actions == [AuditAction.ALERT_SUBMITTED, AuditAction.SESSION_DELETED, AuditAction.SESSION_PURGED]


async def test_system_pages_answer_and_note_who_looked_at_the_configuration(database_url: str) -> None:
    engine = create_engine(database_url)
    async with world(database_url) as api:
        pages = ("config", "default-tools", "mcp-servers", "warnings", "queue", "version")
        answers = {page: (await api.client.get(f"/api/v1/system/{page}")).json() for page in pages}
        async with engine.connect() as connection:
            actions = list(await connection.scalars(sa.text("SELECT action FROM audit_log")))
    await engine.dispose()
    assert answers["version"] == {"version": "1.2.3"}
    assert answers["mcp-servers"]["servers"][0]["tools"][0]["name"] == "pods_list"
    assert answers["queue"]["pod_id"] == "pod-1"
    assert actions == ["config.viewed"]


async def test_a_chain_that_does_not_exist_is_not_paused_and_an_empty_name_ends_no_pause(database_url: str) -> None:
    async with world(database_url) as api:
        mistyped = await api.client.post("/api/v1/system/pause", json={"chain_id": "kubernets", "now": True})
        await api.client.post("/api/v1/system/pause", json={"chain_id": "kubernetes"})
        await api.client.post("/api/v1/system/pause", json={})
        # As of `tarsy resume --chain "$CHAIN"` without the variable.
        unnamed = await api.client.delete("/api/v1/system/pause", params={"chain_id": ""})
        paused = (await api.client.get("/api/v1/system/pause")).json()["pauses"]
    assert (mistyped.status_code, mistyped.json()["detail"]) == (400, 'There is no chain "kubernets": did you mean "kubernetes"?')
    assert unnamed.status_code == 400
    assert [one["chain_id"] for one in paused] == [None, "kubernetes"]


async def test_two_questions_at_the_same_moment_leave_one(database_url: str) -> None:
    statuses: list[int] = []
    async with world(database_url) as api:
        session_id, _ = await _finished(api, database_url)

        async def ask() -> None:
            answer = await api.client.post(f"/api/v1/sessions/{session_id}/chat/messages", json={"content": "why?"})
            statuses.append(answer.status_code)

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(ask)
    assert sorted(statuses) == [202, 409, 409, 409, 409]
