"""The settings of one process, from its environment and command line."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tarsy.kit.data_directory import DATA_DIRECTORY_VARIABLE, default_data_dir

API_TOKENS = "TARSY_API_TOKENS"


class ProcessRole(StrEnum):
    """What a process does: everything, serve the API, or work on sessions."""

    ALL = "all"
    API = "api"
    WORKER = "worker"


# Set by the parent of several processes: the name of the process, how many share the work, and the pipe that closes when the parent ends.
PROCESS_NAME = "TARSY_PROCESS_NAME"
SHARING = "TARSY_PROCESSES_SHARING"
LIFELINE = "TARSY_LIFELINE"


class CannotServeError(Exception):
    """The server cannot or must not start with these settings; the text says what to change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of a process. Those of the installation are in the configuration files."""

    env: Mapping[str, str]
    data_dir: Path | None = None
    database_url: str | None = None
    config_dir: Path | None = None
    api_tokens: str | None = None
    llm_service_addr: str | None = None
    # PEM files: the authority to trust, and the certificate to present with its key.
    llm_service_ca: Path | None = None
    llm_service_cert: Path | None = None
    llm_service_key: Path | None = None
    # 1 replays recordings at the speed of the recorded model, 0 without pauses.
    replay_speed: float = 1.0
    role: ProcessRole = ProcessRole.ALL
    host: str = "127.0.0.1"
    port: int = 8080
    insecure: bool = False
    # How many processes of one `tarsy serve` share its workers and connections.
    sharing: int = 1
    # A pipe that closes when the parent of these processes ends.
    lifeline: int | None = None

    @property
    def data_directory(self) -> Path:
        """The data directory; it need not exist."""
        return (self.data_dir or default_data_dir()).expanduser()

    def share(self, whole: int, least: int = 1) -> int:
        """Return the share of this process in `whole`, at least `least`."""
        return max(least, -(-whole // self.sharing))


def settings_from(env: Mapping[str, str], **overrides: object) -> Settings:
    """Read the TARSY_ variables; options of the command line override them.

    Raises:
        CannotServeError: TARSY_REPLAY_SPEED is not a usable number.
    """
    values: dict[str, object] = {
        "data_dir": _path(env.get(DATA_DIRECTORY_VARIABLE)),
        "database_url": env.get("DATABASE_URL") or None,
        "config_dir": _path(env.get("TARSY_CONFIG_DIR")),
        "api_tokens": env.get(API_TOKENS) or None,
        "llm_service_addr": env.get("TARSY_LLM_SERVICE_ADDR") or None,
        "llm_service_ca": _path(env.get("TARSY_LLM_SERVICE_CA")),
        "llm_service_cert": _path(env.get("TARSY_LLM_SERVICE_CERT")),
        "llm_service_key": _path(env.get("TARSY_LLM_SERVICE_KEY")),
        "replay_speed": _speed(env.get("TARSY_REPLAY_SPEED") or "1"),
        "sharing": int(env.get(SHARING) or 1),
        "lifeline": int(env[LIFELINE]) if LIFELINE in env else None,
    }
    given = {name: value for name, value in overrides.items() if value is not None}
    return Settings(env=env, **{**values, **given})  # pyright: ignore[reportArgumentType] - names are those of the fields


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = math.nan
    if not 0 <= speed < math.inf:
        raise CannotServeError(f'TARSY_REPLAY_SPEED is "{text}"; write a number: 1 for the pace of a real model, 0 for no pauses.')
    return speed


def _path(text: str | None) -> Path | None:
    return Path(text) if text else None
