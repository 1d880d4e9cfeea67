"""`tarsy fork`: an investigation taken up again from a terminal."""

from pathlib import Path

import sqlalchemy as sa
from anyio import to_thread

from support.api_rows import add_run, set_status
from support.api_world import world
from support.tarsy_process import Tarsy
from tarsy.db.connection import create_engine
from tarsy.domain.status import SessionStatus

ASKED = "UPDATE alert_sessions SET chain_snapshot = CAST(replace(CAST(chain_snapshot AS text), '\"replay\"', '\"google\"') AS jsonb)"


async def test_a_session_is_forked_from_a_terminal(database_url: str, tarsy: Tarsy, tmp_path: Path) -> None:
    async with world(database_url) as api:
        session_id = await api.submit()
        engine = create_engine(database_url)
        run = await add_run(engine, session_id)
        await set_status(engine, session_id, SessionStatus.COMPLETED)
        async with engine.begin() as connection:
            await connection.execute(sa.text(ASKED))
        await engine.dispose()

        async def fork(*arguments: str) -> tuple[int, str, str]:
            url = f"http://127.0.0.1:{api.port}"
            ran = await to_thread.run_sync(lambda: tarsy("fork", session_id, *arguments, "--url", url, cwd=tmp_path))
            return ran.returncode, ran.stdout.strip(), ran.stderr

        code, forked_id, _ = await fork("--hint", "Look at hunter2.")
        forked = (await api.client.get(f"/api/v1/sessions/{forked_id}")).json()
        notes = (await api.client.get(f"/api/v1/sessions/{forked_id}/notes")).json()["notes"]
        beyond, _, told = await fork("--from-step", "7")
    assert (code, forked["status"]) == (0, "pending")
    # Its one call of an agent is made anew; what shortens a result is no step.
    assert (forked["fork"]["session_id"], forked["fork"]["agent"], forked["fork"]["turn"]) == (session_id, "KubernetesAgent", 1)
    assert [(one["status"], one["id"] == run.execution_id) for one in forked["stages"][0]["executions"]] == [("active", False)]
    assert [note["text"] for note in notes] == ["Look at [MASKED]."]
    assert (beyond, "no call 8 to a model to make anew: the last is call 1." in told) == (1, True)
