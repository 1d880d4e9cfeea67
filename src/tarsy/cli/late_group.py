"""A group of commands that costs nothing until one of them is meant: `tarsy --help` only says what it is for."""

from collections.abc import MutableMapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_group


class LateGroup(TyperGroup):
    """The commands of `app` in a module of this package, which is imported with the first look at them."""

    def __init__(self, name: str, module: str, told: str) -> None:
        self._module = module
        self._commands: MutableMapping[str, Any] | None = None
        super().__init__(name=name, help=told, no_args_is_help=True, rich_markup_mode=None)

    @property
    def commands(self) -> MutableMapping[str, Any]:  # pyright: ignore[reportIncompatibleVariableOverride] - it is only read after the group was made
        if self._commands is None:
            app: typer.Typer = import_module(f"tarsy.cli.{self._module}").app
            # As the program itself: its words are plain text.
            app.rich_markup_mode = self.rich_markup_mode
            self._commands = get_group(app).commands
        return self._commands

    @commands.setter
    def commands(self, none_yet: MutableMapping[str, Any]) -> None:
        del none_yet
