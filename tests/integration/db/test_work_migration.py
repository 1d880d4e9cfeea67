"""The upgrade from three queues to one table of work, with data in every status of all of them."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import orjson
import pytest
from alembic import command
from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncEngine

from support.claims import take, take_back
from support.queue_ground import Ground
from support.queue_scenario import scenario, short
from tarsy.db import migrate
from tarsy.db.connection import create_engine
from tarsy.db.session.listing import SessionFilter
from tarsy.db.session.repository import SessionRepository
from tarsy.domain.claim import CHAT_ANSWER, INVESTIGATION, SCORING

RUNNING = {"in_progress", "cancelling", "active"}
ENDED = {"completed", "failed", "timed_out", "cancelled"}
SESSION_STATUSES = ("pending", "in_progress", "cancelling", "completed", "failed", "timed_out", "cancelled")
RUN_STATUSES = ("pending", "active", "completed", "failed", "timed_out", "cancelled")


def to_first_revision(connection: Connection) -> None:
    config = migrate.alembic_config()
    config.attributes["connection"] = connection
    command.upgrade(config, "0001")


@asynccontextmanager
async def first_schema(url: str) -> AsyncGenerator[AsyncEngine]:
    engine = create_engine(url)
    async with engine.begin() as connection:
        await connection.run_sync(to_first_revision)
    yield engine
    await engine.dispose()


class Before:
    """Writes rows as the version before did."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        made = scenario(short(0.0), ground.directory, scored=True)
        self._snapshot = orjson.dumps(made.chain.model_dump(mode="json")).decode()

    async def session(self, status: str, *, recoveries: int = 0, deleted: bool = False) -> str:
        session_id = str(uuid4())
        await self._ground.fetch(
            "INSERT INTO alert_sessions (id, alert_data, alert_type, chain_id, chain_snapshot, author, nonce, status, recoveries, "
            "claim_token, pod_id, last_interaction_at, created_at, completed_at, deleted_at) "
            "VALUES ($1, 'disk full', 'chaos', 'chaos', $2, 'a', 'n', $3, $4, $5, $6, now() - interval '1 hour', now(), "
            "CASE WHEN $7 THEN now() END, CASE WHEN $8 THEN now() END)",
            session_id,
            self._snapshot,
            status,
            recoveries,
            str(uuid4()) if status in RUNNING else None,
            "pod-7" if status in RUNNING else None,
            status in ENDED,
            deleted,
        )
        return session_id

    async def question(self, status: str, *, cancelled: bool = False) -> str:
        session_id, chat_id = await self.session("completed"), str(uuid4())
        await self._ground.fetch(
            "INSERT INTO chats (id, session_id, created_by, created_at) VALUES ($1, $2, 'a', now())", chat_id, session_id
        )
        return await self._follow_up(
            "chat_user_messages", {"session_id": session_id, "chat_id": chat_id, "content": "?", "author": "a"}, status, cancelled=cancelled
        )

    async def score(self, status: str) -> str:
        session_id = await self.session("completed")
        return await self._follow_up("session_scores", {"session_id": session_id, "requested_by": "a"}, status)

    async def _follow_up(self, table: str, values: dict[str, str], status: str, *, cancelled: bool = False) -> str:
        token = str(uuid4()) if status in RUNNING else None
        row: dict[str, Any] = {"id": str(uuid4()), **values, "status": status, "claim_token": token, "cancel_requested": cancelled}
        places = ", ".join(f"${number}" for number in range(1, len(row) + 1))
        await self._ground.fetch(
            f"INSERT INTO {table} ({', '.join(row)}, last_interaction_at, created_at) VALUES ({places}, now() - interval '1 hour', now())",  # noqa: S608 - fixed names
            *row.values(),
        )
        return row["id"]


@pytest.fixture
def ground(empty_database_url: str, tmp_path: Path) -> Ground:
    return Ground(empty_database_url, tmp_path)


async def states(ground: Ground) -> dict[str, dict[str, Any]]:
    return {str(row["subject_id"]): row for row in await ground.fetch("SELECT * FROM work")}


