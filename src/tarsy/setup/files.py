"""The files that a step of setup changes: what would be written, worked out against the files as they are, and writing all of them or none."""

import io
import re
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import yaml
from dotenv.parser import parse_stream

from tarsy.config.file_names import PROVIDERS_FILE, TARSY_FILE
from tarsy.config.load.environment import DEFAULT_DIRECTORY
from tarsy.config.load.loader import LoadedConfig
from tarsy.config.schema.configuration import choose_default_provider
from tarsy.kit.whole_file import write_whole
from tarsy.settings import Settings
from tarsy.setup.recipes import Recipe, StepRefusedError, with_server
from tarsy.setup.template_files import CannotAddError, CannotMergeError, FileChange, local_model, merge, planned_files

# A file with keys is readable only by the account that TARSy runs under.
SECRET_MODE = 0o600
USUAL_MODE = 0o644
# Characters that need no quotes in a `.env` file, whichever program reads it.
_PLAIN = re.compile(r"[A-Za-z0-9_./:@%+,=~-]+")
# Longer than any key, token, path or address that a person would paste.
MAX_VALUE = 4000
LOCAL = "local-model"
# The variable with the key of one's own model server, as in the template.
LOCAL_KEY = "LOCAL_API_KEY"
_LOCAL_KEY_ENTRY = f"llm_providers:\n  local:\n    api_key_env: {LOCAL_KEY}\n"
# Values that the template replaces, also where a person has written them.
_LOCAL_REPLACED = ("llm_providers.local.base_url", "llm_providers.local.model", "defaults.llm_provider")


class CannotWriteError(Exception):
    """A file cannot be written; the operator can act."""

    def __init__(self, path: Path, error: OSError) -> None:
        super().__init__(f"{path} cannot be written: {error.strerror or error}")


@dataclass(frozen=True, slots=True)
class PreviousFile:
    """A file as it was; without content, it did not exist."""

    path: Path
    content: bytes | None
    mode: int


def write_all(changes: Sequence[FileChange]) -> tuple[PreviousFile, ...]:
    """Write the files and return what they were.

    Raises:
        CannotWriteError: one of them cannot be written; the others are as they were.
    """
    done: list[PreviousFile] = []
    for change in changes:
        try:
            # A link stays a link: its target is written.
            target = change.path.resolve()
            before = PreviousFile(target, None, USUAL_MODE)
            if target.exists():
                before = PreviousFile(target, target.read_bytes(), stat.S_IMODE(target.stat().st_mode))
            write_whole(target, change.content, SECRET_MODE if change.secret else before.mode)
        except OSError as error:
            restore(done)
            raise CannotWriteError(change.path, error) from error
        done.append(before)
    return tuple(done)


def restore(files: Sequence[PreviousFile]) -> None:
    for file in reversed(files):
        # A file that could be written a moment ago can be written back; if not, the first error is the one to report.
        with suppress(OSError):
            if file.content is None:
                file.path.unlink()
            else:
                write_whole(file.path, file.content, file.mode)


def with_variable(text: str, name: str, value: str) -> str:
    """Return the text of a `.env` file with `name` set to `value`: in its old place, or on a new line at the end.

    Raises:
        StepRefusedError: the value has characters that no key, path or address has.
    """
    if not value or len(value) > MAX_VALUE or not value.isprintable() or set(value) & {"'", "\\"}:
        raise StepRefusedError(f"The value for {name} is empty, too long, or has a line break, a quote or a backslash in it.")
    quoted = value if _PLAIN.fullmatch(value) else f"'{value}'"
    line = f"{name}={quoted}\n"
    bindings = list(parse_stream(io.StringIO(text)))
    places = [place for place, binding in enumerate(bindings) if binding.key == name]
    if not places:
        return f"{text}{'' if not text or text.endswith(chr(10)) else chr(10)}{line}"
    parts = [binding.original.string for binding in bindings]
    for place in places:
        # Blank lines before an entry are parsed as a part of it.
        blank = re.match(r"(?:[^\S\n]*\n)*", parts[place])
        # The last of several counts; the earlier ones would only mislead a reader.
        parts[place] = f"{blank.group() if blank else ''}{line if place == places[-1] else ''}"
    return "".join(parts)


