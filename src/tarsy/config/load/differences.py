"""What differs between two configurations, by name and never by value: values may be secret. Pure module."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields

from pydantic import BaseModel

from tarsy.config.load.loader import LoadedConfig
from tarsy.config.parsed_data import mapping
from tarsy.config.schema.configuration import Config

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
