"""Checks across sections: what each chain reaches, and whether it could be used."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from pydantic import BaseModel

from tarsy.config.load.source import Source
from tarsy.config.parsed_data import listing, listing_at, mapping, mapping_at
from tarsy.config.problems import KeyPath, Problem
from tarsy.config.resolve.agent_resolver import ExplainedAgent
from tarsy.config.resolve.hierarchy import Level
from tarsy.config.resolve.resolved import reaches, resolved_server
from tarsy.config.resolve.resolver import explain_chain, variants_in_use
from tarsy.config.schema import documents
from tarsy.config.schema.configuration import Config, NoProviderError, UnknownEntryError, vendor_variables, with_any_model
from tarsy.config.schema.mcp_servers import MCPServerConfig
from tarsy.config.schema.providers import NativeToolsConfig
from tarsy.config.schema.routes import SenderConfig
from tarsy.config.schema.values import LATER, NO_EFFECT, as_text
from tarsy.config.templates import names_session, variables
from tarsy.domain.execution import AgentType
from tarsy.domain.llm import LLMBackend
from tarsy.domain.tool import BUILT_IN_SERVER


def duplicate_alert_types(data: dict[str, Any], source: Source) -> Iterator[Problem]:
    """Alert types that more than one chain claims, or one chain twice."""
    owners: dict[str, str] = {}
    for chain_id, index, alert_type in _claims(data):
        if alert_type in owners:
            path = ("agent_chains", chain_id, "alert_types", index)
            yield source.problem(path, f'alert type "{alert_type}" already belongs to chain "{owners[alert_type]}"', "keep it in one chain")
        owners.setdefault(alert_type, chain_id)


def misused_replicas(data: dict[str, Any], source: Source) -> Iterator[Problem]:
    """Stages that repeat more than one agent."""
    for chain_id, chain in mapping_at(data, "agent_chains").items():
        for index, stage in enumerate(listing_at(chain, "stages")):
            agents = listing_at(stage, "agents")
            replicas = (mapping(stage) or {}).get("replicas")
            if len(agents) > 1 and isinstance(replicas, int) and replicas > 1:
                path = ("agent_chains", chain_id, "stages", index, "replicas")
                cure = "keep one agent, or list each one as often as it should run"
                yield source.problem(path, f"replicas repeat one agent, but this stage has {len(agents)}", cure)


def reserved_servers(data: dict[str, Any], source: Source) -> Iterator[Problem]:
    """A tool server with the name under which TARSy's own tools stand: its answers would be taken for ours."""
    if BUILT_IN_SERVER in mapping_at(data, "mcp_servers"):
        path = ("mcp_servers", BUILT_IN_SERVER)
        yield source.problem(path, f'"{BUILT_IN_SERVER}" is the name of the built-in tools', "give the server another name")


def yield_alert_types(data: dict[str, Any], source: Source) -> None:
    """Take from the built-in chains what the user's chains claim; a chain that is left without any goes."""
    chains = mapping_at(data, "agent_chains")
    untouched = [chain_id for chain_id in documents.CHAINS if chain_id in chains and not source.holds(("agent_chains", chain_id))]
    claimed = {alert_type for chain_id, _, alert_type in _claims(data) if chain_id not in untouched}
    for chain_id in untouched:
        left = [alert_type for alert_type in documents.CHAINS[chain_id]["alert_types"] if alert_type not in claimed]
        if left:
            chains[chain_id] = {**chains[chain_id], "alert_types": left}
        else:
            del chains[chain_id]


def _claims(data: dict[str, Any]) -> Iterator[tuple[str, int, str]]:
    for chain_id, chain in mapping_at(data, "agent_chains").items():
        for index, alert_type in enumerate(listing_at(chain, "alert_types")):
            # `[503]` is read as a number, and taken as the text it looks like.
            if isinstance(alert_type, str | int | float):
                yield chain_id, index, as_text(alert_type)


_SECRET_NAME = re.compile(r"(?i)token|passw|secret|api[-_]?key|access[-_]?key|authorization|credential|cookie")
# A program's own arguments may hold `$NAME` for a reason; with braces it is a variable that stays unfilled.
_OTHER_NOTATION = re.compile(r"\$\{[A-Za-z_]\w*\}|\{\{[^{}]*\}\}")
_URL_PASSWORD = re.compile(r"://[^/@\s]*:[^/@\s]+@")


def transport_remarks(servers: Mapping[str, MCPServerConfig], source: Source) -> Iterator[Problem]:
    """One remark for each value that looks like a secret, or like a variable in another notation."""
    for name, server in servers.items():
        for path, text in server.transport.texts():
            place = ("mcp_servers", name, "transport", *path)
            if not variables(text) and _looks_secret(path, text):
                # A literal is stored with every session; a template is not.
                message = "this looks like a secret, and it would be stored with every session that uses the server"
                yield source.problem(place, message, "put it into the environment and write {{.NAME}} here")
            for variable in sorted(set(_OTHER_NOTATION.findall(text))):
                if not variables(variable) and not names_session(variable):
                    yield source.problem(place, f"{variable} is taken literally", _cure(variable))


