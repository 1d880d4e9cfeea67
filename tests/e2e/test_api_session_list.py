"""The list of sessions over HTTP: in any order, counted, and acted on as a whole."""

import csv
import json
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine

from support.api_rows import add_run, set_status
from support.api_world import AT, World, world
from support.audited import entries_about
from tarsy.db.audit import AuditAction
from tarsy.db.connection import create_engine
from tarsy.db.processes import ProcessRepository
from tarsy.db.session.sorting import SessionOrder, ordered_page
from tarsy.db.tables import (
    alert_sessions,
    incidents,
    session_figures,
    session_scores,
    session_spending,
    work,
)
from tarsy.domain.diagnosis import LiveProcess
from tarsy.domain.session_sort import SessionSort, SortOrder
from tarsy.domain.status import SessionStatus


async def _ended(api: World, engine: AsyncEngine, text: str, *, seconds: float, tokens: int | None, confidence: str | None) -> str:
    """A session that took so long, used so much, and is so sure."""
    session_id = await api.submit(text)
    verdict = {"verdict_outcome": "fault", "verdict_confidence": confidence} if confidence else {}
    await set_status(engine, session_id, SessionStatus.COMPLETED, completed_at=AT + timedelta(seconds=seconds), **verdict)
    if tokens is not None:
        spent = {"session_id": session_id, "calls": 1, "total_tokens": tokens, "cost_usd": 10_000 - tokens, "unpriced_calls": 0}
        async with engine.begin() as connection:
            await connection.execute(sa.insert(session_spending).values(spent))
    return session_id


async def test_the_list_is_sorted_by_any_column_and_comes_by_page_numbers(database_url: str) -> None:
    engine = create_engine(database_url)
    async with world(database_url) as api:

        async def listed(**query: Any) -> list[str]:
            answer = await api.client.get("/api/v1/sessions", params=query)
            assert answer.status_code == 200, answer.text
            return [session["id"] for session in answer.json()["sessions"]]

        slow = await _ended(api, engine, "slow", seconds=90, tokens=10, confidence="low")
        dear = await _ended(api, engine, "large", seconds=5, tokens=900, confidence="high")
        sure = await _ended(api, engine, "middling", seconds=30, tokens=50, confidence="medium")
        waiting = await api.submit("waits")
        behind = await api.submit("waits behind it")
        async with engine.begin() as connection:
            await connection.execute(sa.update(work).where(work.c.subject_id == behind).values(rank=AT))

        # What an order does not know comes last, the newest first, whichever way it goes.
        assert await listed(sort="duration") == [slow, sure, dear, behind, waiting]
        assert await listed(sort="duration", order="asc") == [dear, sure, slow, behind, waiting]
        assert await listed(sort="tokens") == [dear, sure, slow, behind, waiting]
        assert await listed(sort="cost") == [slow, sure, dear, behind, waiting]
        assert await listed(sort="confidence") == [dear, sure, slow, behind, waiting]
        assert await listed(sort="outcome") == [sure, dear, slow, behind, waiting]
        assert await listed(sort="created", order="asc") == [slow, dear, sure, waiting, behind]
        # The next to run first.
        assert await listed(sort="queue", status="pending") == [behind, waiting]

        pages = [await listed(sort="tokens", limit=2, offset=offset) for offset in (0, 2, 4, 6)]
        assert pages == [[dear, sure], [slow, behind], [waiting], []]
        assert await listed(sort="tokens", status="completed", text="large or slow") == [dear, slow]
        first = (await api.client.get("/api/v1/sessions", params={"limit": 1})).json()["next_cursor"]
        refused = await api.client.get("/api/v1/sessions", params={"cursor": first, "sort": "cost"})
        counts = (await api.client.get("/api/v1/session-counts")).json()
        some = (await api.client.get("/api/v1/session-counts", params={"text": "waits", "id": [waiting, slow]})).json()
    await engine.dispose()
    assert (refused.status_code, "offset" in refused.json()["detail"]) == (400, True)
    assert counts == {"total": 5, "by_status": {"completed": 3, "pending": 2}}
    assert some == {"total": 1, "by_status": {"pending": 1}}


