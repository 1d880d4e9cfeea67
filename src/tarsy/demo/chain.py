"""Builds the ResolvedChain of a sample incident from the outline of its agents."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tarsy.config.load.skill_catalog import shipped_skills
from tarsy.config.resolve.agent_resolver import resolved_skill
from tarsy.config.resolve.resolved import (
    ResolvedAgentConfig,
    ResolvedChain,
    ResolvedMasking,
    ResolvedMcpServer,
    ResolvedProvider,
    ResolvedStage,
    ResolvedTransport,
)
from tarsy.demo.incident_files import FilePart
from tarsy.domain.execution import AgentType
from tarsy.domain.llm import LLMBackend, ProviderType
from tarsy.domain.skill import Skill
from tarsy.domain.stage import ParallelType, SuccessPolicy
from tarsy.domain.tool import ToolCalling

SERVER = "cluster"
RECORDING_SCHEME = "sample:"

_SERVER_INSTRUCTIONS = """\
`cluster` shows one Kubernetes cluster, read-only. Start wide (pods_list, events_list), then go to the object: pods_get for exit codes and
limits, pods_log with previous=true for a container that has restarted, deployment_history and configmaps_get for what changed and when.
metrics_query takes plain selectors only; metrics_list tells which metrics exist. Times are UTC."""


class AgentOutline(FilePart):
    name: str
    tool_calling: ToolCalling = ToolCalling.NATIVE
    max_iterations: int = 20
    instructions: str = ""
    description: str = ""
    # None: all tools of the cluster; empty: no cluster at all.
    tools: tuple[str, ...] | None = None
    # Shipped skills that it may load.
    skills: tuple[str, ...] = ()
    # Agents that it may start.
    sub_agents: tuple["AgentOutline", ...] = ()

    @property
    def tree(self) -> Iterator["AgentOutline"]:
        """Yield this agent and all sub-agents below it."""
        yield self
        for sub in self.sub_agents:
            yield from sub.tree


class StageOutline(FilePart):
    name: str
    agents: tuple[AgentOutline, ...]
    success_policy: SuccessPolicy = SuccessPolicy.ANY


def replay_provider(incident: str, speed: float | None) -> ResolvedProvider:
    """Return the provider that replays the incident's recording, `speed` times as fast as a model.

    0: without pauses. None: at the speed of the model client.
    """
    name = f"{RECORDING_SCHEME}{incident}"
    return ResolvedProvider(name="recorded-model", type=ProviderType.REPLAY, model="recorded", recording=name, replay_speed=speed)


def chain_id_of(incident: str) -> str:
    """Return the id of the incident's chain, which is also its alert type."""
    return f"sample-{incident}"


def build_chain(
    incident: str, stages: tuple[StageOutline, ...], provider: ResolvedProvider, settings: Mapping[str, Any] | None = None
) -> ResolvedChain:
    """Build the chain of an incident for `provider`, the recorded one or a real one; `settings` apply to every agent."""
    overrides = settings or {}
    resolved: list[ResolvedStage] = []
    for outline in stages:
        is_parallel = len(outline.agents) > 1
        resolved.append(
            ResolvedStage(
                name=outline.name,
                agents=tuple(_agent(agent, provider, overrides) for agent in outline.agents),
                parallel_type=ParallelType.MULTI_AGENT if is_parallel else None,
                success_policy=outline.success_policy,
                synthesis=_agent_without_tools("SynthesisAgent", AgentType.SYNTHESIS, provider, overrides) if is_parallel else None,
            )
        )
    return ResolvedChain(
        chain_id=chain_id_of(incident),
        stages=tuple(resolved),
        executive_summary=_agent_without_tools("ExecSummaryAgent", AgentType.EXEC_SUMMARY, provider, overrides),
        chat=_agent(AgentOutline(name="ChatAgent", max_iterations=10), provider, overrides),
        mcp_servers={SERVER: cluster_server(incident)},
        skills={skill.name: resolved_skill(skill) for skill in skills_of(stages)},
    )


def skills_of(stages: Iterable[StageOutline]) -> tuple[Skill, ...]:
    """Return the skills that agents of these stages may load, with their texts."""
    named = {name for stage in stages for top in stage.agents for agent in top.tree for name in agent.skills}
    return tuple(shipped_skills()[name] for name in sorted(named))


def cluster_server(incident: str) -> ResolvedMcpServer:
    """Return the tool server of the simulated cluster, which runs in the same Python interpreter as this process."""
    # -P: files in the working directory must not shadow our modules.
    return ResolvedMcpServer(
        name=SERVER,
        transport=ResolvedTransport(
            type="stdio",
            command=sys.executable,
            args=("-P", "-m", "tarsy.demo.cluster", "--incident", incident),
            # It keeps nothing between two calls, and starting it takes longer than all of them.
            shared_connection=True,
        ),
        instructions=_SERVER_INSTRUCTIONS,
        masking=ResolvedMasking(enabled=True, pattern_groups=("kubernetes", "security")),
    )


def _agent(outline: AgentOutline, provider: ResolvedProvider, overrides: Mapping[str, Any]) -> ResolvedAgentConfig:
    agent = ResolvedAgentConfig(
        agent_name=outline.name,
        type=AgentType.DEFAULT,
        llm_backend=backend_of(provider),
        tool_calling=outline.tool_calling,
        provider=provider,
        max_iterations=outline.max_iterations,
        mcp_servers=() if outline.tools == () else (SERVER,),
        tool_filters={SERVER: outline.tools} if outline.tools else {},
        custom_instructions=outline.instructions,
        description=outline.description,
        skills=outline.skills,
        sub_agents=tuple(_agent(sub, provider, overrides) for sub in outline.sub_agents),
    )
    return agent.model_copy(update=overrides)


def _agent_without_tools(name: str, kind: AgentType, provider: ResolvedProvider, overrides: Mapping[str, Any]) -> ResolvedAgentConfig:
    agent = ResolvedAgentConfig(
        agent_name=name, type=kind, llm_backend=backend_of(provider), tool_calling=ToolCalling.NATIVE, provider=provider
    )
    return agent.model_copy(update=overrides)


def backend_of(provider: ResolvedProvider) -> LLMBackend:
    """Return the backend whose SDK shows most of a model's thinking."""
    return LLMBackend.NATIVE_GEMINI if provider.type is ProviderType.GOOGLE else LLMBackend.LANGCHAIN
