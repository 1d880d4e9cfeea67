"""Runbooks by address: fetched from allowed domains only, bounded, cached. A failure is a warning, never the end of a session."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field

import anyio
import httpx
import structlog

from tarsy.kit.clock import Clock, SystemClock

log = structlog.get_logger(__name__)

# Enough for every alert type of a large installation, and bounded: at most 32 MiB.
_MAX_CACHED = 64


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
        return is_allowed(url, self.allowed_domains)

    async def fetch(self, url: str | None, default: str) -> Runbook:
        """The runbook at `url`, or `default` with a warning if it cannot be had."""
        if not url or not url.strip():
            return Runbook(default)
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


# A runbook is a page of advice; half a megabyte is already beyond what a model should read before it starts.
MAX_BYTES = 512 * 1024
_MAX_REDIRECTS = 5
_TEXT_TYPES = frozenset({"application/json", "application/yaml", "application/x-yaml", "application/markdown", "application/octet-stream"})


@dataclass(frozen=True, slots=True)
class Download:
    allowed_domains: tuple[str, ...]
    github_token: str | None
    timeout: float

    def address(self, url: str) -> httpx.URL:
        """Where the text is.

        Raises:
            RunbookRefusedError: it may not be fetched from there.
        """
        return raw_url(allowed_url(url, normalized_domains(self.allowed_domains)))

    async def text(self, address: httpx.URL) -> str:
        """The text at an address.

        Raises:
            RunbookRefusedError: it cannot be had, or is none.
        """
        try:
            with anyio.fail_after(self.timeout):
                async with httpx.AsyncClient(timeout=self.timeout, follow_redirects=False) as client:
                    return await self._follow(client, address)
        except TimeoutError as error:
            raise RunbookRefusedError(f"{shown(address)} did not answer within {self.timeout:g} s") from error
        except httpx.HTTPError as error:
            reason = str(error) or type(error).__name__
            raise RunbookRefusedError(f"{shown(address)} cannot be reached: {reason}") from error

    async def _follow(self, client: httpx.AsyncClient, address: httpx.URL) -> str:
        """Ask, and ask again where a redirect leads, if that is allowed too."""
        for _ in range(_MAX_REDIRECTS + 1):
            # Plain bytes only: a compressed answer could unpack to any size.
            headers = {"Accept": "text/plain, text/*;q=0.9, */*;q=0.1", "Accept-Encoding": "identity"}
            async with client.stream("GET", address, headers=headers | credentials_for(address, self.github_token)) as response:
                if response.next_request is None:
                    return await _text_of(response, with_token=self.github_token is not None)
                address = self._redirected(address, response.next_request.url)
        raise RunbookRefusedError(f"{shown(address)} redirects too often")

    def _redirected(self, address: httpx.URL, target: httpx.URL) -> httpx.URL:
        if address.scheme == "https" and target.scheme != "https":
            raise RunbookRefusedError(f"{shown(address)} redirects to an unencrypted address")
        return allowed_url(str(target), normalized_domains(self.allowed_domains))


async def _text_of(response: httpx.Response, *, with_token: bool) -> str:
    address = shown(response.request.url)
    if not response.is_success:
        raise RunbookRefusedError(f"{address} answered {response.status_code}{_hint(response, with_token=with_token)}")
    _check_type(address, response.headers)
    content = bytearray()
    async for chunk in response.aiter_raw():
        content += chunk
        if len(content) > MAX_BYTES:
            raise RunbookRefusedError(f"{address} is larger than {MAX_BYTES // 1024} KiB")
    return _decoded(address, content)


def _decoded(address: str, content: bytearray) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RunbookRefusedError(f"{address} is not text") from error
    if "\0" in text:
        raise RunbookRefusedError(f"{address} is not text")
    if not text.strip():
        raise RunbookRefusedError(f"{address} is empty")
    return text


def _check_type(address: str, headers: Mapping[str, str]) -> None:
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise RunbookRefusedError(f"{address} answered with compressed data although asked not to")
    kind = headers.get("content-type", "text/plain").partition(";")[0].strip().lower()
    if kind == "text/html":
        raise RunbookRefusedError(f"{address} is a web page, not a text file")
    if not kind.startswith("text/") and kind not in _TEXT_TYPES:
        raise RunbookRefusedError(f"{address} is {kind}, not text")


def _hint(response: httpx.Response, *, with_token: bool) -> str:
    """GitHub hides private files behind 404: say what would open them."""
    if with_token or response.status_code not in {401, 403, 404} or not is_github(response.request.url):
        return ""
    return " (a private repository needs a token: system.github.token_env)"


_GITHUB_HOSTS = frozenset({"github.com", "www.github.com", "raw.githubusercontent.com"})
_RAW_HOST = "raw.githubusercontent.com"


class RunbookRefusedError(Exception):
    """A runbook cannot be had from there; the text says why, for the person who reads the session."""


def allowed_url(text: str, domains: frozenset[str]) -> httpx.URL:
    """Read an address and check it.

    Raises:
        RunbookRefusedError: it is no web address, or leads outside the allowed domains.
    """
    try:
        url = httpx.URL(text.strip())
    except (httpx.InvalidURL, TypeError) as error:
        raise RunbookRefusedError(f"the address cannot be read: {error}") from error
    if reason := _refusal(url, domains):
        raise RunbookRefusedError(reason)
    return url


def is_allowed(text: str, domains: tuple[str, ...]) -> bool:
    try:
        allowed_url(text, normalized_domains(domains))
    except RunbookRefusedError:
        return False
    return True


def _refusal(url: httpx.URL, domains: frozenset[str]) -> str | None:
    if url.scheme not in {"http", "https"} or not url.host:
        return "only http and https addresses are fetched"
    if url.userinfo:
        return "addresses with credentials are not fetched"
    if url.host.rstrip(".").lower() not in domains:
        return f"{url.host} is not among the allowed domains (system.runbooks.allowed_domains)"
    return None


def normalized_domains(domains: tuple[str, ...]) -> frozenset[str]:
    """The allowed hosts; allowing GitHub allows the host that serves its files."""
    hosts = frozenset(domain.strip().rstrip(".").lower() for domain in domains)
    return hosts | {_RAW_HOST} if "github.com" in hosts else hosts


def raw_url(url: httpx.URL) -> httpx.URL:
    """The address of a file's text, where the one given shows it as a page on GitHub."""
    if url.host.lower() not in {"github.com", "www.github.com"}:
        return url
    match url.path.split("/", 4):
        case ["", owner, repository, "blob" | "raw", rest] if rest:
            return url.copy_with(host=_RAW_HOST, path=f"/{owner}/{repository}/{rest}", query=None, fragment=None)
        case _:
            return url


def credentials_for(url: httpx.URL, github_token: str | None) -> dict[str, str]:
    """The headers that authenticate us: to GitHub, encrypted, and to no other host."""
    if github_token and is_github(url) and url.scheme == "https" and url.port is None:
        return {"Authorization": f"Bearer {github_token}"}
    return {}


def is_github(url: httpx.URL) -> bool:
    return url.host.lower() in _GITHUB_HOSTS


def shown(url: httpx.URL) -> str:
    """An address as it may be shown: a query can carry a token."""
    return str(url.copy_with(query=None, fragment=None, userinfo=b""))
