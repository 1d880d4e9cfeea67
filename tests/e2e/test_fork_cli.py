"""`tarsy fork` and `tarsy cancel`: an investigation taken up again, and cancelled, from a terminal."""

from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import sqlalchemy as sa
from anyio import to_thread
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from support.api_rows import Run, add_run, set_status
from support.api_world import AT, world
from support.tarsy_process import Tarsy
from tarsy.db.connection import create_engine
from tarsy.db.tables import agent_executions, llm_interactions, timeline_events
from tarsy.domain.status import SessionStatus

ASKED = "UPDATE alert_sessions SET chain_snapshot = CAST(replace(CAST(chain_snapshot AS text), '\"replay\"', '\"google\"') AS jsonb)"


async def forkable(engine: AsyncEngine, session_id: str) -> Run:
    """An ended session of a live model, whose agent had sent two others."""
    run = await add_run(engine, session_id)
    await set_status(engine, session_id, SessionStatus.COMPLETED)
    async with engine.begin() as connection:
        await connection.execute(sa.text(ASKED))
        await send(connection, run, "A1")
        await send(connection, run, "A2")
    return run


async def send(connection: AsyncConnection, run: Run, evidence_id: str) -> None:
    """Let the agent of a run have sent another one, which asked its model once."""
    own, number = str(uuid4()), int(evidence_id[1:])
    later = {"id": str(uuid4()), "execution_id": own, "turn": 0, "started_at": AT + timedelta(seconds=1)}
    sent = {"id": own, "agent_name": "LogAgent", "agent_index": number, "parent_execution_id": run.execution_id}
    reported = {"event_type": "llm_tool_call", "metadata": {"call_id": "c1", "evidence_id": evidence_id}}
    place = {"id": str(uuid4()), "sequence_number": 10 + number, "position": 10 + number}
    await _again(connection, agent_executions, agent_executions.c.id == run.execution_id, sent | {"dispatched_by": evidence_id})
    await _again(connection, llm_interactions, llm_interactions.c.id == run.llm_id, later)
    first = (timeline_events.c.execution_id == run.execution_id) & (timeline_events.c.sequence_number == 1)
    await _again(connection, timeline_events, first, reported | place)


async def _again(connection: AsyncConnection, table: sa.Table, where: sa.ColumnElement[bool], changed: dict[str, Any]) -> None:
    """Store a row once more, with changes."""
    row = (await connection.execute(sa.select(table).where(where))).mappings().one()
    await connection.execute(sa.insert(table).values({**row, **changed}))


async def test_a_session_is_forked_from_a_terminal(database_url: str, tarsy: Tarsy, tmp_path: Path) -> None:
    async with world(database_url) as api:
        session_id = await api.submit()
        engine = create_engine(database_url)
        run = await forkable(engine, session_id)
        await engine.dispose()

        async def run_command(*arguments: str) -> tuple[int, str, str]:
            url = f"http://127.0.0.1:{api.port}"
            ran = await to_thread.run_sync(lambda: tarsy(*arguments, "--url", url, cwd=tmp_path))
            return ran.returncode, ran.stdout.strip(), ran.stderr

        async def fork(*arguments: str) -> tuple[int, str, str]:
            return await run_command("fork", session_id, *arguments)

        async def forked_by(*arguments: str) -> dict[str, Any]:
            code, forked_id, reported = await fork(*arguments)
            assert code == 0, reported
            return (await api.client.get(f"/api/v1/sessions/{forked_id}")).json()

        forked = await forked_by("--hint", "Look at hunter2.")
        notes = (await api.client.get(f"/api/v1/sessions/{forked['id']}/notes")).json()["notes"]
        counted = await forked_by("--from-step", "2")
        named = await forked_by("--agent", "KubernetesAgent", "--turn", "1")
        sent = await forked_by("--agent", "A2")
        refused = [
            await fork(*arguments)
            for arguments in (
                ("--from-step", "7"),
                ("--agent", "LogAgent"),
                ("--agent", "DiskAgent"),
                ("--agent", "A1", "--turn", "3"),
                ("--turn", "3"),
                ("--agent", "A1", "--from-step", "3"),
                ("--model", "nope"),
            )
        ]
        cancelled = [await run_command("cancel", wanted) for wanted in (sent["id"], sent["id"], "nonsense")]
        ended = (await api.client.get(f"/api/v1/sessions/{sent['id']}")).json()["status"]
    assert forked["status"] == "pending"
    assert [(code, text) for code, text, _ in cancelled] == [
        (0, f"Session {sent['id']}: cancelled."),
        (0, f"Session {sent['id']}: already ended."),
        (1, ""),
    ]
    assert ended == "cancelled"
    # Its first call is made anew; what shortens a result is no step.
    assert (forked["fork"]["session_id"], forked["fork"]["agent"], forked["fork"]["turn"]) == (session_id, "KubernetesAgent", 1)
    assert [(one["status"], one["id"] == run.execution_id) for one in forked["stages"][0]["executions"]] == [("active", False)]
    assert [note["text"] for note in notes] == ["Look at [MASKED]."]
    assert counted["fork"]["agent"] == "LogAgent", "the calls of those that were sent are steps too"
    assert named["fork"] == forked["fork"]
    assert (sent["fork"]["agent"], sent["fork"]["dispatched_by"], sent["fork"]["turn"]) == ("LogAgent", "A2", 0)
    assert [(one["dispatched_by"], one["status"]) for one in sent["stages"][0]["executions"]] == [
        (None, "active"),
        ("A1", "completed"),
        ("A2", "active"),
    ]
    for (code, _, reported), (expected, words) in zip(
        refused,
        [
            (1, "no model call 8 to repeat: the last is call 3."),
            (1, "This session has 2 agents LogAgent: name one by the id in brackets: LogAgent (A1), LogAgent (A2)."),
            (1, f"This session has no agent DiskAgent: KubernetesAgent ({run.execution_id}), LogAgent (A1), LogAgent (A2)."),
            (1, "made 1 calls to its model, numbered from 0; it has no call 3."),
            (2, "--turn needs --agent"),
            (2, "with --agent, use --turn"),
            (1, 'There is no model "nope" that can be asked: no model is configured'),
        ],
        strict=True,
    ):
        assert (code, words in " ".join(reported.replace("│", " ").split())) == (expected, True), reported
