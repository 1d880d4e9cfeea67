"""Which runbook addresses may be asked, in which form, and with which credentials. Pure module."""

from tarsy.kit.imports import absent

# Its command line, which it would load with all that colours it, is of no use here.
with absent("rich"):
    import httpx

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