@dataclass(frozen=True, slots=True)
class Drafts:
    """The changes that steps would make. Every method raises StepRefusedError if a file cannot be read or added to, or a value would not take effect."""

    settings: Settings
    # The current configuration.
    loaded: LoadedConfig

    @property
    def _directory(self) -> Path:
        return self.loaded.directory or self.settings.config_dir or DEFAULT_DIRECTORY

    def changes_for_key(self, variable: str, key: str, provider: str) -> list[FileChange]:
        """Return the changes that set a vendor's key and, unless it is the default anyway, make its provider the default one."""
        changes = self._variables({variable: key})
        config, env = self.loaded.config, {**self.loaded.env, variable: key}
        if (config.defaults.llm_provider or choose_default_provider(config.llm_providers, env)) == provider:
            return changes
        path = self._directory / TARSY_FILE
        try:
            merged = merge(_text(path), f"defaults:\n  llm_provider: {provider}\n", replaced=["defaults.llm_provider"])
        except CannotMergeError as error:
            raise StepRefusedError(f"{path} cannot be extended: {_sentence(error)}") from error
        return [*changes, FileChange(path, merged.text, f"{path}: defaults.llm_provider")]

    def changes_for_tool_server(self, recipe: Recipe, fields: Mapping[str, str]) -> list[FileChange]:
        """Return the changes that set the variables of a recipe and, if it has an entry, add its tool server to the agents that use it."""
        loaded = self.loaded
        changes = self._variables({variable: value for variable, value in fields.items() if loaded.env.get(variable) != value})
        if recipe.entry is None:
            return changes
        path = self._directory / TARSY_FILE
        try:
            text = with_server(_text(path), recipe, loaded.config)
        except (CannotMergeError, yaml.YAMLError) as error:
            raise StepRefusedError(f"{path} cannot be extended: {_sentence(error)}") from error
        return [*changes, FileChange(path, text, f"{path}: mcp_servers.{recipe.server}, and the agents that use it")]

    def changes_for_local_model(self, url: str, model: str, key: str = "") -> list[FileChange]:
        """Return the changes that make a model at an OpenAI-compatible address the default one, and set its key."""
        try:
            planned = planned_files(LOCAL, self._directory, local_model(url, model), replaced=_LOCAL_REPLACED)
            if key:
                planned = tuple(
                    replace(file, text=merge(file.text, _LOCAL_KEY_ENTRY, replaced=["llm_providers.local.api_key_env"]).text)
                    if file.path.name == PROVIDERS_FILE
                    else file
                    for file in planned
                )
        except CannotAddError as error:
            raise StepRefusedError(str(error)) from error
        except CannotMergeError as error:
            raise StepRefusedError(f"{self._directory / PROVIDERS_FILE} cannot be extended: {_sentence(error)}") from error
        except OSError as error:
            raise StepRefusedError(f"{error.filename} cannot be read: {error.strerror}") from error
        changes = [replace(file, summary=f"{file.path}: llm_provider local") for file in planned]
        is_new = bool(key) and self.loaded.env.get(LOCAL_KEY) != key
        return [*changes, *self._variables({LOCAL_KEY: key} if is_new else {})]

    def _variables(self, wanted: Mapping[str, str]) -> list[FileChange]:
        """Return the `.env` file with these variables: the one that has them, otherwise the one in the working directory."""
        if not wanted:
            return []
        if held := sorted(name for name in wanted if self.settings.env.get(name)):
            raise StepRefusedError(
                f"{held[0]} is set in the environment that TARSy was started with, which overrides .env. Change it there and restart TARSy."
            )
        # The file beside the configuration takes precedence over the one in the working directory.
        beside = self._directory / ".env"
        path = beside if any(entry.key in wanted for entry in parse_stream(io.StringIO(_text(beside)))) else Path(".env")
        text = _text(path)
        for name, value in wanted.items():
            text = with_variable(text, name, value)
        return [FileChange(path, text, f"{path}: {', '.join(wanted)}", secret=True)]


def _text(path: Path) -> str:
    """Return the content of a file; empty if it does not exist."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise StepRefusedError(f"{path} cannot be read: {_sentence(error)}") from error


def _sentence(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
