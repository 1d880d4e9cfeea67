"""How many characters a session sends to its models, and what they are: every case of the suite with its oracle, and every sample.

All requests count whole, as a vendor counts them that has cached nothing: each turn sends the conversation again.
"""

import json
import logging
import re
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial

import anyio

from tarsy.agent.ports import LLMClient, ToolExecutor, ToolServers
from tarsy.config.load.loader import load_config
from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedMcpServer
from tarsy.domain.conversation import Role, ToolCall
from tarsy.domain.execution import ExecutionPlace
from tarsy.domain.llm import Chunk, GenerateInput, LLMHealth
from tarsy.domain.tool import Tag, ToolCatalog, ToolResult
from tarsy.evals.cases import SUITE, load_cases
from tarsy.evals.models import ScriptedModels, find_models
from tarsy.evals.plan import Plan, trials_of
from tarsy.evals.run import pipeline
from tarsy.evals.worlds.loading import open_world
from tarsy.evals.worlds.tool_servers import WorldServers
from tarsy.kit.logs import configure_logs
from tarsy.settings import Settings
from tarsy.wiring.infrastructure import llm_client

# Characters per session at commit 3909e02.
BEFORE = {("oracle", False): 39_645, ("recorded", False): 122_179, ("recorded", True): 236_038}
# Healthy pods, and normal events, in each table of a crowded cluster.
WELL = 150


class CountedModels:
    """Counts what is sent to the models of `inner`."""

    def __init__(self, inner: LLMClient) -> None:
        self._inner = inner
        self.sent: Counter[str] = Counter()
        self.sessions: set[str] = set()

    async def generate(self, request: GenerateInput) -> AsyncGenerator[Chunk]:
        self.sessions.add(request.session_id)
        self.sent["tools"] += sum(len(json.dumps([tool.name, tool.description, dict(tool.parameters_schema)])) for tool in request.tools)
        for message in request.messages:
            part = "prompt" if message.role is Role.USER else message.role.value
            self.sent[part] += len(message.content) + sum(len(call.name) + len(call.arguments) for call in message.tool_calls)
        async with aclosing(self._inner.generate(request)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def health(self) -> LLMHealth:
        return await self._inner.health()

    async def aclose(self) -> None:
        await self._inner.aclose()


class CrowdedTools:
    """Tools whose tables of pods and events also list what is well, as those of a cluster with more than one workload do."""

    def __init__(self, inner: ToolExecutor) -> None:
        self._inner = inner

    async def list_tools(self) -> ToolCatalog:
        return await self._inner.list_tools()

    async def execute(self, call: ToolCall, on_output: Callable[[str], None]) -> ToolResult:
        result = await self._inner.execute(call, on_output)
        header = result.content.partition("\n")[0]
        columns = [(found[0].strip(), found.end() - found.start()) for found in re.finditer(r"[A-Z]+(?: [A-Z]+)*\s*", header)]
        names = {name for name, _ in columns}
        if result.is_error or not ({"NAME", "READY", "STATUS"} <= names or {"TYPE", "REASON", "OBJECT"} <= names):
            return result
        rows = ("".join(_cell(name, number).ljust(width) for name, width in columns).rstrip() for number in range(WELL))
        return replace(result, content="\n".join((result.content.rstrip("\n"), *rows)))


def _cell(column: str, number: int) -> str:
    pod = f"app-{number % 9}-{number * 7919 % 0xFFFFF:05x}c-{number:05}"
    cells = {"NAMESPACE": "other", "READY": "1/1", "STATUS": "Running", "RESTARTS": "0", "AGE": "9d", "LAST SEEN": f"{number % 59}m"}
    cells |= {"NAME": pod, "OBJECT": f"Pod/{pod}", "TYPE": "Normal", "REASON": ("Pulled", "Created", "Started")[number % 3]}
    return cells.get(column, f"10.0.0.{number % 250}") + " "


@dataclass(frozen=True)
class CrowdedServers:
    inner: ToolServers

    @asynccontextmanager
    async def open(
        self, agent: ResolvedAgentConfig, servers: Mapping[str, ResolvedMcpServer], *, place: ExecutionPlace, tag: Tag | None = None
    ) -> AsyncGenerator[ToolExecutor]:
        async with self.inner.open(agent, servers, place=place, tag=tag) as tools:
            yield CrowdedTools(tools)


async def measured(model: str, *, crowded: bool) -> CountedModels:
    """Run every case that a model fits, and return what it was sent."""
    settings, loaded = Settings(env={}, replay_speed=0.0), load_config(None, {})
    plan = Plan(cases=load_cases(SUITE), models=find_models(loaded, [model]))
    worlds = {case.name: open_world(case) for case in plan.cases}
    trials = list(trials_of(plan, loaded, worlds))
    models = CountedModels(ScriptedModels({case.name: case for case in plan.cases}, llm_client(settings, {})))
    overrides = {one.session.id: one.overrides for one in trials if one.overrides}
    tools = CrowdedServers(WorldServers(worlds)) if crowded else WorldServers(worlds)
    async with pipeline(settings, loaded, models, tools, overrides, jobs=plan.jobs) as running:
        for one in trials:
            await running.attempt(one.session)
    return models


def main() -> bool:
    configure_logs(level=logging.WARNING)
    shares: list[float] = []
    for (model, crowded), before in BEFORE.items():
        counted = anyio.run(partial(measured, model, crowded=crowded))
        sessions, sent = len(counted.sessions), counted.sent.total()
        parts = ", ".join(f"{part} {count / sessions:,.0f}" for part, count in counted.sent.most_common())
        shares.append(sent / sessions / before)
        print(
            f"{model}{', crowded' if crowded else ''}: {sessions} sessions, {sent / sessions:,.0f} characters each ({before:,} before: {1 - shares[-1]:.0%} less): {parts}"
        )
    # The worlds of the suite have short results: in those, prompts and tools are nearly all that is sent.
    return shares[-1] <= 2 / 3


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
