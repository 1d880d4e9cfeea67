"""Sessions whose tool calls wait for a person: one on a server of its own, driven over HTTP, and somebody who decides about many."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx
from sqlalchemy.exc import SQLAlchemyError

from support.queue_ground import Ground
from support.queue_scenario import Scenario
from support.story import ledger
from tarsy.db.approvals import ApprovalRepository
from tarsy.db.connection import create_engine
from tarsy.db.errors import ConflictError
from tarsy.db.outbox import Publisher
from tarsy.domain.approval import ApprovalState
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
        with anyio.fail_after(60):
            await self.running.pool.run_waiting(INVESTIGATION)
        return await self.ground.status(self.session_id)

    async def approvals(self, **query: Any) -> list[dict[str, Any]]:
        return (await self.client.get("/api/v1/approvals", params=query)).json()["approvals"]

    async def decide(self, approval: dict[str, Any], decision: str, reason: str = "") -> httpx.Response:
        return await self.client.post(f"/api/v1/approvals/{approval['id']}/{decision}", json={"reason": reason})

    async def announced(self, session_id: str) -> list[str]:
        """The states of the session's approvals, as clients of the list learned of them."""
        query = "SELECT payload ->> 'state' AS state FROM events WHERE channel = 'sessions' AND payload ->> 'type' = 'approval.changed'"
        return [row["state"] for row in await self.ground.fetch(f"{query} AND payload ->> 'session_id' = $1 ORDER BY id", session_id)]

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


@asynccontextmanager
async def deciding(ground: Ground) -> AsyncGenerator[ApprovalRepository]:
    """Somebody who approves and rejects what waits, as its key says (`yes`, `no`), and lets the rest (`late`) expire."""
    engine = create_engine(ground.url)
    approvals = ApprovalRepository(Publisher(engine))

    async def decide() -> None:
        while True:
            # The database may be away; and on a slow machine a call may have expired meanwhile.
            with suppress(ConflictError, SQLAlchemyError, OSError):
                for one in await approvals.list(state=ApprovalState.PENDING):
                    if "late" not in one.arguments:
                        wanted = ApprovalState.APPROVED if "yes" in one.arguments else ApprovalState.REJECTED
                        await approvals.decide(one.id, wanted, actor="ada", reason="")
            await anyio.sleep(0.05)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(decide)
        yield approvals
        tasks.cancel_scope.cancel()
    await engine.dispose()
