"""Google's SDK client, on AI Studio or Vertex AI."""

from dataclasses import dataclass
from typing import Any

import httpx
from google.genai import Client, types

from tarsy.domain.llm import ProviderType
from tarsy.llm.access import Access
from tarsy.llm.failures import HOOKS
from tarsy.llm.providers.google_credentials import google_credentials
from tarsy.llm.providers.provider import NO_KEY

# The HTTP library's default is a hundred, and every agent of every session may have a call.
_LIMITS = httpx.Limits(max_connections=1000, max_keepalive_connections=100)


@dataclass(frozen=True, slots=True)
class GoogleClient:
    """The SDK's client and its HTTP client, which the SDK does not close because we made it."""

    sdk: Client
    http: httpx.AsyncClient

    async def aclose(self) -> None:
        await self.http.aclose()
        self.sdk.close()


def make_client(access: Access) -> GoogleClient:
    """Make a client for `access`.

    Raises:
        CredentialsMissingError: the credentials file cannot be used.
    """
    http = httpx.AsyncClient(limits=_LIMITS, timeout=None, follow_redirects=True, event_hooks=HOOKS)  # noqa: S113 - time limits are those of `attempts`
    # Retries are those of `attempts`.
    once = types.HttpRetryOptions(attempts=1)
    options = types.HttpOptions(base_url=access.base_url, retry_options=once, httpx_async_client=http)
    if access.type is ProviderType.VERTEXAI:
        where: dict[str, Any] = {"project": access.project, "location": access.location, "credentials": google_credentials(access)}
        return GoogleClient(Client(vertexai=True, http_options=options, **where), http)
    return GoogleClient(Client(vertexai=False, api_key=access.api_key or NO_KEY, http_options=options), http)
