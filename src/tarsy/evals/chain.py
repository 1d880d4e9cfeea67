"""The chain of a trial: the installation's own, with the trial's model and the tools of the case's world."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from tarsy.agent import prompt
from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedChain, ResolvedStage, fitting_backend
from tarsy.config.resolve.resolver import resolve_chain
from tarsy.config.schema.configuration import Config, with_any_model
from tarsy.demo.chain import SERVER, cluster_server
from tarsy.domain.llm import ResolvedProvider
from tarsy.domain.tool import ToolCalling, ToolName
from tarsy.evals.cases import Case
from tarsy.evals.worlds.tool_servers import world_server
from tarsy.evals.worlds.world import World

_NO_MODEL = ResolvedProvider.model_validate({"name": "", "type": "replay", "model": ""})


def configured_chain(config: Config, case: Case, chain_id: str | None) -> ResolvedChain:
    """Return the chain `chain_id`, or the chain for the case's alert type.

    Raises:
        UnknownEntryError: there is no such chain.
    """
    # The model of the configuration, and a key for it, do not matter here.
    return resolve_chain(with_any_model(config), chain_id or config.chains.id_for(case.file.alert_type))


def chain_for(chain: ResolvedChain, case: Case, world: World, provider: ResolvedProvider) -> ResolvedChain:
    """Return `chain` on `provider`, with the case's world as its tool servers, and without summary, chat and scoring."""
    names = dict.fromkeys(name.server for tool in world.tools if (name := ToolName.parse(tool.name)))
    replaced = {SERVER: cluster_server(case.name), **chain.mcp_servers}
    servers = {name: world_server(name, case.name, replaced.get(name)) for name in names}
    return chain.model_copy(
        update={
            "stages": tuple(_stage(stage, provider, tuple(servers)) for stage in chain.stages),
            "executive_summary": None,
            "chat": None,
            "scoring": None,
            "mcp_servers": servers,
        }
    )


def with_native_tool_calls(chain: ResolvedChain) -> ResolvedChain:
    """Return the chain with native tool calling in all agents: scripts do not write ReAct."""
    stages = tuple(stage.model_copy(update={"agents": tuple(map(_native, stage.agents))}) for stage in chain.stages)
    return chain.model_copy(update={"stages": stages})


def _native(agent: ResolvedAgentConfig) -> ResolvedAgentConfig:
    return agent.model_copy(update={"tool_calling": ToolCalling.NATIVE, "sub_agents": tuple(map(_native, agent.sub_agents))})


def _stage(stage: ResolvedStage, provider: ResolvedProvider, servers: tuple[str, ...]) -> ResolvedStage:
    return stage.model_copy(
        update={
            "agents": tuple(_agent(agent, provider, servers) for agent in stage.agents),
            "synthesis": _agent(stage.synthesis, provider, ()) if stage.synthesis else None,
        }
    )


def _agent(agent: ResolvedAgentConfig, provider: ResolvedProvider, servers: tuple[str, ...]) -> ResolvedAgentConfig:
    return agent.model_copy(
        update={
            "provider": provider,
            "fallback_providers": (),
            "llm_backend": fitting_backend(agent.llm_backend, provider),
            "mcp_servers": servers,
            "tool_filters": {},
            # A sub-agent without tools stays without tools.
            "sub_agents": tuple(_agent(sub, provider, servers if sub.mcp_servers else ()) for sub in agent.sub_agents),
        }
    )


def digest(texts: Iterable[str]) -> str:
    """Return sixteen hexadecimal digits of a hash of the texts."""
    found = hashlib.sha256()
    for text in texts:
        found.update(f"{len(text)}\n{text}".encode())
    return found.hexdigest()[:16]


def configuration_digest(chain: ResolvedChain) -> str:
    """Return a hash of the chain without its models: agents, instructions, limits, tool servers."""
    stages = tuple(_stage(stage, _NO_MODEL, stage.agents[0].mcp_servers) for stage in chain.stages)
    servers = {name: world_server(name, "", server) for name, server in chain.mcp_servers.items()}
    return digest([chain.model_copy(update={"stages": stages, "mcp_servers": servers}).model_dump_json()])


def model_digest(provider: ResolvedProvider) -> str:
    return digest([provider.model_copy(update={"recording": None}).model_dump_json()])


def prompt_digest() -> str:
    """Return a hash of the prompts of this program."""
    folder = Path(prompt.__path__[0])
    return digest(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.py")))
