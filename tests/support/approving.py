"""A server with one session whose tool calls wait for a person, driven over HTTP and one piece of work at a time."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx

from support.queue_ground import Ground
from support.queue_scenario import Scenario
from support.story import ledger
from tarsy.domain.claim import INVESTIGATION
from tarsy.settings import Settings
from tarsy.wiring.application import Application, application


@dataclass(frozen=True)
class Site:
    """A server with one session, and what its tools did."""

    ground: Ground
    running: Application
    client: httpx.AsyncClient
    session_id: str

    async def work(self) -> str:
        """Let the worker do what it can; return the status of the session."""
        assert self.running.pool is not None
        with anyio.fail_after(60):
            await self.running.pool.run_waiting(INVESTIGATION)
        return await self.ground.status(self.session_id)

    async def approvals(self, **query: Any) -> list[dict[str, Any]]:
        return (await self.client.get("/api/v1/approvals", params=query)).json()["approvals"]

    async def decide(self, approval: dict[str, Any], decision: str, reason: str = "") -> httpx.Response:
        return await self.client.post(f"/api/v1/approvals/{approval['id']}/{decision}", json={"reason": reason})

    @property
    def ran(self) -> list[str]:
        return [line["key"] for line in ledger(self.ground.directory)]

    async def results(self) -> dict[str, str]:
        """What the model read, by the ids of its calls."""
        rows = await self.ground.fetch(
            "SELECT tool_call_id, content FROM messages WHERE session_id = $1 AND role = 'tool'", self.session_id
        )
        return {row["tool_call_id"]: row["content"] for row in rows}


@asynccontextmanager
async def site(url: str, directory: Path, made: Scenario | str) -> AsyncGenerator[Site]:
    """A server on the database, with a new session, or after a restart with one that is there."""
    ground = Ground(url, directory)
    session_id = made if isinstance(made, str) else await ground.submit(made)
    async with application(Settings(env={}, database_url=url, replay_speed=0.0)) as running:
        transport = httpx.ASGITransport(app=running.api, client=("127.0.0.1", 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            yield Site(ground, running, client, session_id)
