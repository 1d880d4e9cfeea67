"""Checks across the sections of a configuration: what the chains use, and whether it can be used."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import BaseModel

from tarsy.config.load.source import Source
from tarsy.config.parsed_data import as_list, as_mapping, list_at, mapping_at
from tarsy.config.problems import KeyPath, Problem, did_you_mean
from tarsy.config.resolve.agent_resolver import ExplainedAgent
from tarsy.config.resolve.hierarchy import Level
from tarsy.config.resolve.resolved import reaches, resolved_server
from tarsy.config.resolve.resolver import explain_chain, variants_in_use
from tarsy.config.schema import documents
from tarsy.config.schema.agents import AgentKind
from tarsy.config.schema.configuration import Config, UnknownEntryError, model_setup_hint, vendor_variables, with_any_model
from tarsy.config.schema.documents import TarsyDocument
from tarsy.config.schema.mcp_servers import MCPServerConfig
from tarsy.config.schema.notify import SLACK_TARGET, NotifyConfig, NotifyRuleConfig, SlackTargetConfig, TargetConfig
from tarsy.config.schema.providers import NativeToolsConfig
from tarsy.config.schema.values import LATER, NO_EFFECT, as_text
from tarsy.config.secret_names import names_secret
from tarsy.config.templates import names_session, variables
from tarsy.domain.llm import LLMBackend
from tarsy.domain.notification import EventKind
from tarsy.domain.route import EACH
from tarsy.domain.tool import BUILT_IN_SERVER

_PROVIDER_KEYS = frozenset({"llm_provider", "provider", "executive_summary_provider"})
# `$NAME` may be meant literally in a program's arguments; with braces it is a variable that is not expanded.
_OTHER_NOTATION = re.compile(r"\$\{[A-Za-z_]\w*\}|\{\{[^{}]*\}\}")
_URL_PASSWORD = re.compile(r"://[^/@\s]*:[^/@\s]+@")


@dataclass(frozen=True, slots=True)
class ConfigFiles:
    """The two configuration files: tarsy.yaml (with tarsy.d) and llm-providers.yaml."""

    tarsy: Source
    providers: Source

    def provider_problem(self, name: str, message: str, remedy: str) -> Problem:
        """Return a problem at the provider's entry, or for a built-in provider at the place that names it."""
        entry: KeyPath = ("llm_providers", name)
        if self.providers.holds(entry):
            return self.providers.problem(entry, message, remedy)
        place = next((path for path, named in _named_providers(self.tarsy.data, ()) if named == name), ())
        return self.tarsy.problem(place, message, remedy)


