"""The chain that a case is run with: the installation's own, on another model and in the case's world. Pure module."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedChain, ResolvedMcpServer, ResolvedStage, reaches
from tarsy.config.resolve.resolver import resolve_chain
from tarsy.config.schema.configuration import Config, with_any_model
from tarsy.demo.chain import SERVER, cluster_server
from tarsy.domain.llm import LLMBackend, ResolvedProvider
from tarsy.domain.tool import ToolCalling, ToolName
from tarsy.evals.cases import Case
from tarsy.evals.worlds.tool_servers import world_server
from tarsy.evals.worlds.world import World


def configured_chain(config: Config, case: Case, chain_id: str | None) -> ResolvedChain:
    """The chain named, or the one that an alert of the case's type would get.

    Raises:
        UnknownEntryError: there is no such chain.
    """
    # Which model the configuration prefers does not matter here, nor whether there is a key for it.
    return resolve_chain(with_any_model(config), chain_id or config.chains.id_for(case.file.alert_type))


def chain_for(chain: ResolvedChain, case: Case, world: World, provider: ResolvedProvider) -> ResolvedChain:
    """`chain` on `provider`, with the case's world in place of its tool servers, and without what comes after the investigation."""
    servers = _servers(case, world, chain.mcp_servers)
    return chain.model_copy(
        update={
            "stages": tuple(_stage(stage, provider, tuple(servers)) for stage in chain.stages),
            "executive_summary": None,
            "chat": None,
            "scoring": None,
            "mcp_servers": servers,
        }
    )


def spoken_natively(chain: ResolvedChain) -> ResolvedChain:
    """The chain with function calling everywhere: a script writes no ReAct."""
    stages = tuple(stage.model_copy(update={"agents": tuple(map(_natively, stage.agents))}) for stage in chain.stages)
    return chain.model_copy(update={"stages": stages})


def _natively(agent: ResolvedAgentConfig) -> ResolvedAgentConfig:
    return agent.model_copy(update={"tool_calling": ToolCalling.NATIVE, "sub_agents": tuple(map(_natively, agent.sub_agents))})


def _servers(case: Case, world: World, configured: Mapping[str, ResolvedMcpServer]) -> Mapping[str, ResolvedMcpServer]:
    names = dict.fromkeys(name.server for tool in world.tools if (name := ToolName.parse(tool.name)))
    like = {SERVER: cluster_server(case.name), **configured}
    return {name: world_server(name, case.name, like.get(name)) for name in names}


def _stage(stage: ResolvedStage, provider: ResolvedProvider, servers: tuple[str, ...]) -> ResolvedStage:
    return stage.model_copy(
        update={
            "agents": tuple(_agent(agent, provider, servers) for agent in stage.agents),
            "synthesis": _agent(stage.synthesis, provider, ()) if stage.synthesis else None,
        }
    )


def _agent(agent: ResolvedAgentConfig, provider: ResolvedProvider, servers: tuple[str, ...]) -> ResolvedAgentConfig:
    fits = reaches(agent.llm_backend, provider.type, provider.model)
    return agent.model_copy(
        update={
            "provider": provider,
            "fallback_providers": (),
            "llm_backend": agent.llm_backend if fits else LLMBackend.LANGCHAIN,
            "mcp_servers": servers,
            "tool_filters": {},
            # One that has tools of its own has those of the world; one that only thinks goes on thinking.
            "sub_agents": tuple(_agent(sub, provider, servers if sub.mcp_servers else ()) for sub in agent.sub_agents),
        }
    )


def digest(texts: Iterable[str]) -> str:
    """Sixteen digits that change with any of the texts."""
    found = hashlib.sha256()
    for text in texts:
        found.update(f"{len(text)}\n{text}".encode())
    return found.hexdigest()[:16]


def configuration_digest(chain: ResolvedChain) -> str:
    """What the chain says apart from the model: agents, instructions, limits, tool servers."""
    return digest([_without_providers(chain).model_dump_json()])


def model_digest(provider: ResolvedProvider) -> str:
    return digest([provider.model_copy(update={"recording": None}).model_dump_json()])


def prompt_digest() -> str:
    """The prompts as the program that runs has them."""
    import tarsy.agent.prompt  # noqa: PLC0415 - only its place is wanted

    folder = Path(tarsy.agent.prompt.__path__[0])
    return digest(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.py")))


_NO_MODEL = ResolvedProvider.model_validate({"name": "", "type": "replay", "model": ""})


def _without_providers(chain: ResolvedChain) -> ResolvedChain:
    bare = chain.model_copy(update={"stages": tuple(_stage(stage, _NO_MODEL, stage.agents[0].mcp_servers) for stage in chain.stages)})
    return bare.model_copy(update={"mcp_servers": {name: world_server(name, "", server) for name, server in chain.mcp_servers.items()}})
