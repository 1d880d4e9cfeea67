"""Resolves one agent of a chain: every field has the value of the highest level that sets it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from tarsy.config.problems import KeyPath
from tarsy.config.resolve.hierarchy import Layer, Level, highest
from tarsy.config.resolve.resolved import (
    DEFAULT_ORCHESTRATOR,
    ResolvedAgentConfig,
    ResolvedFallback,
    ResolvedJudge,
    ResolvedOrchestrator,
    ResolvedSkill,
    fitting_backend,
    reaches,
    resolved_provider,
)
from tarsy.config.schema.agents import AgentKind, SkillsKeys, SubAgentConfig
from tarsy.config.schema.budget import BudgetKey, ceiling_of
from tarsy.config.schema.configuration import Config, NoProviderError, vendor_variables
from tarsy.config.schema.selection import McpSelection
from tarsy.domain.execution import AgentType
from tarsy.domain.llm import LLMBackend
from tarsy.domain.skill import Skill, text_hash


def _loadable_skills(known: Collection[str], definition: SkillsKeys, adds: SkillsKeys, *, has_servers: bool) -> tuple[str, ...]:
    """Return the skills that an agent may load: those of its definition, and those that its reference in a stage adds.

    An agent without tool servers has only the skills that it names: a catalogue would give it function calls, which disable the vendor's native tools.
    """
    if definition.skills is None and (has_servers or not adds.skills):
        return tuple(sorted(known)) if has_servers else ()
    return _joined(definition.skills, adds.skills)


def resolved_skill(skill: Skill) -> ResolvedSkill:
    return ResolvedSkill(
        name=skill.name,
        description=skill.description,
        origin=skill.origin,
        commit=skill.commit,
        files={path: text_hash(text) for path, text in sorted(skill.files.items())},
    )


def _joined(*lists: Sequence[str] | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for names in lists for name in names or ()))


Value = TypeVar("Value")
ADDS_NOTHING = SkillsKeys()
# It answers questions of people, and is no sub-agent.
_CHAT_AGENT = "ChatAgent"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentPlace:
    """The place of an agent in a chain, and the layers of the other levels that apply to it."""

    title: str
    path: KeyPath
    name: str
    # The levels below and above its definition.
    below: tuple[Layer, ...]
    layers: tuple[Layer, ...]
    # Set by the blocks for synthesis, summary and scoring, whose agents have that type.
    kind: AgentType | None = None
    # Skills that the reference adds to those of the agent.
    adds: SkillsKeys = ADDS_NOTHING
    # A sub-agent has no sub-agents itself.
    is_sub_agent: bool = False


@dataclass(frozen=True, slots=True)
class ExplainedAgent:
    """A resolved agent, and the level that each of its fields came from."""

    title: str
    path: KeyPath
    agent: ResolvedAgentConfig
    levels: Mapping[str, Level]
    sub_agents: tuple["ExplainedAgent", ...] = ()


@dataclass(slots=True)
class _Choice:
    layers: tuple[Layer, ...]
    levels: dict[str, Level] = field(default_factory=dict[str, Level])

    def take(self, name: str, of: Callable[[Layer], Value | None]) -> Value:
        found = highest(self.layers, of)
        if found is None:
            raise LookupError(f"no level sets {name}")
        self.levels[name] = found[1]
        return found[0]


def resolve_agent(config: Config, place: AgentPlace, selection: McpSelection | None = None) -> ExplainedAgent:
    """Raises:
    NoProviderError: no level names a provider and no vendor's key was in the environment.
    """
    definition = config.agents[place.name]
    kind = place.kind or definition.type.runs_as
    layers = (*place.below, Layer.of(Level.AGENT, definition), *place.layers)
    is_limited = place.is_sub_agent or kind is AgentType.ACTION
    if selection:
        selected = tuple(server.name for server in selection.servers)
        if is_limited:
            # The alert's selection can only remove servers of a sub-agent, and of an agent that acts.
            own = highest(layers, lambda layer: layer.mcp_servers)
            selected = tuple(name for name in own[0] if name in selected) if own else ()
        layers = (*layers, Layer(level=Level.ALERT, mcp_servers=selected))
    choice = _Choice(layers)
    if not any(layer.llm_provider for layer in choice.layers):
        raise NoProviderError(vendor_variables())
    provider_name = choice.take("provider", lambda layer: layer.llm_provider)
    provider = config.llm_providers[provider_name]
    native_tools = definition.native_tools.as_switches()
    if selection and selection.native_tools:
        switches = selection.native_tools.model_dump(exclude_none=True)
        native_tools = {**native_tools, **{name: on for name, on in switches.items() if not (on and is_limited)}}
    backend = choice.take("llm_backend", lambda layer: layer.llm_backend)
    if kind is AgentType.EXEC_SUMMARY and not reaches(backend, provider.type, provider.model):
        # There is no key for the backend of the summary, so the operator could not correct a mismatch.
        backend = fitting_backend(backend, provider)
        choice.levels["llm_backend"] = choice.levels["provider"]
    resolved = resolved_provider(provider_name, provider, native_tools)
    servers: tuple[str, ...] = ()
    loadable: tuple[str, ...] = ()
    if kind.calls_tools:
        servers = choice.take("mcp_servers", lambda layer: layer.mcp_servers)
        loadable = _loadable_skills(config.skills, definition, place.adds, has_servers=bool(servers))
    else:
        choice.levels["mcp_servers"] = Level.BUILT_IN
    required = _joined(definition.required_skills, place.adds.required_skills)
    for key in SkillsKeys.model_fields:
        level = Level.AGENT if getattr(definition, key) is not None else Level.BUILT_IN
        choice.levels[key] = Level.STAGE_AGENT if getattr(place.adds, key) is not None else level
    agent = ResolvedAgentConfig(
        agent_name=place.name,
        type=kind,
        llm_backend=backend,
        tool_calling=choice.take("tool_calling", lambda layer: layer.tool_calling),
        provider=resolved,
        fallback_providers=tuple(
            ResolvedFallback(
                provider=resolved_provider(entry.provider, config.llm_providers[entry.provider], native_tools),
                backend=entry.backend or fitting_backend(backend, config.llm_providers[entry.provider]),
            )
            for entry in choice.take("fallback_providers", lambda layer: layer.fallback_providers)
        ),
        max_iterations=choice.take("max_iterations", lambda layer: layer.max_iterations),
        iteration_timeout=choice.take("iteration_timeout", lambda layer: layer.iteration_timeout),
        llm_call_timeout=choice.take("llm_call_timeout", lambda layer: layer.llm_call_timeout),
        tool_call_timeout=choice.take("tool_call_timeout", lambda layer: layer.tool_call_timeout),
        mcp_servers=servers,
        tool_filters={
            server.name: server.tools
            for server in (selection.servers if selection else ())
            if server.tools is not None and server.name in servers
        },
        native_tools=resolved.native_tools,
        custom_instructions=definition.custom_instructions,
        description=definition.description,
        skills=tuple(name for name in loadable if name not in required),
        required_skills=required,
        orchestrator=_orchestrator(layers),
        judge=_judge(config, backend),
        budget=ceiling_of(place.adds, definition) if isinstance(place.adds, BudgetKey) else ceiling_of(definition),
    )
    subs = _sub_agents(config, place, choice, selection) if kind is AgentType.DEFAULT and not place.is_sub_agent else ()
    if subs:
        agent = agent.model_copy(update={"sub_agents": tuple(sub.agent for sub in subs)})
    return ExplainedAgent(place.title, place.path, agent, choice.levels, subs)


def _judge(config: Config, backend: LLMBackend) -> ResolvedJudge | None:
    settings = config.defaults.evidence
    name = settings.llm_provider or config.defaults.summarization.llm_provider
    if not settings.support or name is None:
        return ResolvedJudge() if settings.support else None
    provider = config.llm_providers[name]
    return ResolvedJudge(provider=resolved_provider(name, provider), backend=settings.llm_backend or fitting_backend(backend, provider))


def _sub_agents(config: Config, place: AgentPlace, choice: _Choice, selection: McpSelection | None) -> tuple[ExplainedAgent, ...]:
    """Return the sub-agents of the agent in this place. An orchestrator that names none has all agents with a description."""
    found = highest(choice.layers, lambda layer: layer.sub_agents)
    if found:
        choice.levels["sub_agents"] = found[1]
        return tuple(_sub_agent(config, place, entry, selection) for entry in found[0] if entry.name != place.name)
    if config.agents[place.name].type is not AgentKind.ORCHESTRATOR:
        return ()
    described = (name for name, agent in config.agents.items() if agent.type is AgentKind.DEFAULT and agent.description.strip())
    names = (name for name in described if name not in {place.name, _CHAT_AGENT})
    explained = (_sub_agent(config, place, SubAgentConfig(name=name), selection) for name in names)
    # An agent whose backend cannot reach its model is not offered; if the operator names it, that is a mistake.
    return tuple(sub for sub in explained if reaches(sub.agent.llm_backend, sub.agent.provider.type, sub.agent.provider.model))


def _sub_agent(config: Config, place: AgentPlace, entry: SubAgentConfig, selection: McpSelection | None) -> ExplainedAgent:
    """Resolve a sub-agent. Its tool servers are those of its definition or of the reference: chains and stages do not add to them."""
    above = tuple(
        replace(layer, mcp_servers=None, sub_agents=None)
        for layer in place.layers
        if layer.level not in {Level.STAGE_AGENT, Level.CHAT, Level.STAGES}
    )
    sub_place = AgentPlace(
        title=f"{place.title} → {entry.name}",
        path=place.path,
        name=entry.name,
        below=place.below,
        layers=(*above, Layer.of(Level.SUB_AGENT, entry)),
        adds=entry,
        is_sub_agent=True,
    )
    return resolve_agent(config, sub_place, selection)


def _orchestrator(layers: tuple[Layer, ...]) -> ResolvedOrchestrator:
    """Resolve each setting by itself, from the highest level that sets it."""
    settings: dict[str, float | int] = {}
    for layer in layers:
        if layer.orchestrator:
            settings |= layer.orchestrator.model_dump(exclude_none=True)
    return ResolvedOrchestrator.model_validate(settings) if settings else DEFAULT_ORCHESTRATOR
