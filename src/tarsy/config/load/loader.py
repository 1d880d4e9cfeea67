"""Loading: all files over the built-ins, every check, one report."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

from tarsy.config.load import checks
from tarsy.config.load.checks import Files, duplicate_alert_types, misused_replicas, reserved_servers, transport_remarks, yield_alert_types
from tarsy.config.load.environment import Filled, fill_in, find_directory, overlooked_files, piece_files, with_dotenv
from tarsy.config.load.mistakes import validate
from tarsy.config.load.skill_catalog import read_catalog
from tarsy.config.load.source import Source, put_together, read_source
from tarsy.config.parsed_data import listing_at, mapping, mapping_at
from tarsy.config.problems import ConfigError, Problem, dotted, in_order
from tarsy.config.schema import documents
from tarsy.config.schema.configuration import (
    AgentRegistry,
    ChainRegistry,
    Config,
    LLMProviderRegistry,
    MCPServerRegistry,
    choose_default_provider,
)
from tarsy.config.schema.documents import PROVIDERS_FILE, TARSY_FILE, ProvidersDocument, TarsyDocument
from tarsy.config.schema.mcp_servers import GROUPS, PATTERNS
from tarsy.config.schema.values import KnownNames, as_text
from tarsy.domain.skill import Skill


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """The configuration, what a person should know about it, and the variables to fill its templates with."""

    config: Config
    warnings: tuple[Problem, ...]
    # Hidden from repr: it holds the secrets.
    env: Mapping[str, str] = field(repr=False)
    directory: FilePath | None = None
    # The files of tarsy.d that are part of it.
    pieces: tuple[FilePath, ...] = ()

    @property
    def place(self) -> str:
        """Where it was read from, for people; empty: nowhere, there are the built-ins alone."""
        names = ", ".join(f"{piece.parent.name}/{piece.name}" for piece in self.pieces)
        return f"{self.directory or ''}{f' with {names}' if names else ''}"


def load_config(directory: FilePath | None, env: Mapping[str, str]) -> LoadedConfig:
    """Load the files of `directory` (or of the usual places) over the built-ins.

    Raises:
        ConfigError: with every problem of every file.
    """
    found = find_directory(directory, with_dotenv(env, None))
    full_env = with_dotenv(env, found)
    checked = _check(Files(tarsy_source(found), _file_of(found, PROVIDERS_FILE)), found, full_env)
    if checked.problems or checked.config is None:
        raise ConfigError(checked.problems)
    return LoadedConfig(checked.config, in_order((*checked.warnings, *overlooked_files(found))), full_env, found, piece_files(found))


def tarsy_source(directory: FilePath | None) -> Source:
    """`tarsy.yaml` and its pieces, put together."""
    return put_together(_file_of(directory, TARSY_FILE), (_source(piece) for piece in piece_files(directory)))


@dataclass(slots=True)
class _Checked:
    config: Config | None = None
    problems: list[Problem] = field(default_factory=list[Problem])
    warnings: list[Problem] = field(default_factory=list[Problem])


def _file_of(directory: FilePath | None, name: str) -> Source:
    if directory is None or not (directory / name).exists():
        return Source(str((directory or FilePath()) / name), {})
    return _source(directory / name)


def _source(path: FilePath) -> Source:
    source = read_source(path)
    if source.data is not None and mapping(source.data) is None:
        source.problems.append(source.problem((), "this file is not a mapping of keys to values"))
    source.data = mapping(source.data) or {}
    return source


def _check(files: Files, directory: FilePath | None, env: Mapping[str, str]) -> _Checked:
    checked = _Checked(problems=[*files.tarsy.problems, *files.providers.problems])
    tarsy = fill_in(_over_builtins(files.tarsy.data), env)
    providers = fill_in(_merged(files.providers.data, "llm_providers", documents.LLM_PROVIDERS), env)
    yield_alert_types(tarsy.data, files.tarsy)
    checked.problems += [
        *duplicate_alert_types(tarsy.data, files.tarsy),
        *misused_replicas(tarsy.data, files.tarsy),
        *reserved_servers(tarsy.data, files.tarsy),
    ]
    catalog = read_catalog(directory, files.tarsy, tarsy.data, env)
    checked.problems += catalog.problems
    checked.warnings += catalog.remarks
    names = _names(tarsy.data, providers.data, catalog.names)
    document, mistakes = validate(TarsyDocument, files.tarsy, tarsy.data, names)
    models, model_mistakes = validate(ProvidersDocument, files.providers, providers.data, names)
    checked.problems += [
        *mistakes,
        *model_mistakes,
        *_misplaced_session_ids(files.tarsy, tarsy),
        *_misplaced_session_ids(files.providers, providers),
    ]
    if document is not None and models is not None:
        checked.config = _config(document, models, catalog.skills, env)
        _check_together(checked, checked.config, files, (tarsy, providers), env)
        checked.warnings += [*checks.later_keys(document, files.tarsy), *transport_remarks(document.mcp_servers, files.tarsy)]
    return checked


def _check_together(checked: _Checked, config: Config, files: Files, filled: tuple[Filled, Filled], env: Mapping[str, str]) -> None:
    reach = checks.reach_of(config)
    checks.follow_broken_chains(reach, config, files.tarsy.data)
    mistakes, remarks = checks.unreachable_servers(config, reach, files, env)
    checked.problems += [*checks.unreachable_models(config, reach, files, env), *mistakes, *checks.unfit_backends(config, reach, files)]
    checked.problems += checks.unproven_senders(config.senders, files.tarsy, env)
    checked.warnings += [
        *remarks,
        *checks.no_model(config, reach, files),
        *checks.unanswered_default(config, files),
        *checks.ungrouped_variants(config, files),
        *checks.pointless_tools(config, files),
        *checks.ignored_native_tools(config, reach, files),
    ]
    # What else is wrong with such a value is wrong with its template, not with what it will be.
    mistaken = {(problem.file, problem.path) for problem in checked.problems}
    wanting = [
        source.problem(path, f"the environment variable {variable} is not set", f"set {variable}")
        for source, part in zip((files.tarsy, files.providers), filled, strict=True)
        for path, variable in part.missing
        if reach.holds(path) or (source.place_of(path).file, dotted(path)) in mistaken
    ]
    places = {(problem.file, problem.path) for problem in wanting}
    checked.problems = [*wanting, *(problem for problem in checked.problems if (problem.file, problem.path) not in places)]


def _misplaced_session_ids(source: Source, filled: Filled) -> list[Problem]:
    cure = "use it in an MCP server's custom_headers or session_cleanup_url"
    return [source.problem(path, "{{.SESSION_ID}} is known only while a session runs", cure) for path in filled.session_ids]


def _over_builtins(data: dict[str, Any]) -> dict[str, Any]:
    data = _merged(data, "mcp_servers", documents.MCP_SERVERS)
    data = _merged(data, "agents", documents.AGENTS)
    return _merged(data, "agent_chains", documents.CHAINS)


def _merged(data: dict[str, Any], key: str, below: Mapping[str, Any]) -> dict[str, Any]:
    if data.get(key) is not None and mapping(data[key]) is None:
        return data
    own = mapping_at(data, key)
    return {**data, key: {**below, **{name: documents.over_builtin(below.get(name), entry) for name, entry in own.items()}}}


def _names(tarsy: dict[str, Any], providers: dict[str, Any], skills: Collection[str] | None) -> KnownNames:
    # Built-ins again: a section that is no mapping could not be laid over them.
    chains = {**documents.CHAINS, **mapping_at(tarsy, "agent_chains")}
    return KnownNames(
        providers=_types({**documents.LLM_PROVIDERS, **mapping_at(providers, "llm_providers")}),
        agents=_types({**documents.AGENTS, **mapping_at(tarsy, "agents")}),
        described_agents=_described({**documents.AGENTS, **mapping_at(tarsy, "agents")}),
        servers={*documents.MCP_SERVERS, *mapping_at(tarsy, "mcp_servers")},
        alert_types={as_text(name) for chain in chains.values() for name in listing_at(chain, "alert_types")},
        patterns=PATTERNS,
        pattern_groups=GROUPS,
        skills=skills,
    )


def _described(entries: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(name for name, entry in entries.items() if str((mapping(entry) or {}).get("description") or "").strip())


def _types(entries: Mapping[str, Any]) -> Mapping[str, str]:
    return {name: str((mapping(entry) or {}).get("type") or "default") for name, entry in entries.items()}


def _config(document: TarsyDocument, models: ProvidersDocument, skills: Mapping[str, Skill], env: Mapping[str, str]) -> Config:
    return Config(
        system=document.system,
        defaults=document.defaults,
        queue=document.queue,
        mcp_servers=MCPServerRegistry(document.mcp_servers),
        agents=AgentRegistry(document.agents),
        chains=ChainRegistry(document.agent_chains),
        llm_providers=LLMProviderRegistry(models.llm_providers),
        skills=skills,
        default_provider=choose_default_provider(models.llm_providers, env),
        routes=document.routes,
        senders=document.senders,
        mute=document.mute,
    )
