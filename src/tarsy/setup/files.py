"""Files written all together or not at all, each in one move: a reader never finds half of one."""

import io
import os
import re
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile

import yaml
from dotenv.parser import Binding, parse_stream

from tarsy.config.load.environment import DEFAULT_DIRECTORY
from tarsy.config.load.loader import LoadedConfig
from tarsy.config.schema.configuration import choose_default_provider
from tarsy.config.schema.documents import TARSY_FILE
from tarsy.settings import Settings
from tarsy.setup.recipes import Recipe, with_server
from tarsy.setup.template_files import CannotAddError, CannotMergeError, local_model, merge, planned_files

# A file with keys is for the account that TARSy runs under, and for no other.
SECRET_MODE = 0o600
USUAL_MODE = 0o644


class CannotWriteError(Exception):
    """A file cannot be written; the operator can act."""

    def __init__(self, path: Path, error: OSError) -> None:
        super().__init__(f"{path} cannot be written: {error.strerror or error}")


@dataclass(frozen=True, slots=True)
class FileChange:
    """What a file is to hold. It may be a secret, so it is not shown."""

    path: Path
    text: str
    # For people: the file, and what in it is new, by name.
    told: str
    secret: bool = False

    def __repr__(self) -> str:
        return f"FileChange({self.told})"


@dataclass(frozen=True, slots=True)
class Former:
    """A file as it was; None: there was none."""

    path: Path
    content: bytes | None
    mode: int


def write_all(changes: Sequence[FileChange]) -> tuple[Former, ...]:
    """Write the files and answer with what they were.

    Raises:
        CannotWriteError: one of them cannot be written; the others are as they were.
    """
    done: list[Former] = []
    for change in changes:
        try:
            before = _former(change.path)
            _put(before.path, change.text.encode(), SECRET_MODE if change.secret else before.mode)
        except OSError as error:
            restore(done)
            raise CannotWriteError(change.path, error) from error
        done.append(before)
    return tuple(done)


def restore(formers: Sequence[Former]) -> None:
    """Make the files what they were."""
    for former in reversed(formers):
        # What could be written a moment ago can be written back; if not, the first error is the one to tell.
        with suppress(OSError):
            if former.content is None:
                former.path.unlink()
            else:
                _put(former.path, former.content, former.mode)


def _former(path: Path) -> Former:
    # A link stays a link: what it leads to is written.
    target = path.resolve()
    if not target.exists():
        return Former(target, None, USUAL_MODE)
    return Former(target, target.read_bytes(), stat.S_IMODE(target.stat().st_mode))


def _put(target: Path, content: bytes, mode: int) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    # Made readable for its owner alone, and opened to others, if at all, before it gets its name.
    with NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as written:
        temporary = Path(written.name)
        try:
            written.write(content)
            written.flush()
            os.fsync(written.fileno())
            temporary.chmod(mode)
            temporary.replace(target)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise


# What needs no quotes, whatever reads the file.
_PLAIN = re.compile(r"[A-Za-z0-9_./:@%+,=~-]+")
# Longer than any key, token, path or address that a person would paste.
MAX_VALUE = 4000


class ValueRefusedError(ValueError):
    """The value cannot stand in a `.env` file; the person who typed it can act. Never holds the value."""


def with_variable(text: str, name: str, value: str) -> str:
    """The text with `name` set to `value`: in its old place, or on a line of its own at the end.

    Raises:
        ValueRefusedError: the value has characters that no key, path or address has.
    """
    line = f"{name}={_quoted(name, value)}\n"
    bindings = list(parse_stream(io.StringIO(text)))
    if not any(binding.key == name for binding in bindings):
        return f"{text}{'' if not text or text.endswith(chr(10)) else chr(10)}{line}"
    # The last of several counts; the earlier ones would only mislead a reader.
    last = max(place for place, binding in enumerate(bindings) if binding.key == name)
    return "".join(_rewritten(binding, line if place == last else "", name) for place, binding in enumerate(bindings))


def _rewritten(binding: Binding, line: str, name: str) -> str:
    if binding.key != name:
        return binding.original.string
    # Blank lines before an entry are part of what was read as the entry.
    blank = re.match(r"(?:[^\S\n]*\n)*", binding.original.string)
    return f"{blank.group() if blank else ''}{line}"


