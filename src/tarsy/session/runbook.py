"""Runbooks by address: fetched from allowed domains only, bounded, cached. A failure is a warning, never the end of a session."""

from collections import OrderedDict
from dataclasses import dataclass, field

import structlog

from tarsy.kit.clock import Clock, SystemClock
from tarsy.kit.imports import load

log = structlog.get_logger(__name__)

# Enough for every alert type of a large installation, and bounded: at most 32 MiB.
_MAX_CACHED = 64
# With the HTTP library that it needs: most installations name no runbooks, and most processes fetch none.
_DOWNLOAD = "tarsy.session.runbook_download"


@dataclass(frozen=True, slots=True)
class Runbook:
    """A runbook's text and where it is from; `warning` says why it is not the one that was asked for."""

    text: str
    # The address it was fetched from, or None for the default text.
    source: str | None = None
    warning: str | None = None


@dataclass(frozen=True, slots=True)
class _Cached:
    text: str
    expires: float


@dataclass(slots=True)
class RunbookSource:
    """Fetches runbooks."""

    allowed_domains: tuple[str, ...] = ("github.com", "raw.githubusercontent.com")
    github_token: str | None = field(default=None, repr=False)
    cache_ttl: float = 60.0
    # For the whole fetch, redirects included: the session waits for it.
    timeout: float = 10.0
    clock: Clock = field(default_factory=SystemClock)
    _cache: OrderedDict[str, _Cached] = field(default_factory=OrderedDict[str, _Cached], init=False, repr=False)

    async def allows(self, url: str) -> bool:
        """Whether a runbook may be fetched from there."""
        await load(_DOWNLOAD)
        from tarsy.session.runbook_url import is_allowed  # noqa: PLC0415 - just loaded, off the event loop

        return is_allowed(url, self.allowed_domains)

    async def fetch(self, url: str | None, default: str) -> Runbook:
        """The runbook at `url`, or `default` with a warning if it cannot be had."""
        if not url or not url.strip():
            return Runbook(default)
        await load(_DOWNLOAD)
        from tarsy.session.runbook_download import Download  # noqa: PLC0415 - just loaded, off the event loop
        from tarsy.session.runbook_url import RunbookRefusedError, shown  # noqa: PLC0415 - just loaded, off the event loop

        download = Download(self.allowed_domains, self.github_token, self.timeout)
        try:
            address = download.address(url)
            text = self._remembered(str(address))
            if text is None:
                text = await download.text(address)
                self._remember(str(address), text)
        except RunbookRefusedError as refusal:
            log.warning("runbook.not_fetched", reason=str(refusal))
            return Runbook(default, warning=f"The alert's runbook was not used: {refusal}. The default runbook stands in for it.")
        return Runbook(text, source=shown(address))

    def _remembered(self, key: str) -> str | None:
        cached = self._cache.get(key)
        return cached.text if cached and cached.expires > self.clock.monotonic() else None

    def _remember(self, key: str, text: str) -> None:
        self._cache[key] = _Cached(text, self.clock.monotonic() + self.cache_ttl)
        self._cache.move_to_end(key)
        if len(self._cache) > _MAX_CACHED:
            self._cache.popitem(last=False)