def _cure(variable: str) -> str:
    name = variable.strip("${}. ")
    return (
        f"write {{{{.{name}}}}} for the environment variable"
        if name.isidentifier()
        else "a variable is written {{.NAME}}, and nothing else"
    )


def _looks_secret(path: KeyPath, text: str) -> bool:
    match path:
        case ("bearer_token",):
            return bool(text)
        case ("env" | "custom_headers", str() as name):
            return bool(text) and _SECRET_NAME.search(name) is not None
        case _:
            return _URL_PASSWORD.search(text) is not None


_PROVIDER_KEYS = frozenset({"llm_provider", "provider", "executive_summary_provider"})


@dataclass(frozen=True, slots=True)
class Files:
    """The two sources."""

    tarsy: Source
    providers: Source

    def provider_problem(self, name: str, message: str, cure: str) -> Problem:
        """Point at the provider's entry, or for a built-in one at the place that names it."""
        entry: KeyPath = ("llm_providers", name)
        if self.providers.holds(entry):
            return self.providers.problem(entry, message, cure)
        place = next(_places_naming(self.tarsy.data, name, ()), ())
        return self.tarsy.problem(place, message, cure)


@dataclass(slots=True)
class Reach:
    """What the chains lead to: name → the first chain that does."""

    agents: dict[str, str] = field(default_factory=dict[str, str])
    servers: dict[str, str] = field(default_factory=dict[str, str])
    providers: dict[str, str] = field(default_factory=dict[str, str])
    explained: list[ExplainedAgent] = field(default_factory=list[ExplainedAgent])
    needs_default_provider: bool = False

    def holds(self, path: KeyPath) -> bool:
        """Whether the entry that `path` leads into is used; sections and chains always are."""
        match path:
            case ("agents", str() as name, *_):
                return name in self.agents
            case ("mcp_servers", str() as name, *_):
                return name in self.servers
            case ("llm_providers", str() as name, *_):
                return name in self.providers
            case _:
                return True


def reach_of(config: Config) -> Reach:
    """Follow every chain. A chain that names an entry which could not be built is left out."""
    reach = Reach()
    # Any provider will do to see the rest; it is not counted as reached.
    followed = with_any_model(config)
    # The user's own chains first: a message should name something they wrote.
    for chain_id in sorted(config.chains, key=lambda chain_id: chain_id in documents.CHAINS):
        try:
            explained = explain_chain(followed, chain_id)
        except UnknownEntryError:
            continue
        for agent in explained.agents:
            _follow(reach, chain_id, agent)
        for server in explained.chain.mcp_servers.values():
            reach.servers.setdefault(server.name, chain_id)
            if server.summarization.provider:
                reach.providers.setdefault(server.summarization.provider.name, chain_id)
    for server, alert_type in variants_in_use(config).items():
        if alert_type in config.chains.alert_types:
            reach.servers.setdefault(server, config.chains.id_for(alert_type))
    return reach


def follow_broken_chains(reach: Reach, config: Config, data: Any) -> None:
    """Count what the chains that could not be built name as reached, so that their mistakes hide no missing key."""
    for chain_id, chain in mapping_at(data, "agent_chains").items():
        if chain_id not in config.chains:
            for name in _named_providers(chain):
                if name in config.llm_providers:
                    reach.providers.setdefault(name, chain_id)


def _named_providers(data: Any) -> Iterator[str]:
    for key, value in (mapping(data) or {}).items():
        if key in _PROVIDER_KEYS and isinstance(value, str):
            yield value
        yield from _named_providers(value)
    for value in listing(data) or ():
        yield from _named_providers(value)


def _follow(reach: Reach, chain_id: str, explained: ExplainedAgent) -> None:
    reach.explained.append(explained)
    reach.agents.setdefault(explained.agent.agent_name, chain_id)
    if explained.levels["provider"] is Level.ENVIRONMENT:
        reach.needs_default_provider = True
    else:
        reach.providers.setdefault(explained.agent.provider.name, chain_id)
    for fallback in explained.agent.fallback_providers:
        reach.providers.setdefault(fallback.provider.name, chain_id)


def unreachable_models(config: Config, reach: Reach, files: Files, env: Mapping[str, str]) -> Iterator[Problem]:
    """Providers that a chain leads to and that lack a key or another variable."""
    for name, chain_id in reach.providers.items():
        provider = config.llm_providers[name]
        templates = [variable for variable in sorted(variables(provider.base_url or "")) if variable not in env]
        for variable in (*templates, *provider.missing_variables(env)):
            message = f'provider "{name}" is used by chain "{chain_id}", but the environment variable {variable} is not set'
            yield files.provider_problem(name, message, f"set {variable}, or name another provider")


