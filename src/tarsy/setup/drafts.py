"""What a step of setting up would write, worked out against the files as they are. Nothing is written here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from tarsy.config.load.environment import DEFAULT_DIRECTORY
from tarsy.config.load.loader import LoadedConfig
from tarsy.config.schema.configuration import choose_default_provider
from tarsy.config.schema.documents import TARSY_FILE
from tarsy.settings import Settings
from tarsy.setup.env_file import ValueRefusedError, with_variable
from tarsy.setup.file_change import FileChange
from tarsy.setup.recipe import Recipe, with_server
from tarsy.setup.template_files import CannotAddError, local_model, planned_files
from tarsy.setup.yaml_merge import CannotMergeError, merge

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
