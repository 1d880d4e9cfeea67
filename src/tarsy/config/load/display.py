"""The configuration as text: the report of a check, effective values and their origins, skills, and the differences after a reload."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from tarsy.config.load.environment import expand_templates, find_directory, with_dotenv
from tarsy.config.load.loader import LoadedConfig, load_config, tarsy_source
from tarsy.config.load.skill_catalog import SkillCatalog, read_catalog
from tarsy.config.problems import ConfigError, Problem, report
from tarsy.config.resolve.agent_resolver import ExplainedAgent
from tarsy.config.resolve.redaction import redacted, redacted_chain
from tarsy.config.resolve.resolver import explain_chain
from tarsy.config.schema.configuration import Config
from tarsy.config.schema.documents import FILES, json_schema, schema_file_name
from tarsy.domain.skill import SHORT_COMMIT, Skill

# Sections whose field in Config has another name.
_IN_THE_FILES = {"chains": "agent_chains"}
# A process reads these once, when it starts.
_READ_AT_START = frozenset(
    {
        "DATABASE_URL",
        "TARSY_DATA_DIR",
        "TARSY_CONFIG_DIR",
        "TARSY_LLM_SERVICE_ADDR",
        "TARSY_LLM_SERVICE_CA",
        "TARSY_LLM_SERVICE_CERT",
        "TARSY_LLM_SERVICE_KEY",
        "TARSY_REPLAY_SPEED",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Differences:
    """Entries such as `agents.Web` and settings such as `queue.worker_count`, sorted; variables of `.env` by their names."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    # Changed variables of `.env` that a process reads only when it starts.
    at_next_start: tuple[str, ...] = ()


def differences(before: LoadedConfig, after: LoadedConfig) -> Differences:
    """Compare two configurations."""
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
        if isinstance(value, BaseModel):
            yield from ((f"{name}.{key}", getattr(value, key)) for key in type(value).model_fields)
        elif isinstance(value, Mapping):
            yield from ((f"{name}.{key}", entry) for key, entry in value.items())  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType] - the registries' keys are texts
        else:
            yield name, value


def check_report(
    directory: Path | None, env: Mapping[str, str], remarks: Callable[[LoadedConfig], Iterable[Problem]]
) -> tuple[bool, str, str]:
    """Return whether the configuration can be used, a summary in one line, and its problems or warnings together with `remarks`."""
    try:
        loaded = load_config(directory, env)
    except ConfigError as error:
        return False, f"{_counted(len(error.problems), 'problem')} in the configuration", str(error)
    config = loaded.config
    sizes = ", ".join(
        (_counted(len(config.chains), "chain"), _counted(len(config.agents), "agent"), _counted(len(config.mcp_servers), "MCP server"))
    )
    return True, f"{loaded.place or 'built-in configuration'}: ok ({sizes})", report((*loaded.warnings, *remarks(loaded)))


def render_config(loaded: LoadedConfig, *, as_json: bool = False) -> str:
    """Return the configuration of files and built-in entries as text, without secrets."""
    return _dump(redacted(loaded.config), as_json=as_json)


def render_chain(loaded: LoadedConfig, chain_id: str, *, origin: bool = False, as_json: bool = False) -> str:
    """Return the configuration that a session of the chain would have, or with `origin` the level that each field came from.

    Raises:
        UnknownEntryError: there is no such chain.
        NoProviderError: there is no model to run it with.
    """
    explained = explain_chain(loaded.config, chain_id)
    if not origin:
        return _dump(redacted_chain(explained.chain), as_json=as_json)
    shown: dict[str, Any] = {}
    for agent in explained.agents:
        # Agents with the same title are numbered.
        title, number = agent.title, 2
        while title in shown:
            title, number = f"{agent.title} ({number})", number + 1
        shown[title] = _origins(agent)
    return _dump(shown, as_json=as_json)


def schema_text(file: str) -> str:
    """Return the JSON Schema of one of the two files."""
    return json.dumps(json_schema(file), indent=2)


def write_schemas(directory: Path) -> Iterator[Path]:
    """Write the schemas of both files, and yield their paths."""
    for file in FILES:
        target = directory / schema_file_name(file)
        target.write_text(schema_text(file) + "\n", encoding="utf-8")
        yield target


def _counted(count: int, name: str) -> str:
    return f"{count} {name}" if count == 1 else f"{count} {name}s"


def _origins(explained: ExplainedAgent) -> dict[str, dict[str, Any]]:
    values = explained.agent.model_dump(mode="json")
    values["provider"] = explained.agent.provider.name
    values["fallback_providers"] = [fallback.provider.name for fallback in explained.agent.fallback_providers]
    values["sub_agents"] = [sub.agent_name for sub in explained.agent.sub_agents]
    # The dump leaves out empty ones.
    values |= {"skills": [*explained.agent.skills], "required_skills": [*explained.agent.required_skills]}
    return {name: {"value": values[name], "from": level.value} for name, level in sorted(explained.levels.items())}


def _dump(shown: dict[str, Any], *, as_json: bool) -> str:
    return json.dumps(shown, indent=2) if as_json else yaml.safe_dump(shown, sort_keys=False, allow_unicode=True, width=120).rstrip()


def render_skills(skills: Iterable[Skill]) -> str:
    """Return a paragraph for each skill: name, origin, description, what its author says about it, further files."""
    paragraphs: list[str] = []
    for skill in sorted(skills, key=lambda skill: skill.name):
        at = f" at {skill.commit[:SHORT_COMMIT]}" if skill.commit else ""
        files = f"\n    files: {', '.join(skill.further_files)}" if skill.further_files else ""
        needs = f"\n    needs: {skill.compatibility}" if skill.compatibility else ""
        about = {**({"license": skill.license} if skill.license else {}), **skill.metadata}
        known = f"\n    {', '.join(f'{key}: {value}' for key, value in about.items())}" if about else ""
        paragraphs.append(f"{skill.name}  [{skill.origin}{at}]\n    {skill.description}{needs}{known}{files}")
    return "\n".join(paragraphs)


def catalog_of(directory: Path | None, env: Mapping[str, str]) -> SkillCatalog:
    """Read the skills alone; other problems of the configuration do not matter.

    Raises:
        ConfigError: a directory was named that contains no configuration.
    """
    found = find_directory(directory, with_dotenv(env, None))
    full_env = with_dotenv(env, found)
    source = tarsy_source(found)
    return read_catalog(found, source, expand_templates(source.data, full_env).data, full_env)


def check_skills(directory: Path | None, env: Mapping[str, str]) -> tuple[bool, str, str]:
    """Return whether all skills can be used, a summary in one line, and their problems and remarks."""
    catalog = catalog_of(directory, env)
    if catalog.problems:
        return False, f"{_counted(len(catalog.problems), 'problem')} in the skills", report([*catalog.problems, *catalog.remarks])
    return True, f"ok ({len(catalog.skills)} skills)", report(catalog.remarks)
