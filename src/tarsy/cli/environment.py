"""The settings of a command: the environment, the `.env` files, the command line; and options that several commands have."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tarsy.settings import Settings

ServerUrl = Annotated[
    str | None, typer.Option(envvar="TARSY_URL", help="Address of a running TARSy.", show_default="that of this data directory")
]
Token = Annotated[str | None, typer.Option(envvar="TARSY_TOKEN", help="API token, if the server requires one.")]
DatabaseUrl = Annotated[
    str | None,
    typer.Option(envvar="DATABASE_URL", help="Address of your own PostgreSQL.", show_default="the embedded one", show_envvar=True),
]
DataDir = Annotated[
    Path | None,
    typer.Option(envvar="TARSY_DATA_DIR", help="Where the embedded PostgreSQL keeps its data.", show_default="the user data directory"),
]
Session = Annotated[
    str, typer.Argument(metavar="SESSION", help="The session: its id, the first digits of it, or `latest`.", show_default=False)
]
ConfigDir = Annotated[Path | None, typer.Option(envvar="TARSY_CONFIG_DIR", help="Directory of the configuration files.")]


def process_settings(config_dir: Path | None = None, **overrides: object) -> "Settings":
    """Read the settings from the environment and `.env` files, here or next to the configuration; options of the command line override them.

    Raises:
        ConfigError: a configuration directory was named that holds none, or a `.env` cannot be read.
        CannotServeError: a variable has a value that means nothing.
    """
    from tarsy.settings import settings_from

    settings = settings_from(process_environment(config_dir), config_dir=config_dir, **overrides)
    # The configuration reads the files again, in its own order of precedence.
    return replace(settings, env=os.environ)


def process_environment(config_dir: Path | None = None) -> Mapping[str, str]:
    """Return the environment with the variables that `.env` files add.

    Raises:
        ConfigError: as above.
    """
    from tarsy.config.load.environment import find_directory, with_dotenv

    return with_dotenv(os.environ, find_directory(config_dir, with_dotenv(os.environ, None)))