def unreachable_servers(config: Config, reach: Reach, files: Files, env: Mapping[str, str]) -> tuple[list[Problem], list[Problem]]:
    """Tool servers that a chain leads to and that lack a variable: as mistakes, and as remarks where only built-ins are concerned."""
    mistakes: list[Problem] = []
    remarks: list[Problem] = []
    for name, chain_id in reach.servers.items():
        entry: KeyPath = ("mcp_servers", name)
        chain: KeyPath = ("agent_chains", chain_id)
        in_file = files.tarsy.holds(entry)
        told: set[str] = set()
        for path, text in config.mcp_servers[name].transport.texts():
            for variable in sorted(variables(text) - env.keys() - told):
                told.add(variable)
                message = f'MCP server "{name}" is used by chain "{chain_id}", but the environment variable {variable} is not set'
                cure = f"set {variable}, or override the server's transport"
                place = (*entry, "transport", *path) if in_file else chain
                is_mistake = in_file or files.tarsy.holds(chain)
                (mistakes if is_mistake else remarks).append(files.tarsy.problem(place, message, cure))
    return mistakes, remarks if not files.tarsy.holds(("agent_chains",)) else []


def unfit_backends(config: Config, reach: Reach, files: Files) -> Iterator[Problem]:
    """Agents and summaries that would reach a model over an SDK which does not know it."""
    for explained in reach.explained:
        agent = explained.agent
        if not reaches(agent.llm_backend, agent.provider.type, agent.provider.model):
            origins = (explained.levels["llm_backend"], explained.levels["provider"])
            message = (
                f'llm_backend {agent.llm_backend} (from {origins[0]}) cannot reach provider "{agent.provider.name}" '
                f"of type {agent.provider.type} (from {origins[1]})"
            )
            yield files.tarsy.problem(_place_of_both(explained), *_unfit(config, explained, message))
    for name in reach.servers:
        summary = resolved_server(config, name).summarization
        if summary.provider and summary.backend and not reaches(summary.backend, summary.provider.type, summary.provider.model):
            message = f'llm_backend {summary.backend} cannot reach provider "{summary.provider.name}" of type {summary.provider.type}'
            in_server: KeyPath = ("mcp_servers", name, "summarization")
            place = in_server if files.tarsy.holds(in_server) else ("defaults", "summarization")
            yield files.tarsy.problem(place, message, "write llm_backend: langchain next to the provider")


def _unfit(config: Config, explained: ExplainedAgent, message: str) -> tuple[str, str]:
    """What to say; an agent made for the tools of one vendor needs a model of that vendor, not another SDK."""
    name = explained.agent.agent_name
    tools = _switched_on(config.agents[name].native_tools)
    if explained.levels["llm_backend"] is Level.AGENT and tools:
        whose = f"agent {name} works with {', '.join(sorted(tools))}, which only Gemini models have, and its provider is"
        given = f'"{explained.agent.provider.name}" of type {explained.agent.provider.type} (from {explained.levels["provider"]})'
        return f"{whose} {given}", "give it one where it is named: llm_provider: google-default"
    return message, "write llm_backend: langchain next to the provider"


def _place_of_both(explained: ExplainedAgent) -> KeyPath:
    """The lowest place that both values come from, so that one mistake there is one problem however many agents it concerns."""
    origins = {explained.levels["llm_backend"], explained.levels["provider"]}
    if origins <= {Level.ENVIRONMENT, Level.DEFAULTS}:
        return ("defaults", "llm_backend")
    if origins <= {Level.ENVIRONMENT, Level.DEFAULTS, Level.AGENT}:
        return ("agents", explained.agent.agent_name, "llm_backend")
    if origins <= {Level.ENVIRONMENT, Level.DEFAULTS, Level.AGENT, Level.CHAIN}:
        return explained.path[:2]
    return explained.path


def ungrouped_variants(config: Config, files: Files) -> Iterator[Problem]:
    """The remark that alerts of several places may become one incident, which is looked into with the tools of one."""
    for index, route in enumerate(config.routes):
        for server, variants in route.tool_servers.items():
            if route.group_by is not None and not {variants.label, "..."} & set(route.group_by):
                message = f'alerts with different labels "{variants.label}" may become one incident, which uses the tools of the first'
                yield files.tarsy.problem(("routes", index, "tool_servers", server), message, f'add "{variants.label}" to group_by')


