"""Where the chaos happens: a database of the test's own, and what can be done to it from outside."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import asyncpg

from support.queue_scenario import Scenario
from support.story import FINAL
from tarsy.db.connection import create_engine
from tarsy.db.outbox import Publisher
from tarsy.db.session.repository import SessionRepository

# `make test` runs a short form of everything.
LONG = "TARSY_LONG_TESTS" in os.environ
GIVE_UP_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Ground:
    url: str
    directory: Path

    async def submit(self, made: Scenario, **changes: Any) -> str:
        engine = create_engine(self.url)
        session = made.session(**changes)
        try:
            await SessionRepository(Publisher(engine)).insert(session)
        finally:
            await engine.dispose()
        return session.id

    async def fetch(self, query: str, *arguments: object) -> list[dict[str, Any]]:
        connection = await asyncpg.connect(self.url)
        try:
            return [dict(row) for row in await connection.fetch(query, *arguments)]
        finally:
            await connection.close()

    async def let_an_hour_pass(self) -> None:
        """For the claims of dead workers."""
        await self.fetch("UPDATE work SET heartbeat_at = now() - interval '1 hour' WHERE claim_token IS NOT NULL")

    async def status(self, session_id: str) -> str:
        return (await self.fetch("SELECT status FROM alert_sessions WHERE id = $1", session_id))[0]["status"]

    async def until(self, query: str, *arguments: object, within: float = GIVE_UP_SECONDS) -> None:
        """Wait until the query's first value is true."""
        connection = await asyncpg.connect(self.url)
        true = False
        try:
            with anyio.fail_after(within):
                while not true:
                    true = bool(await connection.fetchval(query, *arguments))
                    await anyio.sleep(0 if true else 0.05)
        finally:
            await connection.close()

    async def until_seen(self, seen: Callable[[], bool], within: float = GIVE_UP_SECONDS) -> None:
        """Wait until a file says so."""
        done = False
        with anyio.fail_after(within):
            while not done:
                done = seen()
                await anyio.sleep(0 if done else 0.05)

    async def until_ended(self, *session_ids: str, within: float = GIVE_UP_SECONDS) -> None:
        query = "SELECT count(*) = $2 FROM alert_sessions WHERE id = ANY($1::uuid[]) AND status = ANY($3::text[])"
        await self.until(query, list(session_ids), len(session_ids), sorted(FINAL), within=within)