def expected(status: str) -> str | None:
    """The state that work of a status has; None where nothing is left to do."""
    return {"pending": "ready"}.get(status, "claimed" if status in RUNNING else None)


async def test_everything_that_was_to_be_done_is_work_and_nothing_else(ground: Ground) -> None:
    async with first_schema(ground.url) as engine:
        before = Before(ground)
        sessions = {status: await before.session(status) for status in SESSION_STATUSES}
        questions = {status: await before.question(status) for status in RUN_STATUSES}
        scores = {status: await before.score(status) for status in RUN_STATUSES}
        unwanted = await before.question("active", cancelled=True)
        recovered = await before.session("completed", recoveries=2)
        hidden = [await before.session("pending", deleted=True), await before.session("failed", deleted=True)]
        tokens = {str(row["id"]): row["claim_token"] for row in await ground.fetch("SELECT id, claim_token FROM alert_sessions")}
        assert await migrate.upgrade(engine) == migrate.head()
        found = await states(ground)
        for kind, rows in ((INVESTIGATION, sessions), (CHAT_ANSWER, questions), (SCORING, scores)):
            for status, subject_id in rows.items():
                row = found.get(subject_id)
                assert (row["state"] if row else None) == expected(status), (kind, status)
                assert row is None or (row["kind"], row["chain_id"]) == (kind, "chaos")
        assert found[sessions["cancelling"]]["cancel_requested"]
        assert found[unwanted]["cancel_requested"]
        assert not found[sessions["in_progress"]]["cancel_requested"]
        running = found[sessions["in_progress"]]
        assert (running["claim_token"], running["claimed_by"]) == (tokens[sessions["in_progress"]], "pod-7")
        assert not set(hidden) & set(found)
        assert (await SessionRepository(engine).queue_position(recovered)).recoveries == 2


async def test_sessions_that_the_upgrade_interrupted_are_continued_and_cancelled_ones_end(ground: Ground) -> None:
    async with first_schema(ground.url) as engine:
        before = Before(ground)
        interrupted, unwanted = await before.session("in_progress", recoveries=3), await before.session("cancelling")
        await migrate.upgrade(engine)
        recovered, _ = await take_back(engine)
        assert {one.claim.subject_id: one.given_up for one in recovered} == {interrupted: False, unwanted: False}
        assert await ground.status(unwanted) == "cancelled"
        taken = await take(engine)
        assert taken
        assert (taken.claim.subject_id, taken.seconds_left) == (interrupted, 900.0)
        assert await ground.status(interrupted) == "in_progress"


async def test_words_of_sessions_of_before_are_still_found(ground: Ground) -> None:
    async with first_schema(ground.url) as engine:
        session_id = await Before(ground).session("completed")
        await migrate.upgrade(engine)
        page = await SessionRepository(engine).list(SessionFilter(text="disk"))
        assert [session.id for session in page.sessions] == [session_id]


async def test_figures_of_sessions_from_before_are_counted(ground: Ground) -> None:
    async with first_schema(ground.url) as engine:
        before = Before(ground)
        question = await before.question("completed")
        await before.session("completed")
        (asked,) = await ground.fetch("SELECT session_id FROM chat_user_messages WHERE id = $1", question)
        for index, kind in enumerate(("investigation", "chat")):
            await ground.fetch(
                "WITH stage AS (INSERT INTO stages (id, session_id, stage_name, stage_index, stage_type, expected_agent_count, status) "
                "VALUES (gen_random_uuid(), $1, $2, $3, $2, 1, 'completed') RETURNING id) "
                "INSERT INTO agent_executions (id, session_id, stage_id, agent_name, agent_index, llm_backend, llm_provider, model_name, "
                "tool_calling, status) SELECT gen_random_uuid(), $1, id, 'a', 1, 'b', 'p', 'm', 'native', 'completed' FROM stage",
                asked["session_id"],
                kind,
                index,
            )
        await migrate.upgrade(engine)
    assert await ground.fetch("SELECT session_id, agents, fallbacks FROM session_figures") == [{**asked, "agents": 1, "fallbacks": 0}]
    assert await ground.fetch("SELECT questions FROM chats") == [{"questions": 1}]
