"""Resolves the configuration of one session: its chain, and the variants of its tool servers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tarsy.config.problems import KeyPath
from tarsy.config.resolve.agent_resolver import ADDS_NOTHING, AgentPlace, ExplainedAgent, resolve_agent, resolved_skill
from tarsy.config.resolve.hierarchy import BUILT_IN, Layer, Level
from tarsy.config.resolve.resolved import (
    ResolvedAgentConfig,
    ResolvedChain,
    ResolvedChallenge,
    ResolvedMcpServer,
    ResolvedStage,
    resolved_server,
)
from tarsy.config.schema.agents import AgentKind, SkillsKeys
from tarsy.config.schema.budget import ceiling_of
from tarsy.config.schema.chains import ChainConfig, StageConfig
from tarsy.config.schema.configuration import Config, with_any_model
from tarsy.config.schema.providers import NativeToolsConfig
from tarsy.config.schema.selection import McpSelection, SelectionError, check_selection
from tarsy.domain.execution import AgentType
from tarsy.domain.stage import ParallelType, SuccessPolicy
from tarsy.domain.verdict import Confidence


@dataclass(frozen=True, slots=True)
class ExplainedChain:
    """A resolved chain and its explained agents: stage by stage, then summary, chat, scoring. Replicas are listed once."""

    chain: ResolvedChain
    agents: tuple[ExplainedAgent, ...]


def resolve_chain(config: Config, chain_id: str, mcp_selection: McpSelection | None = None) -> ResolvedChain:
    """Return the part of the configuration that a session needs, to be stored with it.

    Raises:
        UnknownEntryError: there is no such chain.
        NoProviderError: no level names a provider and no vendor's key was in the environment.
        SelectionError: the alert's selection cannot be met.
    """
    return explain_chain(config, chain_id, mcp_selection).chain


def explain_chain(config: Config, chain_id: str, mcp_selection: McpSelection | None = None) -> ExplainedChain:
    """Resolve a chain as `resolve_chain` does, with the level that each field of each agent came from."""
    chain = config.chains[chain_id]
    if mcp_selection and (problems := check_selection(config, mcp_selection)):
        raise SelectionError(problems)
    environment = Layer(level=Level.ENVIRONMENT, llm_provider=config.default_provider)
    below = (BUILT_IN, environment, Layer.of(Level.DEFAULTS, config.defaults))
    return _ChainResolver(config, chain_id, chain, mcp_selection, below, Layer.of(Level.CHAIN, chain)).run()


def default_tools(config: Config, alert_type: str) -> tuple[list[str], dict[str, bool]]:
    """Return the names of the tool servers, and the native tools, that the agents for an alert type have if the alert selects no others.

    Without a model, the native tools are those that the agents themselves configure.

    Raises:
        UnknownEntryError: no chain handles the alert type.
    """
    chain = resolve_chain(with_any_model(config), config.chains.id_for(alert_type))
    agents = [agent for stage in chain.stages for top in stage.agents for agent in top.tree]
    servers = list(dict.fromkeys(name for agent in agents for name in agent.mcp_servers))
    return servers, {tool: any(agent.native_tools.get(tool, False) for agent in agents) for tool in NativeToolsConfig.model_fields}


@dataclass(slots=True)
class _ChainResolver:
    config: Config
    chain_id: str
    chain: ChainConfig
    selection: McpSelection | None
    # The levels that all agents share: those below their definitions, and the chain itself.
    below: tuple[Layer, ...]
    own: Layer
    explained: list[ExplainedAgent] = field(default_factory=list[ExplainedAgent])

    def run(self) -> ExplainedChain:
        stages = tuple(self._stage(index, stage) for index, stage in enumerate(self.chain.stages))
        summary = scoring = None
        if self.chain.executive_summary.enabled:
            layer = Layer(level=Level.EXECUTIVE_SUMMARY, llm_provider=self.chain.executive_summary_provider)
            path = ("executive_summary_provider",)
            summary = self._agent("executive summary", path, "ExecSummaryAgent", layer, kind=AgentType.EXEC_SUMMARY)
        chat = self._chat([stage for stage in stages if not stage.acts]) if self.chain.chat.enabled else None
        common, own = self.config.defaults.scoring, self.chain.scoring
        if common.enabled if own.enabled is None else own.enabled:
            layers = (Layer.of(Level.DEFAULTS_SCORING, common), Layer.of(Level.SCORING, own))
            scoring = self._agent("scoring", ("scoring",), own.agent or common.agent or "ScoringAgent", *layers, kind=AgentType.SCORING)
        challenge = self.chain.challenge
        servers = sorted({name for explained in self.explained for name in explained.agent.mcp_servers})
        skills = {name for explained in self.explained for name in (*explained.agent.skills, *explained.agent.required_skills)}
        resolved = ResolvedChain(
            chain_id=self.chain_id,
            stages=stages,
            executive_summary=summary,
            chat=chat,
            scoring=scoring,
            challenge=ResolvedChallenge(when_below=challenge.when_below, max_iterations=challenge.max_iterations)
            if challenge and challenge.enabled
            else None,
            mcp_servers={name: resolved_server(self.config, name) for name in servers},
            # Unknown names are reported when the configuration is checked, which resolves the chain nevertheless.
            skills={name: resolved_skill(self.config.skills[name]) for name in sorted(skills & self.config.skills.keys())},
            default_runbook=self.config.defaults.runbook,
            budget=ceiling_of(self.chain, self.config.defaults),
            session_timeout=self.config.queue.session_timeout,
        )
        return ExplainedChain(resolved, tuple(self.explained))

    def _agent(
        self, title: str, path: KeyPath, name: str, *layers: Layer, kind: AgentType | None = None, adds: SkillsKeys = ADDS_NOTHING
    ) -> ResolvedAgentConfig:
        place = AgentPlace(
            title=title,
            path=("agent_chains", self.chain_id, *path),
            name=name,
            below=self.below,
            layers=(self.own, *layers),
            kind=kind,
            adds=adds,
        )
        explained = resolve_agent(self.config, place, self.selection)
        self.explained += (explained, *explained.sub_agents)
        return explained.agent

    def _stage(self, index: int, stage: StageConfig) -> ResolvedStage:
        path: KeyPath = ("stages", index)
        own = Layer.of(Level.STAGE, stage)
        agents = tuple(
            self._agent(
                f"{stage.name} / {entry.name}",
                (*path, "agents", number),
                entry.name,
                own,
                Layer.of(Level.STAGE_AGENT, entry),
                kind=AgentType.ACTION if entry.type is AgentKind.ACTION else None,
                adds=entry,
            )
            for number, entry in enumerate(stage.agents)
        )
        if stage.dry_run:
            agents = tuple(agent.model_copy(update={"dry_run": True}) for agent in agents)
        parallel = ParallelType.MULTI_AGENT if len(stage.agents) > 1 else None
        if stage.replicas > 1:
            parallel = ParallelType.REPLICA
            agents = tuple(
                agents[0].model_copy(update={"agent_name": f"{agents[0].agent_name}-{number + 1}"}) for number in range(stage.replicas)
            )
        synthesis = None
        if parallel:
            layers = (own, Layer.of(Level.SYNTHESIS, stage.synthesis))
            synthesis = self._agent(
                f"{stage.name} / synthesis", (*path, "synthesis"), stage.synthesis.agent, *layers, kind=AgentType.SYNTHESIS
            )
        return ResolvedStage(
            name=stage.name,
            agents=agents,
            parallel_type=parallel,
            success_policy=stage.success_policy or self.config.defaults.success_policy or SuccessPolicy.ANY,
            synthesis=synthesis,
            budget=ceiling_of(stage),
            min_confidence=stage.min_confidence or Confidence.HIGH,
        )

    def _chat(self, stages: Sequence[ResolvedStage]) -> ResolvedAgentConfig:
        chat = self.chain.chat
        layers = [Layer.of(Level.CHAT, chat)]
        if self.config.agents[chat.agent].mcp_servers is None:
            servers = tuple(
                dict.fromkeys(name for stage in stages for top in stage.agents for agent in top.tree for name in agent.mcp_servers)
            )
            layers.insert(0, Layer(level=Level.STAGES, mcp_servers=servers))
        if self.config.agents[chat.agent].tool_calling is None:
            # A model that cannot call functions in the investigation cannot in the chat either.
            used = {agent.tool_calling for stage in stages for agent in stage.agents}
            layers.insert(0, Layer(level=Level.STAGES, tool_calling=used.pop() if len(used) == 1 else None))
        return self._agent("chat", ("chat",), chat.agent, *layers)


def variants_in_use(config: Config) -> Mapping[str, str]:
    """Return the tool servers that routes may choose, each with the alert type it is chosen for."""
    return {
        variant: route.alert_type or config.defaults.alert_type
        for route in config.routes
        for variants in route.tool_servers.values()
        for variant in variants.variants.values()
    }


def with_variants(
    chain: ResolvedChain, chosen: Mapping[str, str], absent: Mapping[str, str], server: Callable[[str], ResolvedMcpServer]
) -> ResolvedChain:
    """Return `chain` with the variants in `chosen` in place of their tool servers, and without those in `absent`, each with the reason for the agents.

    `server` returns a variant by its name.
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
