"""Runs a chain on a recorded model and recorded tools through the real pipeline on a real database, and holds the result against a golden file."""

import json
import os
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from support.paths import TESTS
from tarsy.agent.ports import LLMClient, ToolServers
from tarsy.config.load.loader import LoadedConfig, load_config
from tarsy.config.resolve.resolved import (
    ResolvedAgentConfig,
    ResolvedChain,
    ResolvedFallback,
    ResolvedMcpServer,
    ResolvedStage,
    ResolvedTransport,
)
from tarsy.db.session.recordings import RecordingSource
from tarsy.domain.claim import CHAT_ANSWER, INVESTIGATION
from tarsy.domain.execution import AgentType
from tarsy.domain.llm import LLMBackend, ProviderType, ResolvedProvider
from tarsy.domain.recording import (
    RecordedCall,
    RecordedCatalog,
    RecordedChunk,
    RecordedOutcome,
    RecordedTool,
    Recording,
)
from tarsy.domain.session import NewSession
from tarsy.domain.stage import ParallelType, SuccessPolicy
from tarsy.domain.tool import ToolCalling, ToolDefinition
from tarsy.llm.in_process import in_process_client
from tarsy.settings import Settings
from tarsy.tools.recorded import RecordedToolServers
from tarsy.wiring.application import Application, application
from tarsy.wiring.infrastructure import Overrides

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|(?:\.\d+)?\+00:00(?=\"))")
GOLDEN = TESTS / "e2e" / "agents" / "golden"
NONCE = "0123456789abcdef"
SESSION_ID = "00000000-0000-4000-8000-000000000001"
PROVIDER = ResolvedProvider(name="recorded", type=ProviderType.REPLAY, model="model-1", recording="the recording", context_window=128_000)
OTHER = PROVIDER.model_copy(update={"name": "other", "model": "model-2"})
SERVER = ResolvedMcpServer(
    name="k8s", transport=ResolvedTransport(type="stdio", command="none"), instructions="Ask about one namespace at a time."
)
TOOLS = (
    ToolDefinition(name="k8s.pods", description="List pods.", parameters_schema={"type": "object"}, read_only=True),
    ToolDefinition(name="k8s.logs", description="Read a pod's log.", parameters_schema={"type": "object"}, read_only=True),
)


@cache
def built_in_config() -> LoadedConfig:
    """The configuration where there are no files, loaded once for all tests: it was a seventh of the start of an application."""
    return load_config(None, {})


def agent(name: str = "Investigator", **changes: Any) -> ResolvedAgentConfig:
    base = ResolvedAgentConfig(
        agent_name=name,
        type=AgentType.DEFAULT,
        llm_backend=LLMBackend.LANGCHAIN,
        tool_calling=ToolCalling.NATIVE,
        provider=PROVIDER,
        mcp_servers=("k8s",),
        max_iterations=5,
    )
    return base.model_copy(update=changes)


def helper(name: str, kind: AgentType, **changes: Any) -> ResolvedAgentConfig:
    return agent(name, **{"type": kind, "mcp_servers": (), **changes})


def fallback(provider: ResolvedProvider) -> ResolvedFallback:
    return ResolvedFallback(provider=provider, backend=LLMBackend.LANGCHAIN)


def stage(
    *agents: ResolvedAgentConfig, name: str = "look", policy: SuccessPolicy = SuccessPolicy.ANY, replicas: bool = False
) -> ResolvedStage:
    several = len(agents) > 1
    return ResolvedStage(
        name=name,
        agents=agents,
        parallel_type=(ParallelType.REPLICA if replicas else ParallelType.MULTI_AGENT) if several else None,
        success_policy=policy,
        synthesis=helper("SynthesisAgent", AgentType.SYNTHESIS) if several else None,
    )


def chain(*stages: ResolvedStage, **changes: Any) -> ResolvedChain:
    base = ResolvedChain(
        chain_id="chain",
        stages=stages,
        executive_summary=helper("ExecSummaryAgent", AgentType.EXEC_SUMMARY),
        chat=agent("ChatAgent"),
        scoring=helper("ScoringAgent", AgentType.SCORING),
        mcp_servers={"k8s": SERVER},
        default_runbook="Look at the pods first.",
        # Long enough for workers that are killed and start again beside other work.
        session_timeout=600.0,
    )
    return base.model_copy(update=changes)


def says(track: str, turn: int, *chunks: Any) -> RecordedCall:
    """A recorded answer: strings are text, dictionaries chunks as written in a recording."""
    return RecordedCall(
        track=track,
        turn=turn,
        chunks=tuple(
            RecordedChunk(text=chunk) if isinstance(chunk, str) else RecordedChunk.model_validate(chunk)
            for chunk in (*chunks, {"usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}})
        ),
    )


def thinks(text: str) -> dict[str, Any]:
    return {"thinking": text}


def calls(call_id: str, name: str, /, **arguments: Any) -> dict[str, Any]:
    return {"tool_call": {"id": call_id, "name": name, "arguments": arguments}}


def fails(code: str, message: str = "the model failed", *, retryable: bool = False) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "retryable": retryable}}


