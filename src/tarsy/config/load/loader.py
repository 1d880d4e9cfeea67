"""Loading the configuration: all files over the built-in entries, every check, one report."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tarsy.config.file_names import PROVIDERS_FILE, TARSY_FILE
from tarsy.config.load.checks import (
    ConfigFiles,
    check_config,
    check_data,
    remove_overridden_alert_types,
    unused_keys,
    used_entries,
    with_slack_section,
)
from tarsy.config.load.environment import expand_templates, find_directory, ignored_files, piece_files, with_dotenv
from tarsy.config.load.mistakes import validate
from tarsy.config.load.skill_catalog import read_catalog
from tarsy.config.load.source import Source, join_sources, read_source
from tarsy.config.parsed_data import as_mapping, list_at, mapping_at
from tarsy.config.problems import ConfigError, Problem, dotted, sorted_problems
from tarsy.config.schema import documents
from tarsy.config.schema.configuration import (
    AgentRegistry,
    ChainRegistry,
    Config,
    LLMProviderRegistry,
    MCPServerRegistry,
    choose_default_provider,
)
from tarsy.config.schema.documents import ProvidersDocument, TarsyDocument
from tarsy.config.schema.notify import SLACK_TARGET
from tarsy.config.schema.values import KnownNames, as_text


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """The configuration, its warnings, and the variables to expand its templates with."""

    config: Config
    warnings: tuple[Problem, ...]
    # Not part of the repr, because it contains secrets.
    env: Mapping[str, str] = field(repr=False)
    directory: Path | None = None
    # The files of tarsy.d that are part of it.
    pieces: tuple[Path, ...] = ()

    @property
    def place(self) -> str:
        """Describe where it was read from for people; empty: it consists of the built-in entries only."""
        names = ", ".join(f"{piece.parent.name}/{piece.name}" for piece in self.pieces)
        return f"{self.directory or ''}{f' with {names}' if names else ''}"


def load_config(directory: Path | None, env: Mapping[str, str]) -> LoadedConfig:
    """Load the files of `directory`, or of the usual places, over the built-in entries.

    Raises:
        ConfigError: with every problem of every file.
    """
    found = find_directory(directory, with_dotenv(env, None))
    env = with_dotenv(env, found)
    files = ConfigFiles(tarsy_source(found), providers_source(found))
    data = files.tarsy.data
    for section, entries in (("mcp_servers", documents.MCP_SERVERS), ("agents", documents.AGENTS), ("agent_chains", documents.CHAINS)):
        data = _over_builtins(data, section, entries)
    tarsy = expand_templates(data, env)
    providers = expand_templates(_over_builtins(files.providers.data, "llm_providers", documents.LLM_PROVIDERS), env)
    remove_overridden_alert_types(tarsy.data, files.tarsy)
    catalog = read_catalog(found, files.tarsy, tarsy.data, env)
    problems = [*files.tarsy.problems, *files.providers.problems, *check_data(tarsy.data, files.tarsy), *catalog.problems]
    warnings = [*catalog.remarks, *ignored_files(found)]

    names = _known_names(tarsy.data, providers.data, catalog.names)
    document, mistakes = validate(TarsyDocument, files.tarsy, tarsy.data, names)
    models, model_mistakes = validate(ProvidersDocument, files.providers, providers.data, names)
    problems += [*mistakes, *model_mistakes]
    sources = ((files.tarsy, tarsy), (files.providers, providers))
    for source, filled in sources:
        remedy = "use it in an MCP server's custom_headers or session_cleanup_url"
        problems += [source.problem(path, "{{.SESSION_ID}} is known only while a session runs", remedy) for path in filled.session_ids]
    if document is None or models is None:
        raise ConfigError(problems)

    notify, slack_remarks = with_slack_section(document, files.tarsy, env)
    config = Config(
        system=document.system,
        defaults=document.defaults,
        queue=document.queue,
        mcp_servers=MCPServerRegistry(document.mcp_servers),
        agents=AgentRegistry(document.agents),
        chains=ChainRegistry(document.agent_chains),
        llm_providers=LLMProviderRegistry(models.llm_providers),
        skills=catalog.skills,
        default_provider=choose_default_provider(models.llm_providers, env),
        routes=document.routes,
        senders=document.senders,
        mute=document.mute,
        notify=notify,
    )
    in_use = used_entries(config, files.tarsy.data)
    mistakes, remarks = check_config(config, in_use, files, env)
    problems += mistakes
    warnings += [*remarks, *slack_remarks, *unused_keys(document, files.tarsy)]
    # Other problems of a value with an unset variable are about its template, not about the value.
    mistaken = {(problem.file, problem.path) for problem in problems}
    unset = [
        source.problem(path, f"the environment variable {variable} is not set", f"set {variable}")
        for source, filled in sources
        for path, variable in filled.missing
        if in_use.holds(path) or (source.location_of(path).file, dotted(path)) in mistaken
    ]
    places = {(problem.file, problem.path) for problem in unset}
    problems = [*unset, *(problem for problem in problems if (problem.file, problem.path) not in places)]
    if problems:
        raise ConfigError(problems)
    return LoadedConfig(config, sorted_problems(warnings), env, found, piece_files(found))


def tarsy_source(directory: Path | None) -> Source:
    """Return `tarsy.yaml` joined with the files of `tarsy.d`."""
    return join_sources(_file_of(directory, TARSY_FILE), (_source(piece) for piece in piece_files(directory)))


def providers_source(directory: Path | None) -> Source:
    return _file_of(directory, PROVIDERS_FILE)


def _file_of(directory: Path | None, name: str) -> Source:
    if directory is None or not (directory / name).exists():
        return Source(str((directory or Path()) / name), {})
    return _source(directory / name)


def _source(path: Path) -> Source:
    source = read_source(path)
    if source.data is not None and as_mapping(source.data) is None:
        source.problems.append(source.problem((), "this file is not a mapping of keys to values"))
    source.data = as_mapping(source.data) or {}
    return source


def _over_builtins(data: dict[str, Any], section: str, builtins: Mapping[str, Any]) -> dict[str, Any]:
    """Return `data` with the built-in entries of a section under its own."""
    if data.get(section) is not None and as_mapping(data[section]) is None:
        return data
    own = mapping_at(data, section)
    return {**data, section: {**builtins, **{name: documents.over_builtin(builtins.get(name), entry) for name, entry in own.items()}}}


def _known_names(tarsy: dict[str, Any], providers: dict[str, Any], skills: Collection[str] | None) -> KnownNames:
    # With the built-in entries again: a section that is no mapping has none.
    chains = {**documents.CHAINS, **mapping_at(tarsy, "agent_chains")}
    agents = {**documents.AGENTS, **mapping_at(tarsy, "agents")}
    return KnownNames(
        providers=_types({**documents.LLM_PROVIDERS, **mapping_at(providers, "llm_providers")}),
        agents=_types(agents),
        described_agents=[name for name, entry in agents.items() if str((as_mapping(entry) or {}).get("description") or "").strip()],
        servers={*documents.MCP_SERVERS, *mapping_at(tarsy, "mcp_servers")},
        alert_types={as_text(name) for chain in chains.values() for name in list_at(chain, "alert_types")},
        skills=skills,
        targets=[
            *mapping_at(mapping_at(tarsy, "notify"), "targets"),
            *([SLACK_TARGET] if mapping_at(mapping_at(tarsy, "system"), "slack") else []),
        ],
    )


def _types(entries: Mapping[str, Any]) -> Mapping[str, str]:
    return {name: str((as_mapping(entry) or {}).get("type") or "default") for name, entry in entries.items()}
