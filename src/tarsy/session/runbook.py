"""Runbooks by address: fetched from allowed domains only, bounded, cached. A failure is a warning, never the end of a session."""

from dataclasses import dataclass, field

import anyio
import httpx
import structlog
from cachetools import TTLCache

from tarsy.kit.clock import Clock, SystemClock

log = structlog.get_logger(__name__)

# A runbook is a page of advice; half a megabyte is already more than a model should read before it starts.
MAX_BYTES = 512 * 1024
# Enough for every alert type of a large installation, and bounded: at most 32 MiB.
_MAX_CACHED = 64
_MAX_REDIRECTS = 5
_TEXT_TYPES = frozenset({"application/json", "application/yaml", "application/x-yaml", "application/markdown", "application/octet-stream"})
_GITHUB_HOSTS = frozenset({"github.com", "www.github.com", "raw.githubusercontent.com"})
_RAW_HOST = "raw.githubusercontent.com"


class RunbookRefusedError(Exception):
    """A runbook cannot be fetched; the message is shown on the session."""


@dataclass(frozen=True, slots=True)
class Runbook:
    """A runbook's text and where it is from; `warning` is why it is not the requested one."""

    text: str
    # The address it was fetched from, or None for the default text.
    source: str | None = None
    warning: str | None = None