def answers(track: str, call_id: str, name: str, content: str, arguments: str = "{}", **more: Any) -> RecordedTool:
    return RecordedTool(track=track, call_id=call_id, name=name, arguments=arguments, content=content, **more)


SUMMARY = "executive summary/1.ExecSummaryAgent"


@dataclass(frozen=True)
class Scenario:
    """What happens when `chain` meets an alert."""

    chain: ResolvedChain
    calls: Sequence[RecordedCall]
    tools: Sequence[RecordedTool] = ()
    questions: Sequence[str] = ()
    alert: str = "CPU is at 100 % on node-1"
    catalog: Sequence[ToolDefinition] = TOOLS
    servers: ToolServers | None = None
    llm: LLMClient | None = None
    replay_speed: float = 0.0
    extra_tracks: Sequence[str] = field(default=())
    runbook_url: str | None = None
    # The tools of the chain's servers, instead of recorded ones.
    real_tools: bool = False
    config_dir: Path | None = None
    env: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def recording(self) -> Recording:
        tracks = {call.track for call in self.calls} | {tool.track for tool in self.tools} | set(self.extra_tracks)
        catalogs = tuple(RecordedCatalog(track=track, tools=tuple(self.catalog)) for track in sorted(tracks))
        return Recording(calls=tuple(self.calls), tools=tuple(self.tools), catalogs=catalogs)

    def session(self) -> NewSession:
        return NewSession(
            id=SESSION_ID,
            alert_data=self.alert,
            alert_type="test",
            chain_id=self.chain.chain_id,
            chain_snapshot=self.chain.model_dump(mode="json"),
            author="tester",
            nonce=NONCE,
            runbook_url=self.runbook_url,
            created_at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        )

    @asynccontextmanager
    async def running(self, database_url: str) -> AsyncGenerator[Application]:
        """The application on this scenario, its alert submitted."""
        async with self.continued(database_url) as running:
            await running.services.repositories.sessions.insert(self.session())
            yield running

    @asynccontextmanager
    async def continued(self, database_url: str) -> AsyncGenerator[Application]:
        """The application on this scenario, whose alert was submitted before."""
        recording = self.recording
        llm = self.llm or in_process_client(env={}, recordings=lambda _: recording, replay_speed=self.replay_speed)
        settings = Settings(env=self.env, database_url=database_url, config_dir=self.config_dir)
        loaded = None if self.config_dir or self.env else built_in_config()
        tools = None if self.real_tools else self.servers or RecordedToolServers(recording)
        async with application(settings, loaded=loaded, overrides=Overrides(tools=tools, llm=llm)) as running:
            yield running

    async def play(self, database_url: str) -> Recording:
        """Run it all and read it back."""
        async with self.running(database_url) as running:
            await running.pool.run_waiting(INVESTIGATION)
            for question in self.questions:
                await running.services.repositories.chats.ask(SESSION_ID, question, author="tester")
                await running.pool.run_waiting(CHAT_ANSWER)
            return await read_back(running)


async def read_back(running: Application) -> Recording:
    found = await RecordingSource(running.engine).read(SESSION_ID)
    assert found is not None
    assert found.outcome is not None
    open_events = [event for event in found.outcome.timeline if event["status"] == "streaming"]
    assert open_events == [], "however a run ends, nothing of it streams on"
    return found


def kinds(outcome: RecordedOutcome, track: str) -> list[tuple[str, str]]:
    """The timeline of a track in short: what and how it ended."""
    return [(event["event_type"], event["status"]) for event in outcome.timeline if event["track"] == track]


def conversation(outcome: RecordedOutcome, track: str) -> list[tuple[str, str]]:
    """The conversation of a track in short, without its opening."""
    return [(message["role"], message["content"]) for message in outcome.conversations[track][2:]]


def agrees_with_golden(recording: Recording, name: str) -> None:
    """Compare everything stored with `golden/NAME.json`; MAKE_GOLDEN=1 writes it for review instead."""
    assert recording.outcome is not None
    path = GOLDEN / f"{name}.json"
    # The times at which it was asked and read are of the day.
    # What checking found stands in the timeline too, with each answer.
    actual = json.loads(_TIME.sub("TIME", recording.outcome.model_dump_json(exclude={"verdict", "citations"})))
    if os.environ.get("MAKE_GOLDEN"):
        path.write_text(json.dumps(actual, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert actual == json.loads(path.read_text(encoding="utf-8"))


def with_chain(scenario: Scenario, new: ResolvedChain) -> Scenario:
    return replace(scenario, chain=new)
