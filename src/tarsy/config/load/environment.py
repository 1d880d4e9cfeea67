"""Finding the configuration directory, and filling in the variables that the files use."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dotenv import dotenv_values

from tarsy.config.parsed_data import listing, mapping
from tarsy.config.problems import ConfigError, KeyPath, Problem
from tarsy.config.schema.documents import PROVIDERS_FILE, TARSY_DIRECTORY, TARSY_FILE
from tarsy.config.templates import expand, names_session, variables

DIRECTORY_VARIABLE = "TARSY_CONFIG_DIR"
DEFAULT_DIRECTORY = Path("config")


def find_directory(directory: Path | None, env: Mapping[str, str]) -> Path | None:
    """The given directory, the one that TARSY_CONFIG_DIR names, or ./config if it holds one of the files; None: built-ins alone.

    Raises:
        ConfigError: a directory was named but holds no configuration.
    """
    named = directory or (Path(env[DIRECTORY_VARIABLE]) if env.get(DIRECTORY_VARIABLE) else None)
    if named is None:
        return DEFAULT_DIRECTORY if _holds_configuration(DEFAULT_DIRECTORY) else None
    if not named.is_dir():
        raise ConfigError([Problem(str(named), 0, "", "there is no such directory", f"--config and {DIRECTORY_VARIABLE} name a directory")])
    if not _holds_configuration(named):
        raise ConfigError(
            [Problem(str(named), 0, "", f"holds neither {TARSY_FILE} nor {PROVIDERS_FILE}", "add one of them, or name another directory")]
        )
    return named


def piece_files(directory: Path | None) -> tuple[Path, ...]:
    """The files of `tarsy.d`, in the order of their names. Hidden ones are editors' and Kubernetes' own.

    Raises:
        ConfigError: the directory cannot be read.
    """
    return tuple(path for path in _visible(directory) if path.suffix == ".yaml")


def overlooked_files(directory: Path | None) -> tuple[Problem, ...]:
    """One remark for each file of `tarsy.d` that looks as if it should be read, and is not."""
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
    """Add what `.env` in the directory says, and then `.env` in the working directory; what is already set stays.

    Raises:
        ConfigError: such a file cannot be read.
    """
    places = [Path(".env")] if directory is None else [directory / ".env", Path(".env")]
    known: dict[str, str] = {}
    for place in reversed(places):
        if place.is_file():
            known |= _read_dotenv(place)
    return {**known, **env}


def _read_dotenv(place: Path) -> Mapping[str, str]:
    try:
        # `$` is an ordinary character in a password.
        found = dotenv_values(place, interpolate=False)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError([Problem(str(place), 0, "", "cannot be read", "write NAME=value lines in UTF-8")]) from error
    return {name: value for name, value in found.items() if value is not None}


def _holds_configuration(directory: Path) -> bool:
    return (directory / TARSY_FILE).is_file() or (directory / PROVIDERS_FILE).is_file() or bool(piece_files(directory))


_LATE_TRANSPORT_KEYS = frozenset({"command", "args", "env", "url", "bearer_token", "custom_headers", "session_cleanup_url"})


@dataclass(slots=True)
class Filled:
    """Parsed data with its values filled in, and what was wanting."""

    data: Any = None
    missing: list[tuple[KeyPath, str]] = field(default_factory=list[tuple[KeyPath, str]])
    session_ids: list[KeyPath] = field(default_factory=list[KeyPath])


def fill_in(data: Any, env: Mapping[str, str]) -> Filled:
    """Replace the templates of every value that is read at load."""
    filled = Filled()
    filled.data = _fill(data, (), env, filled)
    return filled


def _fill(value: Any, path: KeyPath, env: Mapping[str, str], filled: Filled) -> Any:
    if _is_late(path):
        return value
    if (entries := mapping(value)) is not None:
        return {key: _fill(item, (*path, key), env, filled) for key, item in entries.items()}
    if (items := listing(value)) is not None:
        return [_fill(item, (*path, index), env, filled) for index, item in enumerate(items)]
    return _fill_text(value, path, env, filled) if isinstance(value, str) and "{{" in value else value


def _fill_text(value: str, path: KeyPath, env: Mapping[str, str], filled: Filled) -> Any:
    if names_session(value):
        filled.session_ids.append(path)
        return value
    wanting = sorted(name for name in variables(value) if name not in env)
    filled.missing.extend((path, name) for name in wanting)
    return value if wanting else _number_again(expand(value, env), whole=value.startswith("{{") and value.endswith("}}"))


def _number_again(text: str, *, whole: bool) -> str | int:
    """A variable that is the whole value of a number's key gives the number."""
    return int(text) if whole and text.isascii() and text.isdecimal() and str(int(text)) == text else text


def _is_late(path: KeyPath) -> bool:
    match path:
        case ("mcp_servers", _, "transport", str() as key):
            return key in _LATE_TRANSPORT_KEYS
        case ("llm_providers", _, "base_url"):
            return True
        case _:
            return False