def _quoted(name: str, value: str) -> str:
    if not value or len(value) > MAX_VALUE or not value.isprintable() or set(value) & {"'", "\\"}:
        raise ValueRefusedError(f"The value for {name} is empty, too long, or has a line break, a quote or a backslash in it.")
    return value if _PLAIN.fullmatch(value) else f"'{value}'"


LOCAL = "local-model"
# What the template would otherwise leave as a person has written it.
_LOCAL_REPLACED = ("llm_providers.local.base_url", "llm_providers.local.model", "defaults.llm_provider")


class StepRefusedError(Exception):
    """A step cannot be taken as it was asked for; the person who asked can act."""


@dataclass(frozen=True, slots=True)
class Drafts:
    """Every method raises StepRefusedError where a file cannot be read or added to, or a value cannot be kept where it would count."""

    settings: Settings
    # The configuration in force.
    loaded: LoadedConfig

    @property
    def _directory(self) -> Path:
        return self.loaded.directory or self.settings.config_dir or DEFAULT_DIRECTORY

    def key(self, variable: str, key: str, provider: str) -> list[FileChange]:
        """A vendor's key, and what makes its provider the one that is asked."""
        return [*self._variables({variable: key}), *self._preferring(provider, {**self.loaded.env, variable: key})]

    def tool_server(self, recipe: Recipe, fields: Mapping[str, str]) -> list[FileChange]:
        loaded = self.loaded
        wanted = {variable: value for variable, value in fields.items() if loaded.env.get(variable) != value}
        changes = list(self._variables(wanted))
        if recipe.entry is None:
            return changes
        path = self._directory / TARSY_FILE
        try:
            text = with_server(_text(path), recipe, loaded.config)
        except (CannotMergeError, yaml.YAMLError) as error:
            raise StepRefusedError(f"{path} cannot be added to: {_sentence(error)}") from error
        return [*changes, FileChange(path, text, f"{path}: mcp_servers.{recipe.server}, and the agents that use it")]

    def local_model(self, url: str, model: str) -> list[FileChange]:
        try:
            planned = planned_files(LOCAL, self._directory, local_model(url, model), replaced=_LOCAL_REPLACED)
        except CannotAddError as error:
            raise StepRefusedError(str(error)) from error
        except OSError as error:
            raise StepRefusedError(f"{error.filename} cannot be read: {error.strerror}") from error
        return [FileChange(file.path, file.text, f"{file.path}: llm_provider local") for file in planned]

    def _preferring(self, name: str, env: Mapping[str, str]) -> list[FileChange]:
        """What makes a provider the one that is asked; nothing where it will be anyway."""
        config = self.loaded.config
        if (config.defaults.llm_provider or choose_default_provider(config.llm_providers, env)) == name:
            return []
        path = self._directory / TARSY_FILE
        try:
            merged = merge(_text(path), f"defaults:\n  llm_provider: {name}\n", replaced=["defaults.llm_provider"])
        except CannotMergeError as error:
            raise StepRefusedError(f"{path} cannot be added to: {_sentence(error)}") from error
        return [FileChange(path, merged.text, f"{path}: defaults.llm_provider")]

    def _variables(self, wanted: Mapping[str, str]) -> Sequence[FileChange]:
        """The `.env` with these variables: the one that has them, else the one in the working directory."""
        if not wanted:
            return ()
        if held := sorted(name for name in wanted if self.settings.env.get(name)):
            raise StepRefusedError(
                f"{held[0]} is set in the environment that TARSy was started with, which counts for more than .env. Change it there and start TARSy again."
            )
        path = self._env_file(wanted)
        text = _text(path)
        try:
            for name, value in wanted.items():
                text = with_variable(text, name, value)
        except ValueRefusedError as error:
            raise StepRefusedError(str(error)) from error
        return (FileChange(path, text, f"{path}: {', '.join(wanted)}", secret=True),)

    def _env_file(self, wanted: Mapping[str, str]) -> Path:
        """What stands beside the configuration counts for more than what stands in the working directory."""
        beside = self._directory / ".env"
        lines = _text(beside).splitlines()
        return beside if any(line.strip().startswith(tuple(wanted)) for line in lines) else Path(".env")


def _text(path: Path) -> str:
    """What a file holds; nothing if there is none."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise StepRefusedError(f"{path} cannot be read: {_sentence(error)}") from error


def _sentence(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
