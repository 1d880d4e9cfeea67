"""What this process runs with: the environment, the `.env` files, the command line."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tarsy.settings import Settings


def process_settings(config_dir: Path | None = None, **overrides: object) -> "Settings":
    """Settings from the environment and from `.env`, here or beside the configuration; what the command line says wins.

    Raises:
        ConfigError: a configuration directory was named that holds none, or a `.env` cannot be read.
        CannotServeError: a variable has a value that means nothing.
    """
    from tarsy.settings import settings_from

    settings = settings_from(process_environment(config_dir), config_dir=config_dir, **overrides)
    # The configuration adds the files by itself, by its own order of precedence.
    return replace(settings, env=os.environ)


def process_environment(config_dir: Path | None = None) -> Mapping[str, str]:
    """The environment and what the `.env` files add to it.

    Raises:
        ConfigError: as above.
    """
    from tarsy.config.load.environment import find_directory, with_dotenv

    return with_dotenv(os.environ, find_directory(config_dir, with_dotenv(os.environ, None)))