def _named_providers(data: Any, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    for key, value in (as_mapping(data) or {}).items():
        if key in _PROVIDER_KEYS and isinstance(value, str):
            yield (*path, key), value
        yield from _named_providers(value, (*path, key))
    for index, value in enumerate(as_list(data) or ()):
        yield from _named_providers(value, (*path, index))


def alert_types_of(data: dict[str, Any]) -> Iterator[tuple[str, int, str]]:
    """Yield the id of each chain with the index and name of each of its alert types."""
    for chain_id, chain in mapping_at(data, "agent_chains").items():
        for index, alert_type in enumerate(list_at(chain, "alert_types")):
            # `[503]` is a number in YAML, and means a text here.
            if isinstance(alert_type, str | int | float):
                yield chain_id, index, as_text(alert_type)


def remove_overridden_alert_types(data: dict[str, Any], source: Source) -> None:
    """Remove alert types of the operator's chains from the built-in chains, and built-in chains without any left."""
    chains = mapping_at(data, "agent_chains")
    untouched = [chain_id for chain_id in documents.CHAINS if chain_id in chains and not source.holds(("agent_chains", chain_id))]
    claimed = {alert_type for chain_id, _, alert_type in alert_types_of(data) if chain_id not in untouched}
    for chain_id in untouched:
        left = [alert_type for alert_type in documents.CHAINS[chain_id]["alert_types"] if alert_type not in claimed]
        if left:
            chains[chain_id] = {**chains[chain_id], "alert_types": left}
        else:
            del chains[chain_id]


def check_data(data: dict[str, Any], source: Source) -> Iterator[Problem]:
    """Check rules across entries of the parsed file, which hold whether or not the entries are valid."""
    owners: dict[str, str] = {}
    for chain_id, index, alert_type in alert_types_of(data):
        if alert_type in owners:
            path = ("agent_chains", chain_id, "alert_types", index)
            yield source.problem(path, f'alert type "{alert_type}" already belongs to chain "{owners[alert_type]}"', "keep it in one chain")
        owners.setdefault(alert_type, chain_id)
    for chain_id, chain in mapping_at(data, "agent_chains").items():
        for index, stage in enumerate(list_at(chain, "stages")):
            agents = list_at(stage, "agents")
            replicas = (as_mapping(stage) or {}).get("replicas")
            if len(agents) > 1 and isinstance(replicas, int) and replicas > 1:
                path = ("agent_chains", chain_id, "stages", index, "replicas")
                remedy = "keep one agent, or list each one as often as it should run"
                yield source.problem(path, f"replicas repeat one agent, but this stage has {len(agents)}", remedy)
    # Results of a server with this name would be taken for those of the built-in tools.
    if BUILT_IN_SERVER in mapping_at(data, "mcp_servers"):
        path = ("mcp_servers", BUILT_IN_SERVER)
        yield source.problem(path, f'"{BUILT_IN_SERVER}" is the name of the built-in tools', "give the server another name")


@dataclass(slots=True)
class UsedEntries:
    """The entries that the chains use: each name with the first chain that uses it."""

    agents: dict[str, str] = field(default_factory=dict[str, str])
    servers: dict[str, str] = field(default_factory=dict[str, str])
    providers: dict[str, str] = field(default_factory=dict[str, str])
    explained: list[ExplainedAgent] = field(default_factory=list[ExplainedAgent])
    needs_default_provider: bool = False

    def add_agent(self, chain_id: str, explained: ExplainedAgent) -> None:
        """Record an agent of a chain and the providers that it uses."""
        self.explained.append(explained)
        self.agents.setdefault(explained.agent.agent_name, chain_id)
        if explained.levels["provider"] is Level.ENVIRONMENT:
            self.needs_default_provider = True
        else:
            self.providers.setdefault(explained.agent.provider.name, chain_id)
        for fallback in explained.agent.fallback_providers:
            self.providers.setdefault(fallback.provider.name, chain_id)
        if explained.agent.judge and explained.agent.judge.provider:
            self.providers.setdefault(explained.agent.judge.provider.name, chain_id)

    def holds(self, path: KeyPath) -> bool:
        """Return whether the entry at `path` is used; sections and chains always are."""
        match path:
            case ("agents", str() as name, *_):
                return name in self.agents
            case ("mcp_servers", str() as name, *_):
                return name in self.servers
            case ("llm_providers", str() as name, *_):
                return name in self.providers
            case _:
                return True


def used_entries(config: Config, data: Any) -> UsedEntries:
    """Collect what all chains use. Of a chain that could not be built from `data`, the providers that it names count."""
    in_use = UsedEntries()
    # Any provider will do to resolve the chains; it does not count as used.
    resolvable = with_any_model(config)
    # The operator's own chains first, so that messages name one of those.
    for chain_id in sorted(config.chains, key=lambda chain_id: chain_id in documents.CHAINS):
        try:
            explained_chain = explain_chain(resolvable, chain_id)
        except UnknownEntryError:
            continue
        for explained in explained_chain.agents:
            in_use.add_agent(chain_id, explained)
        for server in explained_chain.chain.mcp_servers.values():
            in_use.servers.setdefault(server.name, chain_id)
            if server.summarization.provider:
                in_use.providers.setdefault(server.summarization.provider.name, chain_id)
    for server, alert_type in variants_in_use(config).items():
        if alert_type in config.chains.alert_types:
            in_use.servers.setdefault(server, config.chains.id_for(alert_type))
    broken = {chain_id: chain for chain_id, chain in mapping_at(data, "agent_chains").items() if chain_id not in config.chains}
    for (chain_id, *_), name in _named_providers(broken, ()):
        if name in config.llm_providers:
            in_use.providers.setdefault(name, str(chain_id))
    return in_use


def check_config(config: Config, in_use: UsedEntries, files: ConfigFiles, env: Mapping[str, str]) -> tuple[list[Problem], list[Problem]]:
    """Check rules across the sections of the configuration; return mistakes and remarks."""
    mistakes, remarks = _unset_server_variables(config, in_use, files, env)
    mistakes += [
        *_unset_variables(config, in_use, files, env),
        *_unset_notify_variables(config, files, env),
        *_unfit_backends(config, in_use, files),
        *_unfit_same_as(config, files),
        *_unfit_action_stages(config, files),
        *_unfit_sign_in(config, files, env),
    ]
    if config.default_provider is None and in_use.needs_default_provider:
        hint = model_setup_hint(vendor_variables())
        missing = files.providers.problem((), "no model is configured", f"{hint[0].lower()}{hint[1:]}")
        remarks.append(replace(missing, of_environment=True))
    wanted = config.defaults.alert_type
    if wanted not in config.chains.alert_types:
        remarks.append(files.tarsy.problem(("defaults",), f'no chain handles the default alert type "{wanted}"', "set defaults.alert_type"))
    for name, agent in config.agents.items():
        if agent.mcp_servers and not agent.type.runs_as.calls_tools:
            message = f"an agent of type {agent.type} calls no tools"
            remarks.append(files.tarsy.problem(("agents", name, "mcp_servers"), message, "remove mcp_servers, or type"))
    for index, route in enumerate(config.routes):
        for server, variants in route.tool_servers.items():
            if route.group_by is not None and not {variants.label, "..."} & set(route.group_by):
                message = f'alerts with different labels "{variants.label}" may become one incident, which uses the tools of the first'
                place = ("routes", index, "tool_servers", server)
                remarks.append(files.tarsy.problem(place, message, f'add "{variants.label}" to group_by'))
    for name in sorted(config.notify.targets.keys() - {target for rule in config.notify.rules for target in rule.to}):
        remarks.append(
            files.tarsy.problem(("notify", "targets", name), "no rule sends anything to this target", "name it in a rule's `to`")
        )
    remarks += [*_ignored_native_tools(config, in_use, files), *_transport_remarks(config.mcp_servers, files.tarsy)]
    return mistakes, remarks


def _unset_variables(config: Config, in_use: UsedEntries, files: ConfigFiles, env: Mapping[str, str]) -> Iterator[Problem]:
    """Yield a mistake for each provider or sender that lacks a variable."""
    for name, chain_id in in_use.providers.items():
        provider = config.llm_providers[name]
        templates = [variable for variable in sorted(variables(provider.base_url or "")) if variable not in env]
        for variable in (*templates, *provider.missing_variables(env)):
            message = f'provider "{name}" is used by chain "{chain_id}", but the environment variable {variable} is not set'
            yield files.provider_problem(name, message, f"set {variable}, or name another provider")
    for name, sender in config.senders.items():
        for variable in sender.secret_variables():
            if not env.get(variable, "").strip():
                message = f'sender "{name}" authenticates with the environment variable {variable}, which is not set'
                yield files.tarsy.problem(("senders", name), message, f"set {variable}")


def _unset_notify_variables(config: Config, files: ConfigFiles, env: Mapping[str, str]) -> Iterator[Problem]:
    """Yield a mistake for each variable that Slack's app or a notification target lacks."""
    for variable in sorted(config.notify.slack.variables() if config.notify.slack else ()):
        if not env.get(variable, "").strip():
            message = f"buttons and commands in Slack need the environment variable {variable}, which is not set"
            yield files.tarsy.problem(("notify", "slack"), message, f"set {variable}")
    for name, target in config.notify.targets.items():
        for variable in sorted(target.variables()):
            if not env.get(variable, "").strip():
                message = f'notification target "{name}" needs the environment variable {variable}, which is not set'
                yield files.tarsy.problem(("notify", "targets", name), message, f"set {variable}")


def with_slack_section(document: TarsyDocument, source: Source, env: Mapping[str, str]) -> tuple[NotifyConfig, list[Problem]]:
    """Return the notifications with those of `system.slack`, the section of the Go version, and remarks on why it has no effect.

    No mistakes: such configurations have always loaded here.
    """
    notify, slack, place = document.notify, document.system.slack, ("system", "slack")
    if slack is None or not slack.enabled:
        return notify, []
    if SLACK_TARGET in notify.targets:
        return notify, [source.problem(place, f'the notification target "{SLACK_TARGET}" replaces this section', "remove the section")]
    if not slack.channel:
        return notify, [source.problem(place, "nothing is sent to Slack: there is no channel", "write the channel's id")]
    if not env.get(slack.token_env, "").strip():
        message = f"nothing is sent to Slack: the environment variable {slack.token_env} is not set"
        return notify, [source.problem(place, message, f"set {slack.token_env}")]
    target = TargetConfig(slack=SlackTargetConfig(channel=slack.channel, token_env=slack.token_env))
    rule = NotifyRuleConfig(name="system.slack", on=(EventKind.VERDICT, EventKind.FAILED), to=(SLACK_TARGET,))
    return notify.model_copy(update={"targets": {**notify.targets, SLACK_TARGET: target}, "rules": (*notify.rules, rule)}), []


def _unfit_sign_in(config: Config, files: ConfigFiles, env: Mapping[str, str]) -> Iterator[Problem]:
    """Yield a mistake for whatever keeps people from signing in with the configured provider."""
    system = config.system
    if system.oidc is None:
        return
    if system.dashboard_url is None:
        message = "without system.dashboard_url the provider cannot send people back to TARSy"
        yield files.tarsy.problem(("system", "oidc"), message, "set system.dashboard_url")
    variable = system.oidc.client_secret_env
    if not env.get(variable, "").strip():
        message = f"TARSy authenticates to the provider with the environment variable {variable}, which is not set"
        yield files.tarsy.problem(("system", "oidc"), message, f"set {variable}")


def _unfit_same_as(config: Config, files: ConfigFiles) -> Iterator[Problem]:
    """Yield a mistake for each route whose `same_as` names no other route with labels to compare."""
    others = {route.name: route for route in config.routes if route.same_as is None}
    for index, route in enumerate(config.routes):
        if route.same_as is None:
            continue
        place, other = ("routes", index, "same_as"), others.get(route.same_as.route)
        if other is None:
            message = f'there is no route "{route.same_as.route}" without a `same_as` of its own'
            yield files.tarsy.problem(place, message, did_you_mean(route.same_as.route, others))
        elif not other.group_by or EACH in other.group_by:
            yield files.tarsy.problem(place, f'route "{other.name}" does not group by labels', "give it a group_by")
        else:
            for name in sorted(set(route.same_as.labels) - set(other.group_by)):
                message = f'route "{other.name}" does not group by "{name}"'
                yield files.tarsy.problem((*place, "labels", name), message, did_you_mean(name, other.group_by))


def _unfit_action_stages(config: Config, files: ConfigFiles) -> Iterator[Problem]:
    """Yield a mistake for each stage that mixes actions with anything else, comes before the analysis, or has settings of the other kind."""
    for chain_id in config.chains:
        has_acted = False
        for index, stage in enumerate(config.chains[chain_id].stages):
            place: KeyPath = ("agent_chains", chain_id, "stages", index)
            kinds = [entry.type or config.agents[entry.name].type for entry in stage.agents if entry.name in config.agents]
            if AgentKind.ACTION not in kinds:
                if has_acted:
                    message = f'stage "{stage.name}" investigates after a stage that acts on the verdict'
                    yield files.tarsy.problem(place, message, "put the stages with actions last")
                for key in ("min_confidence", "dry_run"):
                    if getattr(stage, key) is not None:
                        message = f"{key} has no meaning for a stage without an agent of type action"
                        yield files.tarsy.problem((*place, key), message, "remove it")
                continue
            has_acted = True
            if index == 0:
                message = f'stage "{stage.name}" acts, and no stage before it investigates'
                yield files.tarsy.problem(place, message, "put a stage that investigates before it")
            if len(kinds) > 1 or stage.replicas > 1:
                message = f'stage "{stage.name}" acts, and has more than one agent: their changes would have no order'
                yield files.tarsy.problem(place, message, "give each agent of type action a stage of its own")


def _unset_server_variables(
    config: Config, in_use: UsedEntries, files: ConfigFiles, env: Mapping[str, str]
) -> tuple[list[Problem], list[Problem]]:
    """Return mistakes for tool servers that lack a variable, or remarks if only built-in entries are concerned."""
    mistakes: list[Problem] = []
    remarks: list[Problem] = []
    for name, chain_id in in_use.servers.items():
        entry: KeyPath = ("mcp_servers", name)
        chain: KeyPath = ("agent_chains", chain_id)
        in_file = files.tarsy.holds(entry)
        reported: set[str] = set()
        for path, text in config.mcp_servers[name].transport.texts():
            for variable in sorted(variables(text) - env.keys() - reported):
                reported.add(variable)
                message = f'MCP server "{name}" is used by chain "{chain_id}", but the environment variable {variable} is not set'
                remedy = f"set {variable}, or override the server's transport"
                place = (*entry, "transport", *path) if in_file else chain
                missing = files.tarsy.problem(place, message, remedy)
                if in_file or files.tarsy.holds(chain):
                    mistakes.append(missing)
                else:
                    remarks.append(replace(missing, of_environment=True))
    return mistakes, remarks if not files.tarsy.holds(("agent_chains",)) else []


def _unfit_backends(config: Config, in_use: UsedEntries, files: ConfigFiles) -> Iterator[Problem]:
    """Yield a mistake for each agent or summary whose SDK cannot reach its model."""
    for explained in in_use.explained:
        agent, levels = explained.agent, explained.levels
        if reaches(agent.llm_backend, agent.provider.type, agent.provider.model):
            continue
        tools = _switched_on(config.agents[agent.agent_name].native_tools)
        if levels["llm_backend"] is Level.AGENT and tools:
            # An agent for the tools of one vendor needs a model of that vendor, not another SDK.
            whose = f"agent {agent.agent_name} works with {', '.join(sorted(tools))}, which only Gemini models have, and its provider is"
            given = f'"{agent.provider.name}" of type {agent.provider.type} (from {levels["provider"]})'
            message, remedy = f"{whose} {given}", "give it one where it is named: llm_provider: google-default"
        else:
            message = (
                f'llm_backend {agent.llm_backend} (from {levels["llm_backend"]}) cannot reach provider "{agent.provider.name}" '
                f"of type {agent.provider.type} (from {levels['provider']})"
            )
            remedy = "write llm_backend: langchain next to the provider"
        # The lowest place that both values come from, so that one mistake is one problem for all agents it concerns.
        origins = {levels["llm_backend"], levels["provider"]}
        if origins <= {Level.ENVIRONMENT, Level.DEFAULTS}:
            place: KeyPath = ("defaults", "llm_backend")
        elif origins <= {Level.ENVIRONMENT, Level.DEFAULTS, Level.AGENT}:
            place = ("agents", agent.agent_name, "llm_backend")
        elif origins <= {Level.ENVIRONMENT, Level.DEFAULTS, Level.AGENT, Level.CHAIN}:
            place = explained.path[:2]
        else:
            place = explained.path
        yield files.tarsy.problem(place, message, remedy)
    for name in in_use.servers:
        summary = resolved_server(config, name).summarization
        if summary.provider and summary.backend and not reaches(summary.backend, summary.provider.type, summary.provider.model):
            message = f'llm_backend {summary.backend} cannot reach provider "{summary.provider.name}" of type {summary.provider.type}'
            in_server: KeyPath = ("mcp_servers", name, "summarization")
            place = in_server if files.tarsy.holds(in_server) else ("defaults", "summarization")
            yield files.tarsy.problem(place, message, "write llm_backend: langchain next to the provider")


def _ignored_native_tools(config: Config, in_use: UsedEntries, files: ConfigFiles) -> Iterator[Problem]:
    """Yield a remark for each place that switches on a vendor's tools for agents none of which uses the SDK that has them."""
    used: set[KeyPath] = set()
    ignored: dict[KeyPath, frozenset[str]] = {}
    for agent in (explained.agent for explained in in_use.explained):
        models = ((agent.provider.name, agent.llm_backend), *((entry.provider.name, entry.backend) for entry in agent.fallback_providers))
        for name, backend in models:
            switches: dict[KeyPath, NativeToolsConfig] = {
                ("agents", agent.agent_name, "native_tools"): config.agents[agent.agent_name].native_tools,
                ("llm_providers", name, "native_tools"): config.llm_providers[name].native_tools,
            }
            for place, native_tools in switches.items():
                if backend is LLMBackend.NATIVE_GEMINI:
                    used.add(place)
                elif tools := _switched_on(native_tools):
                    ignored[place] = tools
    for place, tools in ignored.items():
        source = files.providers if place[0] == "llm_providers" else files.tarsy
        if place not in used and source.holds(place):
            message = f"llm_backend langchain ignores {', '.join(sorted(tools))}"
            yield source.problem(place, message, "write llm_backend: native-gemini for the agents that use it, or switch it off")


def _switched_on(tools: NativeToolsConfig) -> frozenset[str]:
    return frozenset(name for name, on in tools.as_switches().items() if on)


def _transport_remarks(servers: Mapping[str, MCPServerConfig], source: Source) -> Iterator[Problem]:
    """Yield a remark for each value of a transport that looks like a secret, or like a variable in another notation."""
    for name, server in servers.items():
        for path, text in server.transport.texts():
            place = ("mcp_servers", name, "transport", *path)
            match path:
                case ("bearer_token",) | ("oauth", "client_secret"):
                    is_secret = bool(text)
                case ("env" | "custom_headers", str() as key) | ("oauth", "parameters", str() as key):
                    is_secret = bool(text) and names_secret(key)
                case _:
                    is_secret = _URL_PASSWORD.search(text) is not None
            if is_secret and not variables(text):
                # A literal is stored with every session; a template is not.
                message = "this looks like a secret, and it would be stored with every session that uses the server"
                yield source.problem(place, message, "put it into the environment and write {{.NAME}} here")
            for variable in sorted(set(_OTHER_NOTATION.findall(text))):
                if not variables(variable) and not names_session(variable):
                    bare = variable.strip("${}. ")
                    known = f"write {{{{.{bare}}}}} for the environment variable"
                    remedy = known if bare.isidentifier() else "a variable is written {{.NAME}}, and nothing else"
                    yield source.problem(place, f"{variable} is taken literally", remedy)


def unused_keys(section: BaseModel, source: Source, path: KeyPath = ()) -> Iterator[Problem]:
    """Yield a remark for each key that is set and has no effect, or none yet."""
    for name, info in type(section).model_fields.items():
        value: Any = getattr(section, name)
        marks = as_mapping(info.json_schema_extra) or {}  # pyright: ignore[reportUnknownMemberType] - pydantic leaves it open
        if value is None:
            continue
        if marks == LATER:
            yield source.problem((*path, name), f"{name} is accepted but has no effect yet")
        elif NO_EFFECT in marks:
            yield source.problem((*path, name), f"{name} has no effect: {marks[NO_EFFECT]}", "remove it")
        elif isinstance(value, BaseModel):
            yield from unused_keys(value, source, (*path, name))
        else:
            entries: Mapping[Any, Any] = as_mapping(value) or (dict(enumerate(value)) if isinstance(value, tuple) else {})  # pyright: ignore[reportUnknownArgumentType] - a model's field may be anything
            for key, entry in entries.items():
                if isinstance(entry, BaseModel):
                    yield from unused_keys(entry, source, (*path, name, key))
