"""The configuration directory, `.env` files, and the variables that the files use."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dotenv import dotenv_values

from tarsy.config.file_names import PROVIDERS_FILE, TARSY_DIRECTORY, TARSY_FILE
from tarsy.config.parsed_data import as_list, as_mapping
from tarsy.config.problems import ConfigError, KeyPath, Problem
from tarsy.config.templates import expand, names_session, variables

DIRECTORY_VARIABLE = "TARSY_CONFIG_DIR"
DEFAULT_DIRECTORY = Path("config")
_EXPANDED_WHEN_USED = frozenset({"command", "args", "env", "url", "bearer_token", "oauth", "custom_headers", "session_cleanup_url"})


def find_directory(directory: Path | None, env: Mapping[str, str]) -> Path | None:
    """Return the given directory, the one in TARSY_CONFIG_DIR, or ./config if it contains one of the files; None: built-ins only.

    Raises:
        ConfigError: a directory was named but contains no configuration.
    """

    def has_configuration(place: Path) -> bool:
        return (place / TARSY_FILE).is_file() or (place / PROVIDERS_FILE).is_file() or bool(piece_files(place))

    named = directory or (Path(env[DIRECTORY_VARIABLE]) if env.get(DIRECTORY_VARIABLE) else None)
    if named is None:
        return DEFAULT_DIRECTORY if has_configuration(DEFAULT_DIRECTORY) else None
    if not named.is_dir():
        raise ConfigError([Problem(str(named), 0, "", "there is no such directory", f"--config and {DIRECTORY_VARIABLE} name a directory")])
    if not has_configuration(named):
        raise ConfigError(
            [
                Problem(
                    str(named), 0, "", f"contains neither {TARSY_FILE} nor {PROVIDERS_FILE}", "add one of them, or name another directory"
                )
            ]
        )
    return named


def piece_files(directory: Path | None) -> tuple[Path, ...]:
    """Return the YAML files of `tarsy.d`, ordered by name. Hidden ones belong to editors and Kubernetes.

    Raises:
        ConfigError: the directory cannot be read.
    """
    return tuple(path for path in _visible(directory) if path.suffix == ".yaml")


def ignored_files(directory: Path | None) -> tuple[Problem, ...]:
    """Return a remark for each file of `tarsy.d` that is not read because of its extension."""
    misnamed = (path for path in _visible(directory) if path.suffix in {".yml", ".json"})
    return tuple(Problem(str(path), 0, "", "this file is not read", f"name it {path.stem}.yaml") for path in misnamed)


def _visible(directory: Path | None) -> list[Path]:
    place = (directory or Path()) / TARSY_DIRECTORY
    if directory is None or not place.is_dir():
        return []
    try:
        return sorted(path for path in place.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise ConfigError([Problem(str(place), 0, "", f"cannot be read: {error.strerror}")]) from error


def with_dotenv(env: Mapping[str, str], directory: Path | None) -> Mapping[str, str]:
    """Return `env` with the variables of `.env` in the directory and in the working directory, in this order of precedence.

    Raises:
        ConfigError: such a file cannot be read.
    """
    places = [Path(".env")] if directory is None else [Path(".env"), directory / ".env"]
    known: dict[str, str] = {}
    for place in places:
        if not place.is_file():
            continue
        try:
            # Without interpolation: passwords may contain `$`.
            found = dotenv_values(place, interpolate=False)
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError([Problem(str(place), 0, "", "cannot be read", "write NAME=value lines in UTF-8")]) from error
        known |= {name: value for name, value in found.items() if value is not None}
    return {**known, **env}


@dataclass(slots=True)
class ExpandedData:
    """Parsed data with its templates expanded, and the paths of those that could not be."""

    data: Any = None
    missing: list[tuple[KeyPath, str]] = field(default_factory=list[tuple[KeyPath, str]])
    session_ids: list[KeyPath] = field(default_factory=list[KeyPath])


def expand_templates(data: Any, env: Mapping[str, str]) -> ExpandedData:
    """Expand the templates of all values, except those that are expanded when they are used because they may be secret."""
    filled = ExpandedData()

    def fill(value: Any, path: KeyPath) -> Any:
        match path:
            case ("mcp_servers", _, "transport", str() as key) if key in _EXPANDED_WHEN_USED:
                return value
            case ("llm_providers", _, "base_url") | ("notify", "targets", _, "webhook", "url"):
                if isinstance(value, str) and names_session(value):
                    filled.session_ids.append(path)
                return value
            case _:
                pass
        if (entries := as_mapping(value)) is not None:
            return {key: fill(item, (*path, key)) for key, item in entries.items()}
        if (items := as_list(value)) is not None:
            return [fill(item, (*path, index)) for index, item in enumerate(items)]
        return _fill_text(value, path, env, filled) if isinstance(value, str) and "{{" in value else value

    filled.data = fill(data, ())
    return filled


def _fill_text(value: str, path: KeyPath, env: Mapping[str, str], filled: ExpandedData) -> str | int:
    if names_session(value):
        filled.session_ids.append(path)
        return value
    missing = sorted(name for name in variables(value) if name not in env)
    filled.missing.extend((path, name) for name in missing)
    if missing:
        return value
    text = expand(value, env)
    # A variable that is the whole value may be a number.
    is_number = value.startswith("{{") and value.endswith("}}") and text.isascii() and text.isdecimal() and str(int(text)) == text
    return int(text) if is_number else text
