"""The directory of TARSy's data: TARSY_DATA_DIR, or the platform's directory for user data."""

from collections.abc import Mapping
from pathlib import Path

import platformdirs

DATA_DIRECTORY_VARIABLE = "TARSY_DATA_DIR"
SERVER_FILE = "server.json"


def default_data_dir() -> Path:
    return platformdirs.user_data_path("tarsy", appauthor=False)


def data_dir_of(env: Mapping[str, str]) -> Path:
    named = env.get(DATA_DIRECTORY_VARIABLE)
    return (Path(named) if named else default_data_dir()).expanduser()