def unproven_senders(senders: Mapping[str, SenderConfig], source: Source, env: Mapping[str, str]) -> Iterator[Problem]:
    """Senders whose secret is in no variable: nothing of theirs would be believed."""
    for name, sender in senders.items():
        for variable in sender.secret_variables():
            if not env.get(variable, "").strip():
                message = f'sender "{name}" proves who it is by the environment variable {variable}, which is not set'
                yield source.problem(("senders", name), message, f"set {variable}")


def unanswered_default(config: Config, files: Files) -> Iterator[Problem]:
    """The remark that alerts without a type will be refused."""
    wanted = config.defaults.alert_type
    if wanted not in config.chains.alert_types:
        yield files.tarsy.problem(("defaults",), f'no chain handles the default alert type "{wanted}"', "set defaults.alert_type")


def no_model(config: Config, reach: Reach, files: Files) -> Iterator[Problem]:
    """The remark that alerts will be refused until some model can be reached."""
    if config.default_provider is None and reach.needs_default_provider:
        yield files.providers.problem((), str(NoProviderError(vendor_variables())))


def pointless_tools(config: Config, files: Files) -> Iterator[Problem]:
    """The remark that tool servers were given to an agent which calls no tools."""
    for name, agent in config.agents.items():
        if agent.mcp_servers and agent.type.runs_as is not AgentType.DEFAULT:
            message = f"an agent of type {agent.type} calls no tools"
            yield files.tarsy.problem(("agents", name, "mcp_servers"), message, "remove mcp_servers, or type")


def ignored_native_tools(config: Config, reach: Reach, files: Files) -> Iterator[Problem]:
    """The remark that the vendor's tools were switched on for agents none of which reaches its model over the SDK that has them."""
    honoured: set[KeyPath] = set()
    ignored: dict[KeyPath, frozenset[str]] = {}
    for explained in reach.explained:
        for place, backend, tools in _native_tools_of(config, explained):
            if backend is LLMBackend.NATIVE_GEMINI:
                honoured.add(place)
            elif tools:
                ignored[place] = tools
    for place, tools in ignored.items():
        source = files.providers if place[0] == "llm_providers" else files.tarsy
        if place not in honoured and source.holds(place):
            message = f"llm_backend langchain ignores {', '.join(sorted(tools))}"
            yield source.problem(place, message, "write llm_backend: native-gemini for the agents that use it, or switch it off")


def _native_tools_of(config: Config, explained: ExplainedAgent) -> Iterator[tuple[KeyPath, LLMBackend, frozenset[str]]]:
    """Where an agent's native tools are switched on, and over which backend each of its models is reached."""
    agent = explained.agent
    own = _switched_on(config.agents[agent.agent_name].native_tools)
    models = ((agent.provider.name, agent.llm_backend), *((entry.provider.name, entry.backend) for entry in agent.fallback_providers))
    for name, backend in models:
        yield ("agents", agent.agent_name, "native_tools"), backend, own
        yield ("llm_providers", name, "native_tools"), backend, _switched_on(config.llm_providers[name].native_tools)


def _switched_on(tools: NativeToolsConfig) -> frozenset[str]:
    return frozenset(name for name, on in tools.as_switches().items() if on)


def later_keys(section: BaseModel, source: Source, path: KeyPath = ()) -> Iterator[Problem]:
    """One remark for each key that is set and that nothing acts on: not yet, or not here."""
    for name, marks in _marked_fields(type(section)):
        value: Any = getattr(section, name)
        if value is None:
            continue
        if marks == LATER:
            yield source.problem((*path, name), f"{name} is accepted, not acted on yet")
        elif NO_EFFECT in marks:
            yield source.problem((*path, name), f"{name} has no effect: {marks[NO_EFFECT]}", "remove it")
        elif isinstance(value, BaseModel):
            yield from later_keys(value, source, (*path, name))
        else:
            for key, entry in _entries(value):
                yield from later_keys(entry, source, (*path, name, key))


@cache
def _marked_fields(kind: type[BaseModel]) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    """The fields of a section, each with the marks that its schema gives it."""
    return tuple((name, mapping(info.json_schema_extra) or {}) for name, info in kind.model_fields.items())  # pyright: ignore[reportUnknownMemberType] - pydantic leaves it open


def _entries(value: Any) -> list[tuple[str | int, BaseModel]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, tuple) else ()  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType, reportUnknownMemberType] - a model's field may be anything
    return [(key, entry) for key, entry in items if isinstance(entry, BaseModel)]  # pyright: ignore[reportUnknownVariableType] - same


def _places_naming(data: Any, name: str, path: KeyPath) -> Iterator[KeyPath]:
    for key, value in (mapping(data) or {}).items():
        if key in _PROVIDER_KEYS and value == name:
            yield (*path, key)
        yield from _places_naming(value, name, (*path, key))
    for index, value in enumerate(listing(data) or ()):
        yield from _places_naming(value, name, (*path, index))