async def test_the_list_is_sorted_by_what_stands_beside_a_session(database_url: str) -> None:
    engine = create_engine(database_url)
    async with world(database_url) as api:

        async def listed(**query: Any) -> list[str]:
            return [one["id"] for one in (await api.client.get("/api/v1/sessions", params=query)).raise_for_status().json()["sessions"]]

        worst, mild, plain = [
            await _ended(api, engine, text, seconds=5, tokens=None, confidence=None) for text in ("worst", "mild", "plain")
        ]
        of = {worst: await _incident(engine, "critical"), mild: await _incident(engine, "info")}
        for _ in range(2):
            await _ask(api, mild)
        await _ask(api, worst)
        async with engine.begin() as connection:
            for session_id, verified in ((worst, 9), (mild, 10)):
                values = {"incident_id": of[session_id], "citations": {"cited": 12, "verified": verified}}
                await connection.execute(sa.update(alert_sessions).where(alert_sessions.c.id == session_id).values(values))
            figures = [{"session_id": worst, "agents": 2, "fallbacks": 0}, {"session_id": mild, "agents": 10, "fallbacks": 1}]
            await connection.execute(sa.insert(session_figures).values(figures))
            # Of two judgements the later one is shown, and counts.
            for session_id, score, later in ((mild, 99, 0), (mild, 9, 1), (worst, 50, 0)):
                row = {"id": str(uuid4()), "session_id": session_id, "status": "completed", "requested_by": "ada", "total_score": score}
                await connection.execute(sa.insert(session_scores).values(row | {"created_at": AT + timedelta(seconds=later)}))

        assert await listed(sort="severity") == [worst, mild, plain]
        assert await listed(sort="severity", order="asc") == [mild, worst, plain]
        assert await listed(sort="citations") == [mild, worst, plain]
        assert await listed(sort="agents") == [mild, worst, plain]
        assert await listed(sort="agents", order="asc") == [worst, mild, plain]
        # A list shows nothing for a 0: it comes last, whichever way the list goes.
        assert await listed(sort="fallbacks", order="asc") == [mild, plain, worst]
        assert await listed(sort="questions") == [mild, worst, plain]
        assert await listed(sort="score") == [worst, mild, plain]
        for sort in SessionSort:
            whole = await listed(sort=sort)
            assert [await listed(sort=sort, limit=1, offset=place) for place in range(3)] == [[one] for one in whole], sort
        refused = await api.client.get("/api/v1/sessions", params={"sort": "colour"})
    await engine.dispose()
    assert refused.status_code == 400
    assert "sort" in refused.text
    assert all(sort in refused.text for sort in SessionSort)


async def _ask(api: World, session_id: str) -> None:
    """Ask about a session, and withdraw the question: one can be open at a time."""
    asked = await api.client.post(f"/api/v1/sessions/{session_id}/chat/messages", json={"content": "why?"})
    question = asked.raise_for_status().json()["id"]
    (await api.client.post(f"/api/v1/sessions/{session_id}/chat/messages/{question}/cancel")).raise_for_status()


async def _incident(engine: AsyncEngine, severity: str) -> str:
    incident = {"id": str(uuid4()), "key": severity, "route": "r", "title": "t", "severity": severity, "source": "s", "alert_type": "t"}
    counts = {"opened_at": AT, "heard_at": AT, "firing": 1, "alerts": 1, "deliveries": 1}
    async with engine.begin() as connection:
        await connection.execute(sa.insert(incidents).values(incident | counts))
    return incident["id"]


# What a database with millions of sessions would choose: the planner of an empty one reads the whole table.
_AS_IF_LARGE = (
    "SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_hashjoin = off"
)


async def test_an_index_gives_every_order(database_url: str) -> None:
    indexes = {
        SessionSort.CREATED: "ix_alert_sessions_recent",
        SessionSort.QUEUE: "ix_work_ready",
        SessionSort.ALERT_TYPE: "ix_alert_sessions_by_type",
        SessionSort.OUTCOME: "ix_alert_sessions_by_outcome",
        SessionSort.CONFIDENCE: "ix_alert_sessions_by_confidence",
        SessionSort.DURATION: "ix_alert_sessions_by_duration",
        SessionSort.TOKENS: "ix_session_spending_by_tokens",
        SessionSort.COST: "ix_session_spending_dearest",
        SessionSort.SEVERITY: "ix_incidents_by_severity",
        SessionSort.CITATIONS: "ix_alert_sessions_by_citations",
        SessionSort.AGENTS: "ix_session_figures_by_agents",
        SessionSort.FALLBACKS: "ix_session_figures_by_fallbacks",
        SessionSort.QUESTIONS: "ix_chats_by_questions",
        SessionSort.SCORE: "ix_session_scores_by_score",
    }
    engine = create_engine(database_url)
    async with engine.begin() as connection:
        for setting in _AS_IF_LARGE.split(";"):
            await connection.execute(sa.text(setting))
        for sort in SessionSort:
            for way in SortOrder:
                query = ordered_page("s.id", "s.deleted_at IS NULL", SessionOrder(sort, way))
                plan = await connection.scalars(sa.text(f"EXPLAIN {query}"), {"limit": 51, "offset": 0, "reach": 51})
                reported = "\n".join(plan)
                assert indexes[sort] in reported, reported
                # The index gives all of it: only the few sessions of one incident are sorted after it.
                assert ("Presorted Key" in reported) == (sort is SessionSort.SEVERITY), reported
    await engine.dispose()


async def test_a_session_in_the_list_tells_its_figures(database_url: str) -> None:
    engine = create_engine(database_url)
    async with world(database_url) as api:
        session_id = await api.submit()
        await add_run(engine, session_id)
        await set_status(engine, session_id, SessionStatus.COMPLETED)
        await api.client.post(f"/api/v1/sessions/{session_id}/chat/messages", json={"content": "why?"})
        score = {
            "id": str(uuid4()),
            "session_id": session_id,
            "status": "completed",
            "requested_by": "ada",
            "total_score": 87,
            "created_at": AT,
        }
        async with engine.begin() as connection:
            # As the step that brings a fallback counts it.
            await connection.execute(sa.update(session_figures).values(fallbacks=1))
            await connection.execute(sa.insert(session_scores).values(score))
        [reported] = (await api.client.get("/api/v1/sessions")).json()["sessions"]
    await engine.dispose()
    assert (reported["agents"], reported["fallbacks"], reported["score"], reported["questions"], reported["severity"]) == (
        1,
        1,
        87,
        1,
        None,
    )


