"""Resolving one agent in one place of a chain: every field from the highest level that sets it."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from tarsy.config.problems import KeyPath
from tarsy.config.resolve.hierarchy import BUILT_IN, Layer, Level, highest
from tarsy.config.resolve.resolved import (
    USUAL_ORCHESTRATOR,
    ResolvedAgentConfig,
    ResolvedFallback,
    ResolvedOrchestrator,
    ResolvedSkill,
    fitting_backend,
    reaches,
    resolved_provider,
)
from tarsy.config.schema.agents import AgentConfig, AgentKind, SkillsKeys, SubAgentConfig
from tarsy.config.schema.budget import BudgetKey, ceiling_of
from tarsy.config.schema.configuration import Config, NoProviderError, vendor_variables
from tarsy.config.schema.providers import FallbackConfig
from tarsy.config.schema.selection import McpSelection
from tarsy.domain.budget import Ceiling
from tarsy.domain.execution import AgentType
from tarsy.domain.llm import LLMBackend
from tarsy.domain.skill import Skill, text_hash


def loadable_skills(known: Collection[str], keys: Sequence[SkillsKeys], *, has_servers: bool) -> tuple[str, ...]:
    """The names an agent may load. `keys` are those of its definition and of its place in a stage, which adds.

    An agent without tool servers gets none unless it names them: a catalogue would give it function calls, which end the vendor's own tools.
    """
    definition, *places = keys
    named = _joined(key.skills for key in places)
    if definition.skills is None and (has_servers or not named):
        return tuple(sorted(known)) if has_servers else ()
    return _joined([definition.skills, named])


def required_skills(keys: Sequence[SkillsKeys]) -> tuple[str, ...]:
    return _joined(key.required_skills for key in keys)


def resolved_skill(skill: Skill) -> ResolvedSkill:
    return ResolvedSkill(
        name=skill.name,
        description=skill.description,
        origin=skill.origin,
        commit=skill.commit,
        files={path: text_hash(text) for path, text in sorted(skill.files.items())},
    )


def _joined(lists: Iterable[Sequence[str] | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for names in lists for name in names or ()))


Value = TypeVar("Value")
ADDS_NOTHING = SkillsKeys()
_SKILLS_KEYS = tuple(SkillsKeys.model_fields)
# It answers people, after an investigation.
_CHAT_AGENT = "ChatAgent"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentPlace:
    """Where an agent stands and what the other levels say about it."""

    title: str
    path: KeyPath
    name: str
    # The levels below and above its definition.
    below: tuple[Layer, ...]
    layers: tuple[Layer, ...]
    # A block for synthesis, summary or scoring makes its agent one of that type.
    kind: AgentType | None = None
    # What the place adds to the agent's own skills.
    adds: SkillsKeys = ADDS_NOTHING
    # Whether it is sent by another agent, and sends none itself.
    is_sub_agent: bool = False


@dataclass(frozen=True, slots=True)
class ExplainedAgent:
    """A resolved agent, and for each of its fields the level it came from."""

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

    def no_servers(self) -> tuple[str, ...]:
        """Whatever the levels say: an agent that calls no tools has none."""
        self.levels["mcp_servers"] = Level.BUILT_IN
        return ()


def resolve_agent(config: Config, place: AgentPlace, selection: McpSelection | None = None) -> ExplainedAgent:
    """Raises:
    NoProviderError: no level names a provider and no vendor's key was in the environment.
    """
    definition = config.agents[place.name]
    kind = place.kind or definition.type.runs_as
    choice = _Choice(_layers(config, place, selection))
    if not any(layer.llm_provider for layer in choice.layers):
        raise NoProviderError(vendor_variables())
    provider_name = choice.take("provider", lambda layer: layer.llm_provider)
    provider = config.llm_providers[provider_name]
    native_tools = {**definition.native_tools.as_switches(), **_selected_native_tools(selection, place)}
    backend = choice.take("llm_backend", lambda layer: layer.llm_backend)
    if kind is AgentType.EXEC_SUMMARY and not reaches(backend, provider.type, provider.model):
        # The summary's provider has no key for a backend beside it: a mismatch could not be put right in the file.
        backend = fitting_backend(backend, provider)
        choice.levels["llm_backend"] = choice.levels["provider"]
    resolved = resolved_provider(provider_name, provider, native_tools)
    servers = choice.take("mcp_servers", lambda layer: layer.mcp_servers) if kind is AgentType.DEFAULT else choice.no_servers()
    required = required_skills((definition, place.adds))
    loadable = loadable_skills(config.skills, (definition, place.adds), has_servers=bool(servers)) if kind is AgentType.DEFAULT else ()
    choice.levels |= {name: _level_of_skills(name, definition, place.adds) for name in _SKILLS_KEYS}
    agent = ResolvedAgentConfig(
        agent_name=place.name,
        type=kind,
        llm_backend=backend,
        tool_calling=choice.take("tool_calling", lambda layer: layer.tool_calling),
        provider=resolved,
        fallback_providers=_fallbacks(
            config, choice.take("fallback_providers", lambda layer: layer.fallback_providers), backend, native_tools
        ),
        max_iterations=choice.take("max_iterations", lambda layer: layer.max_iterations),
        iteration_timeout=choice.take("iteration_timeout", lambda layer: layer.iteration_timeout),
        llm_call_timeout=choice.take("llm_call_timeout", lambda layer: layer.llm_call_timeout),
        tool_call_timeout=choice.take("tool_call_timeout", lambda layer: layer.tool_call_timeout),
        mcp_servers=servers,
        tool_filters=_tool_filters(selection, servers),
        native_tools=resolved.native_tools,
        custom_instructions=definition.custom_instructions,
        description=definition.description,
        skills=tuple(name for name in loadable if name not in required),
        required_skills=required,
        orchestrator=_orchestrator(choice.layers),
        budget=_budget(place, definition),
    )
    subs = _sub_agents(config, place, choice, selection) if kind is AgentType.DEFAULT and not place.is_sub_agent else ()
    if subs:
        agent = agent.model_copy(update={"sub_agents": tuple(sub.agent for sub in subs)})
    return ExplainedAgent(place.title, place.path, agent, choice.levels, subs)


def _sub_agents(config: Config, place: AgentPlace, choice: _Choice, selection: McpSelection | None) -> tuple[ExplainedAgent, ...]:
    """The agents that the one in this place may send. An orchestrator that names none may send all that say what they are for."""
    found = highest(choice.layers, lambda layer: layer.sub_agents)
    if found:
        choice.levels["sub_agents"] = found[1]
        return tuple(_sub_agent(config, place, entry, selection) for entry in found[0] if entry.name != place.name)
    if config.agents[place.name].type is not AgentKind.ORCHESTRATOR:
        return ()
    entries = [SubAgentConfig(name=name) for name, agent in config.agents.items() if name != place.name and _can_be_sent(name, agent)]
    explained = (_sub_agent(config, place, entry, selection) for entry in entries)
    # One whose model has not what it needs is not offered; named by the operator, it is a mistake.
    return tuple(sub for sub in explained if reaches(sub.agent.llm_backend, sub.agent.provider.type, sub.agent.provider.model))


def _can_be_sent(name: str, agent: AgentConfig) -> bool:
    return agent.type is AgentKind.DEFAULT and bool(agent.description.strip()) and name != _CHAT_AGENT


def _sub_agent(config: Config, place: AgentPlace, entry: SubAgentConfig, selection: McpSelection | None) -> ExplainedAgent:
    """An agent as another one sends it. Tool servers are those of its definition or of the reference: no chain or stage adds to them."""
    above = tuple(
        replace(layer, mcp_servers=None, sub_agents=None)
        for layer in place.layers
        if layer.level not in {Level.STAGE_AGENT, Level.CHAT, Level.STAGES}
    )
    own = replace(Layer.of(Level.SUB_AGENT, entry), max_iterations=entry.max_iterations)
    sent = AgentPlace(
        title=f"{place.title} → {entry.name}",
        path=place.path,
        name=entry.name,
        below=place.below,
        layers=(*above, own),
        adds=entry,
        is_sub_agent=True,
    )
    return resolve_agent(config, sent, selection)


def _budget(place: AgentPlace, definition: AgentConfig) -> Ceiling:
    return ceiling_of(place.adds, definition) if isinstance(place.adds, BudgetKey) else ceiling_of(definition)


def _orchestrator(layers: tuple[Layer, ...]) -> ResolvedOrchestrator:
    """Each of the settings from the highest level that says it."""
    said: dict[str, float | int] = {}
    for layer in layers:
        if layer.orchestrator:
            said |= layer.orchestrator.model_dump(exclude_none=True)
    return ResolvedOrchestrator.model_validate(said) if said else USUAL_ORCHESTRATOR


def layers_of_all(config: Config) -> tuple[Layer, ...]:
    """The levels below every agent's definition."""
    return (BUILT_IN, Layer(level=Level.ENVIRONMENT, llm_provider=config.default_provider), Layer.of(Level.DEFAULTS, config.defaults))


