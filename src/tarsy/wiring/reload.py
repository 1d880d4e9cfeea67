"""Reloading the configuration while the program runs. A configuration with problems changes nothing."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime

import anyio
import structlog
from anyio import to_thread

from tarsy.api.auth import check_bind
from tarsy.api.tokens import TokenSettingError, read_tokens
from tarsy.config.load.display import Differences, differences
from tarsy.config.load.loader import LoadedConfig, load_config
from tarsy.config.problems import ConfigError, Problem
from tarsy.kit.auto_reset_event import AutoResetEvent
from tarsy.kit.clock import Clock
from tarsy.settings import API_TOKENS, Settings
from tarsy.skills.sync import fetch_skills

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class FailedReload:
    """A reload that changed nothing, because the configuration has problems."""

    error: ConfigError
    at: datetime


class Reload:
    """Loads the files, checks them as a start would, and applies them; one reload at a time."""

    def __init__(self, settings: Settings, loaded: LoadedConfig, *, clock: Clock) -> None:
        self._settings = settings
        self._loaded = loaded
        self._clock = clock
        self._lock = anyio.Lock()
        self._requested = AutoResetEvent()
        self._apply: Callable[[LoadedConfig, Settings], None] | None = None
        self._prepare: Callable[[LoadedConfig], Awaitable[None]] | None = None
        # The last reload, if it failed.
        self.failure: FailedReload | None = None

    def set_target(
        self, apply: Callable[[LoadedConfig, Settings], None], *, prepare: Callable[[LoadedConfig], Awaitable[None]] | None = None
    ) -> None:
        """Set the function that applies a configuration, and one that prepares it and may raise ConfigError."""
        self._apply = apply
        self._prepare = prepare

    @property
    def loaded(self) -> LoadedConfig:
        """The configuration in force."""
        return self._loaded

    def request(self) -> None:
        """Request a reload by `run`, from code that cannot wait: a signal, a notification."""
        self._requested.set()

    async def run(self) -> None:
        """Do the requested reloads, until cancelled."""
        while True:
            await self._requested.wait()
            try:
                await self()
            except ConfigError:
                # It is logged, and shown as a warning until a reload succeeds.
                continue
            except Exception:  # the configuration in force stays in force, and the process goes on with it
                log.exception("config.not_reloaded")

    async def __call__(self) -> Differences:
        """Load and apply the files, and return what changed.

        Raises:
            ConfigError: they have problems; nothing has changed.
        """
        async with self._lock:
            try:
                settings, loaded = await to_thread.run_sync(self._read)
                if self._prepare:
                    await self._prepare(loaded)
            except ConfigError as error:
                self.failure = FailedReload(error, self._clock.now())
                log.error("config.refused", problems=[str(problem) for problem in error.problems])  # noqa: TRY400 - the operator's mistake, not ours
                raise
            found = differences(self._loaded, loaded)
            if self._apply:
                self._apply(loaded, settings)
            self._settings, self._loaded, self.failure = settings, loaded, None
        log.info("config.reloaded", added=found.added, changed=found.changed, removed=found.removed, at_next_start=found.at_next_start)
        return found

    def _read(self) -> tuple[Settings, LoadedConfig]:
        fetch_skills(self._settings.config_dir, self._settings.env)
        loaded = load_config(self._settings.config_dir, self._settings.env)
        settings = self._settings
        if loaded.env.get(API_TOKENS) != self._loaded.env.get(API_TOKENS):
            settings = replace(settings, api_tokens=loaded.env.get(API_TOKENS) or None)
        # A reload must not open an address that a start would refuse to open.
        try:
            tokens = read_tokens(settings.api_tokens)
        except TokenSettingError as error:
            raise ConfigError([Problem(API_TOKENS, 0, "", str(error))]) from error
        refusal = check_bind(settings.host, tokens, loaded.config.system, insecure=settings.insecure)
        if refusal:
            raise ConfigError([Problem(loaded.place, 0, "", refusal)])
        return settings, loaded