async def test_who_cancelled_a_running_session_is_shown(database_url: str) -> None:
    engine = create_engine(database_url)
    async with world(database_url) as api:
        running, other = await api.submit("runs"), await api.submit("goes on")
        await set_status(engine, running, SessionStatus.IN_PROGRESS)
        await api.client.post(f"/api/v1/sessions/{running}/cancel")
        cancelling = (await api.client.get(f"/api/v1/sessions/{running}")).json()
        await set_status(engine, running, SessionStatus.CANCELLED, error_message="cancelled")
        listed = {one["id"]: one["cancelled_by"] for one in (await api.client.get("/api/v1/sessions")).json()["sessions"]}
    await engine.dispose()
    assert (cancelling["status"], cancelling["cancelled_by"]) == ("cancelling", "api-client")
    assert listed == {running: "api-client", other: None}


async def test_a_session_whose_process_has_stopped_waits_to_be_taken_over(database_url: str) -> None:
    engine = create_engine(database_url)
    async with world(database_url) as api:
        handed_back, silent, alive, slow = [await api.submit(text) for text in ("handed back", "killed", "alive", "beats seldom")]
        for session_id in (silent, alive, slow):
            await set_status(engine, session_id, SessionStatus.IN_PROGRESS)
        long_ago, now = sa.text("now() - interval '40 seconds'"), sa.func.now()
        changes: dict[str, dict[str, Any]] = {
            handed_back: {"handed_back_at": now},
            silent: {"heartbeat_at": long_ago},
            alive: {"heartbeat_at": now},
            slow: {"heartbeat_at": long_ago, "claimed_by": "a process that is there"},
        }
        there = LiveProcess(id="a process that is there", role="all", workers=1, version="1", started_at=datetime.now(UTC))
        await ProcessRepository(engine).heartbeat(there)
        async with engine.begin() as connection:
            for session_id, values in changes.items():
                await connection.execute(sa.update(work).where(work.c.subject_id == session_id).values(values))
        reasons = {one["id"]: one["waiting_reason"] for one in (await api.client.get("/api/v1/sessions")).json()["sessions"]}
        await api.client.post(f"/api/v1/sessions/{handed_back}/cancel")
        cancelled = (await api.client.get(f"/api/v1/sessions/{handed_back}")).json()
    await engine.dispose()
    assert (cancelled["status"], cancelled["waiting_reason"]) == ("cancelled", None)
    assert (reasons[alive], reasons[slow]) == (None, None)
    assert {reasons[handed_back], reasons[silent]} == {"Waiting to be taken over: the process that worked on it has stopped."}


async def test_marked_sessions_are_cancelled_hidden_and_exported_together(database_url: str) -> None:
    engine = create_engine(database_url)
    async with world(database_url) as api:
        ended = await _ended(api, engine, "=HYPERLINK(1)", seconds=5, tokens=40, confidence=None)
        waiting, other = await api.submit("waits"), await api.submit("waits too")
        marked = {"id": [ended, waiting]}
        table = await api.client.get("/api/v1/session-export", params=marked)
        lines = await api.client.get("/api/v1/session-export", params={**marked, "format": "jsonl"})
        cancelled = await api.client.post("/api/v1/cancellations", params=marked)
        deleted = await api.client.post("/api/v1/deletions", params={"id": [ended, waiting, other]})
        left = (await api.client.get("/api/v1/sessions")).json()["sessions"]
        bounds = [(await api.client.post("/api/v1/deletions", params={"id": ids})).status_code for ids in ([], [str(uuid4())] * 201)]
        actions = [entry.action for entry in await entries_about(api.services.system.audit, ended)]
        async with engine.connect() as connection:
            hidden = await connection.scalar(sa.select(sa.func.count()).where(alert_sessions.c.deleted_at.is_not(None)))
    await engine.dispose()
    rows = list(csv.DictReader(StringIO(table.text)))
    assert table.headers["content-disposition"] == 'attachment; filename="tarsy-sessions.csv"'
    # No spreadsheet computes what an alert says.
    assert [(row["id"], row["title"], row["duration_ms"]) for row in rows] == [(waiting, "waits", ""), (ended, "'=HYPERLINK(1)", "5000")]
    assert [json.loads(line)["id"] for line in lines.text.splitlines()] == [waiting, ended]
    assert (cancelled.json(), deleted.json(), hidden) == ({"cancelled": 1}, {"deleted": 2}, 2)
    assert [one["id"] for one in left] == [other]
    assert bounds == [400, 400]
    assert actions[-1] is AuditAction.SESSION_DELETED