def _layers(config: Config, place: AgentPlace, selection: McpSelection | None) -> tuple[Layer, ...]:
    layers = (*place.below, Layer.of(Level.AGENT, config.agents[place.name]), *place.layers)
    if selection:
        chosen = tuple(server.name for server in selection.servers)
        layers = (*layers, Layer(level=Level.ALERT, mcp_servers=_narrowed(layers, chosen) if place.is_sub_agent else chosen))
    return layers


def _narrowed(layers: tuple[Layer, ...], chosen: tuple[str, ...]) -> tuple[str, ...]:
    """The alert's choice takes tools from a sub-agent, and gives it none."""
    own = highest(layers, lambda layer: layer.mcp_servers)
    return tuple(name for name in own[0] if name in chosen) if own else ()


def _level_of_skills(key: str, definition: SkillsKeys, adds: SkillsKeys) -> Level:
    if getattr(adds, key) is not None:
        return Level.STAGE_AGENT
    return Level.AGENT if getattr(definition, key) is not None else Level.BUILT_IN


def _fallbacks(
    config: Config, entries: tuple[FallbackConfig, ...], backend: LLMBackend, native_tools: Mapping[str, bool]
) -> tuple[ResolvedFallback, ...]:
    return tuple(
        ResolvedFallback(
            provider=resolved_provider(entry.provider, config.llm_providers[entry.provider], native_tools),
            backend=entry.backend or fitting_backend(backend, config.llm_providers[entry.provider]),
        )
        for entry in entries
    )


def _selected_native_tools(selection: McpSelection | None, place: AgentPlace) -> Mapping[str, bool]:
    if selection is None or selection.native_tools is None:
        return {}
    chosen = {name: value for name, value in selection.native_tools.model_dump().items() if value is not None}
    return {name: value for name, value in chosen.items() if not (value and place.is_sub_agent)}


def _tool_filters(selection: McpSelection | None, servers: tuple[str, ...]) -> Mapping[str, tuple[str, ...]]:
    if selection is None:
        return {}
    return {server.name: server.tools for server in selection.servers if server.tools is not None and server.name in servers}
