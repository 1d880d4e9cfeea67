"""A chain whose tool servers are replaced by variants of them, as for one of many clusters. Pure module."""

from collections.abc import Callable, Mapping

from tarsy.config.resolve.resolved import ResolvedAgentConfig, ResolvedChain, ResolvedMcpServer, ResolvedStage
from tarsy.config.schema.configuration import Config


def variants_in_use(config: Config) -> Mapping[str, str]:
    """The tool servers that some route may choose, each with the alert type it is chosen for."""
    return {
        variant: route.alert_type or config.defaults.alert_type
        for route in config.routes
        for variants in route.tool_servers.values()
        for variant in variants.variants.values()
    }


def with_variants(
    chain: ResolvedChain, chosen: Mapping[str, str], absent: Mapping[str, str], server: Callable[[str], ResolvedMcpServer]
) -> ResolvedChain:
    """`chain` with the variants in `chosen` in place of their tool servers, and without those in `absent`, of which each agent is told why.

    `server` finds a variant by its name.
    """
    if not chosen and not absent:
        return chain

    def place(agent: ResolvedAgentConfig | None) -> ResolvedAgentConfig | None:
        return _with_variants(agent, chosen, absent) if agent else None

    own = {name: entry for name, entry in chain.mcp_servers.items() if name not in chosen and name not in absent}
    taken = {chosen[name] for name in chain.mcp_servers if name in chosen}
    return chain.model_copy(
        update={
            "stages": tuple(_stage(stage, place) for stage in chain.stages),
            "executive_summary": place(chain.executive_summary),
            "chat": place(chain.chat),
            "scoring": place(chain.scoring),
            "mcp_servers": {**own, **{name: server(name) for name in sorted(taken)}},
        }
    )


def _stage(stage: ResolvedStage, place: Callable[[ResolvedAgentConfig | None], ResolvedAgentConfig | None]) -> ResolvedStage:
    return stage.model_copy(update={"agents": tuple(map(place, stage.agents)), "synthesis": place(stage.synthesis)})


def _with_variants(agent: ResolvedAgentConfig, chosen: Mapping[str, str], absent: Mapping[str, str]) -> ResolvedAgentConfig:
    kept = [name for name in agent.mcp_servers if name not in absent]
    return agent.model_copy(
        update={
            # Two servers may have the same variant.
            "mcp_servers": tuple(dict.fromkeys(chosen.get(name, name) for name in kept)),
            "tool_filters": {chosen.get(name, name): tools for name, tools in agent.tool_filters.items() if name not in absent},
            "sub_agents": tuple(_with_variants(sub, chosen, absent) for sub in agent.sub_agents),
            "absent_servers": {name: absent[name] for name in agent.mcp_servers if name in absent},
        }
    )
