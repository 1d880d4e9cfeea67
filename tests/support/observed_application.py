"""The application on a scenario with real tools, and everything it lets out: to the model, and to whoever watches."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
import orjson

from support.agent_scenario import SESSION_ID, Scenario
from tarsy.agent.ports import LLMClient
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.live_events import session_channel
from tarsy.domain.llm import Chunk, GenerateInput, LLMHealth
from tarsy.llm.in_process import in_process_client
from tarsy.settings import Settings
from tarsy.wiring.application import Application, application
from tarsy.wiring.infrastructure import Overrides


@dataclass(frozen=True, slots=True)
class Eavesdropper:
    """A model client that notes what it is asked."""

    inner: LLMClient
    asked: list[str]

    def generate(self, request: GenerateInput) -> AsyncGenerator[Chunk]:
        self.asked.append(repr(request))
        return self.inner.generate(request)

    async def health(self) -> LLMHealth:
        return await self.inner.health()

    async def aclose(self) -> None:
        await self.inner.aclose()


@dataclass(slots=True)
class ObservedSession:
    """A running scenario, the requests its model got and the messages a watcher of its session got."""

    running: Application
    asked: list[str]
    messages: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    async def run_waiting(self, on_event: Callable[[], object] = bool) -> None:
        """Run the session to its end, watching; `on_event` is called whenever the watcher has got something."""
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                await tasks.start(self._watch, on_event)
                await self.running.pool.run_waiting(INVESTIGATION)

    async def _watch(self, on_event: Callable[[], object], *, task_status: anyio.abc.TaskStatus[None]) -> None:
        hub = self.running.services.live.hub
        with hub.connect() as connection:
            await hub.subscribe(connection, session_channel(SESSION_ID), 0)
            task_status.started()
            while not any(message["type"] == "session.completed" for message in self.messages):
                self.messages += [orjson.loads(message) for message in await connection.next_messages()]
                on_event()


@asynccontextmanager
async def observed(story: Scenario, database_url: str, *, alert: str | None = None) -> AsyncGenerator[ObservedSession]:
    """The scenario's chain with the tools it configures, its alert stored (masked already, if it is another one)."""
    recording = story.recording
    asked: list[str] = []
    llm = Eavesdropper(in_process_client(env={}, recordings=lambda _: recording, replay_speed=story.replay_speed), asked)
    settings = Settings(env={"PATH": "/usr/bin:/bin"}, database_url=database_url)
    async with application(settings, overrides=Overrides(llm=llm)) as running:
        await running.services.repositories.sessions.insert(replace(story.session(), alert_data=alert or story.alert))
        yield ObservedSession(running, asked)