@dataclass(slots=True)
class RunbookSource:
    """Fetches runbooks."""

    allowed_domains: tuple[str, ...] = ("github.com", "raw.githubusercontent.com")
    github_token: str | None = field(default=None, repr=False)
    cache_ttl: float = 60.0
    # For the whole fetch, redirects included: the session waits for it.
    timeout: float = 10.0
    clock: Clock = field(default_factory=SystemClock)
    # Texts by address.
    _cache: TTLCache[str, str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._cache = TTLCache(_MAX_CACHED, self.cache_ttl, timer=self.clock.monotonic)

    def allows(self, url: str) -> bool:
        """Whether a runbook may be fetched from there."""
        try:
            self._allowed(url)
        except RunbookRefusedError:
            return False
        return True

    async def fetch(self, url: str | None, default: str) -> Runbook:
        """Return the runbook at `url`, or `default` with a warning if it cannot be fetched."""
        if not url or not url.strip():
            return Runbook(default)
        try:
            address = raw_url(self._allowed(url))
            key = str(address)
            text = self._cache.get(key)
            if text is None:
                text = self._cache[key] = await self._download(address)
        except RunbookRefusedError as refusal:
            log.warning("runbook.not_fetched", reason=str(refusal))
            return Runbook(default, warning=f"The alert's runbook was not used: {refusal}. The default runbook stands in for it.")
        return Runbook(text, source=_without_query(address))

    def _allowed(self, text: str) -> httpx.URL:
        """Parse and check an address."""
        hosts = frozenset(domain.strip().rstrip(".").lower() for domain in self.allowed_domains)
        # Allowing GitHub allows the host that serves its files.
        return allowed_url(text, hosts | {_RAW_HOST} if "github.com" in hosts else hosts)

    async def _download(self, address: httpx.URL) -> str:
        """Return the text at an address, following redirects to allowed ones."""
        shown = _without_query(address)
        try:
            with anyio.fail_after(self.timeout):
                async with httpx.AsyncClient(timeout=self.timeout, follow_redirects=False) as client:
                    for _ in range(_MAX_REDIRECTS + 1):
                        # Plain bytes only: a compressed answer could unpack to any size.
                        headers = {"Accept": "text/plain, text/*;q=0.9, */*;q=0.1", "Accept-Encoding": "identity"}
                        headers |= credentials_for(address, self.github_token)
                        async with client.stream("GET", address, headers=headers) as response:
                            if response.next_request is None:
                                return await _text_of(response, with_token=self.github_token is not None)
                            target = response.next_request.url
                        if address.scheme == "https" and target.scheme != "https":
                            raise RunbookRefusedError(f"{_without_query(address)} redirects to an unencrypted address")
                        address = self._allowed(str(target))
        except TimeoutError as error:
            raise RunbookRefusedError(f"{shown} did not answer within {self.timeout:g} s") from error
        except (httpx.HTTPError, UnicodeError) as error:
            reason = str(error) or type(error).__name__
            raise RunbookRefusedError(f"{shown} cannot be reached: {reason}") from error
        raise RunbookRefusedError(f"{_without_query(address)} redirects too often")


async def _text_of(response: httpx.Response, *, with_token: bool) -> str:
    """Read an answer, and check that it is text of a reasonable size."""
    url, headers = response.request.url, response.headers
    address = _without_query(url)
    if not response.is_success:
        # GitHub hides private files behind 404.
        is_private = response.status_code in {401, 403, 404} and url.host.lower() in _GITHUB_HOSTS and not with_token
        hint = " (a private repository needs a token: system.github.token_env)" if is_private else ""
        raise RunbookRefusedError(f"{address} answered {response.status_code}{hint}")
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise RunbookRefusedError(f"{address} answered with compressed data although asked not to")
    kind = headers.get("content-type", "text/plain").partition(";")[0].strip().lower()
    if kind == "text/html":
        raise RunbookRefusedError(f"{address} is a web page, not a text file")
    if not kind.startswith("text/") and kind not in _TEXT_TYPES:
        raise RunbookRefusedError(f"{address} is {kind}, not text")
    content = bytearray()
    async for chunk in response.aiter_raw():
        content += chunk
        if len(content) > MAX_BYTES:
            raise RunbookRefusedError(f"{address} is larger than {MAX_BYTES // 1024} KiB")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RunbookRefusedError(f"{address} is not text") from error
    if "\0" in text:
        raise RunbookRefusedError(f"{address} is not text")
    if not text.strip():
        raise RunbookRefusedError(f"{address} is empty")
    return text


def allowed_url(text: str, hosts: frozenset[str]) -> httpx.URL:
    """Parse an address and check that it may be fetched.

    Raises:
        RunbookRefusedError: it is no web address, or its host is not allowed.
    """
    try:
        url = httpx.URL(text.strip())
        host = url.host
    # The last if the host is an international name that cannot be decoded.
    except (httpx.InvalidURL, TypeError, UnicodeError) as error:
        raise RunbookRefusedError(f"the address cannot be read: {error}") from error
    if url.scheme not in {"http", "https"} or not host:
        raise RunbookRefusedError("only http and https addresses are fetched")
    if url.userinfo:
        raise RunbookRefusedError("addresses with credentials are not fetched")
    if host.rstrip(".").lower() not in hosts:
        raise RunbookRefusedError(f"{host} is not among the allowed domains (system.runbooks.allowed_domains)")
    return url


def raw_url(url: httpx.URL) -> httpx.URL:
    """Return the address of a file's text for one that shows it as a page on GitHub; any other address as it is."""
    if url.host.lower() not in {"github.com", "www.github.com"}:
        return url
    # Still encoded: a decoded "?", "#" or line break would not be part of the path.
    match url.raw_path.partition(b"?")[0].split(b"/", 4):
        case [b"", owner, repository, b"blob" | b"raw", rest] if rest:
            return url.copy_with(host=_RAW_HOST, raw_path=b"/".join([b"", owner, repository, rest]), fragment=None)
        case _:
            return url


def credentials_for(url: httpx.URL, github_token: str | None) -> dict[str, str]:
    """Return the headers that authenticate us: only to GitHub, and only encrypted."""
    if github_token and url.host.lower() in _GITHUB_HOSTS and url.scheme == "https" and url.port is None:
        return {"Authorization": f"Bearer {github_token}"}
    return {}


def _without_query(url: httpx.URL) -> str:
    """Return an address as it may be shown: a query can contain a token."""
    return str(url.copy_with(query=None, fragment=None, userinfo=b""))
