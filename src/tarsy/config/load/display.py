"""The configuration as text: the report of a check, effective values and their origins, skills, and what differs after a reload."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from tarsy.config.load.environment import fill_in, find_directory, with_dotenv
from tarsy.config.load.loader import LoadedConfig, load_config, tarsy_source
from tarsy.config.load.skill_catalog import SHORT_COMMIT, SkillCatalog, read_catalog
from tarsy.config.parsed_data import mapping
from tarsy.config.problems import ConfigError, Problem, report
from tarsy.config.resolve.agent_resolver import ExplainedAgent
from tarsy.config.resolve.redaction import redacted, redacted_chain
from tarsy.config.resolve.resolver import ExplainedChain, explain_chain
from tarsy.config.schema.configuration import Config
from tarsy.config.schema.documents import FILES, json_schema, schema_file_name
from tarsy.domain.skill import Skill

# Where a section of the files has another name than the value that was made of it.
_IN_THE_FILES = {"chains": "agent_chains"}
# A process reads these once, when it starts.
_READ_AT_START = frozenset({"DATABASE_URL", "TARSY_DATA_DIR", "TARSY_CONFIG_DIR", "TARSY_LLM_SERVICE_ADDR", "TARSY_REPLAY_SPEED"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Differences:
    """Entries such as `agents.Web` and settings such as `queue.worker_count`, sorted; variables of `.env` by their names."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    # Variables that changed in `.env` and are read only by a process that starts.
    at_next_start: tuple[str, ...] = ()


def differences(before: LoadedConfig, after: LoadedConfig) -> Differences:
    """What a reader of the files would call the difference."""
    old, new = dict(_parts(before.config)), dict(_parts(after.config))
    variables = {name for name in {*before.env, *after.env} if before.env.get(name) != after.env.get(name)}
    later = {name for name in variables if name in _READ_AT_START or name.startswith("OTEL_")}
    return Differences(
        added=tuple(sorted(new.keys() - old.keys())),
        changed=tuple(sorted([*(name for name in old.keys() & new.keys() if old[name] != new[name]), *variables - later])),
        removed=tuple(sorted(old.keys() - new.keys())),
        at_next_start=tuple(sorted(later)),
    )


def _parts(config: Config) -> Iterator[tuple[str, object]]:
    for section in fields(config):
        name, value = _IN_THE_FILES.get(section.name, section.name), getattr(config, section.name)
        entries = _entries(value)
        yield from ((name, value),) if entries is None else ((f"{name}.{key}", entry) for key, entry in entries.items())


def _entries(section: object) -> Mapping[str, object] | None:
    """What a section consists of; None: it is one value."""
    if isinstance(section, BaseModel):
        return {name: getattr(section, name) for name in type(section).model_fields}
    return dict(section) if isinstance(section, Mapping) else mapping(section)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - the registries' keys are texts


def check_report(
    directory: Path | None, env: Mapping[str, str], remarks: Callable[[LoadedConfig], Iterable[Problem]]
) -> tuple[bool, str, str]:
    """Whether the configuration can be used, one line that says so, and everything to be said about it, `remarks` too."""
    try:
        loaded = load_config(directory, env)
    except ConfigError as error:
        return False, f"{_counted(len(error.problems), 'problem')} in the configuration", str(error)
    config = loaded.config
    sizes = ", ".join(
        (_counted(len(config.chains), "chain"), _counted(len(config.agents), "agent"), _counted(len(config.mcp_servers), "MCP server"))
    )
    return True, f"{loaded.place or 'built-in configuration'}: ok ({sizes})", report((*loaded.warnings, *remarks(loaded)))


def effective(loaded: LoadedConfig, *, as_json: bool = False) -> str:
    """Files and built-ins together, secrets hidden."""
    return _written(redacted(loaded.config), as_json=as_json)


def effective_chain(loaded: LoadedConfig, chain_id: str, *, origin: bool = False, as_json: bool = False) -> str:
    """What a session of the chain would run with, or with `origin` the level that each field came from.

    Raises:
        UnknownEntryError: there is no such chain.
        NoProviderError: there is no model to run it with.
    """
    explained = explain_chain(loaded.config, chain_id)
    return _written(_origins(explained) if origin else redacted_chain(explained.chain), as_json=as_json)


def schema_text(file: str) -> str:
    """The JSON Schema of one of the two files."""
    return json.dumps(json_schema(file), indent=2)


def write_schemas(directory: Path) -> Iterator[Path]:
    """Write the schemas of both files and name what was written."""
    for file in FILES:
        target = directory / schema_file_name(file)
        target.write_text(schema_text(file) + "\n", encoding="utf-8")
        yield target


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _origins(explained: ExplainedChain) -> dict[str, Any]:
    """Agents by title; an agent that stands twice in a stage is told by its number."""
    shown: dict[str, Any] = {}
    for agent in explained.agents:
        title, number = agent.title, 2
        while title in shown:
            title, number = f"{agent.title} ({number})", number + 1
        shown[title] = dict(_fields(agent))
    return shown


def _fields(explained: ExplainedAgent) -> Iterator[tuple[str, dict[str, Any]]]:
    values = explained.agent.model_dump(mode="json")
    values["provider"] = explained.agent.provider.name
    values["fallback_providers"] = [fallback.provider.name for fallback in explained.agent.fallback_providers]
    values["sub_agents"] = [sub.agent_name for sub in explained.agent.sub_agents]
    # The dump leaves them out where they are empty.
    values |= {"skills": [*explained.agent.skills], "required_skills": [*explained.agent.required_skills]}
    for name, level in sorted(explained.levels.items()):
        yield name, {"value": values[name], "from": level.value}


def _written(shown: dict[str, Any], *, as_json: bool) -> str:
    return json.dumps(shown, indent=2) if as_json else yaml.safe_dump(shown, sort_keys=False, allow_unicode=True, width=120).rstrip()


def listed(skills: Iterable[Skill]) -> str:
    """One paragraph for each skill: name, origin, description, further files."""
    return "\n".join(_paragraph(skill) for skill in sorted(skills, key=lambda skill: skill.name))


def catalog_of(directory: Path | None, env: Mapping[str, str]) -> SkillCatalog:
    """The skills alone: whatever else is wrong with the configuration is no matter here.

    Raises:
        ConfigError: a directory was named that holds no configuration.
    """
    found = find_directory(directory, with_dotenv(env, None))
    full_env = with_dotenv(env, found)
    source = tarsy_source(found)
    return read_catalog(found, source, fill_in(source.data, full_env).data, full_env)


def check_skills(directory: Path | None, env: Mapping[str, str]) -> tuple[bool, str, str]:
    """Whether all skills can be used, one line that says so, and everything to be said about them."""
    catalog = catalog_of(directory, env)
    if catalog.problems:
        count = len(catalog.problems)
        return False, f"{count} problem{'' if count == 1 else 's'} in the skills", report([*catalog.problems, *catalog.remarks])
    return True, f"ok ({len(catalog.skills)} skills)", report(catalog.remarks)


def _paragraph(skill: Skill) -> str:
    at = f" at {skill.commit[:SHORT_COMMIT]}" if skill.commit else ""
    files = f"\n    files: {', '.join(skill.further_files)}" if skill.further_files else ""
    needs = f"\n    needs: {skill.compatibility}" if skill.compatibility else ""
    return f"{skill.name}  [{skill.origin}{at}]\n    {skill.description}{needs}{files}"
