"""An installation with two recorded models, and an investigation of the first that is forked over its API."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
import httpx
import yaml

from support.agent_scenario import SESSION_ID, Scenario
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.recording import Recording
from tarsy.domain.status import SessionStatus
from tarsy.llm.in_process import in_process_client
from tarsy.wiring.application import Application

# Each look is a request to the API.
_PAUSE = 0.1


@dataclass(frozen=True)
class Forking:
    running: Application
    http: httpx.AsyncClient

    async def work(self) -> None:
        await self.running.pool.run_waiting(INVESTIGATION)

    async def get(self, path: str) -> dict[str, Any]:
        return (await self.http.get(f"/api/v1/sessions/{path}")).raise_for_status().json()

    async def until(self, session_id: str, agent_name: str, status: str) -> None:
        """Wait for an agent to come to a status; the test's own time limit bounds it."""
        while True:
            executions = [one for stage in (await self.get(session_id))["stages"] for one in stage["executions"]]
            if any((one["agent_name"], one["status"]) == (agent_name, status) for one in executions):
                return
            await anyio.sleep(_PAUSE)

    async def until_ended(self, session_id: str) -> dict[str, Any]:
        """Wait for another task to end a session."""
        while True:
            session = await self.get(session_id)
            if SessionStatus(session["status"]).is_final:
                return session
            await anyio.sleep(_PAUSE)

    async def fork(self, turn: int, agent_name: str = "Investigator", session_id: str = SESSION_ID, **more: str) -> httpx.Response:
        session = await self.get(session_id)
        executions = (one for each in session["stages"] for one in each["executions"])
        execution = next(one for one in executions if one["agent_name"] == agent_name)
        body = {"execution_id": execution["id"], "turn": turn, **more}
        return await self.http.post(f"/api/v1/sessions/{session_id}/fork", json=body)

    async def conversation(self, session_id: str, turn: int, agent_name: str = "Investigator") -> list[tuple[str, str]]:
        """The messages that an agent's call `turn` was made with."""
        trace = await self.get(f"{session_id}/trace")
        own = next(one["id"] for one in trace["executions"] if one["agent_name"] == agent_name)
        asked = (one for one in trace["llm"] if one["execution_id"] == own and one["kind"] == "iteration")
        call = next(one for one in asked if one["turn"] == turn)
        sent = await self.get(f"{session_id}/trace/llm/{call['id']}")
        return [(message["role"], message["content"]) for message in sent["conversation"]]


@asynccontextmanager
async def submitted(database_url: str, directory: Path, first: Scenario, other: Scenario) -> AsyncGenerator[Forking]:
    """An installation with a second model, which says what is in `other`, and an investigation by the `first` one that waits."""
    second = {"type": "replay", "model": "model-2", "recording": "second.yaml"}
    (directory / "llm-providers.yaml").write_text(yaml.safe_dump({"llm_providers": {"second": second}}))
    (directory / "tarsy.yaml").write_text("{}\n")

    def recording(name: str) -> Recording:
        return other.recording if name.endswith("second.yaml") else first.recording

    tools = replace(first, tools=[*first.tools, *other.tools]).recording
    scenario = replace(first, llm=in_process_client(env={}, recordings=recording), config_dir=directory, tools=tools.tools)
    async with scenario.running(database_url) as running:
        transport = httpx.ASGITransport(app=running.api, client=("127.0.0.1", 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8080") as http:
            yield Forking(running, http)


@asynccontextmanager
async def forking(database_url: str, directory: Path, first: Scenario, other: Scenario) -> AsyncGenerator[Forking]:
    """The same, once the investigation has ended."""
    async with submitted(database_url, directory, first, other) as forking:
        await forking.work()
        yield forking
