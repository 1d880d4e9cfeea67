"""Where TARSy keeps what it must not lose, unless TARSY_DATA_DIR names another place."""

from collections.abc import Mapping
from pathlib import Path

DATA_DIRECTORY_VARIABLE = "TARSY_DATA_DIR"


def default_data_dir() -> Path:
    import platformdirs  # noqa: PLC0415 - needed only where no directory is configured

    return platformdirs.user_data_path("tarsy", appauthor=False)


def data_dir_of(env: Mapping[str, str]) -> Path:
    named = env.get(DATA_DIRECTORY_VARIABLE)
    return (Path(named) if named else default_data_dir()).expanduser()
