"""The way to a runbook's text: asked for in the clear, followed where redirects may lead, bounded, and checked to be text."""

from collections.abc import Mapping
from dataclasses import dataclass

import anyio
import httpx

from tarsy.session.runbook_url import RunbookRefusedError, allowed_url, credentials_for, is_github, normalized_domains, raw_url, shown

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
