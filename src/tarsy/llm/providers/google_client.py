"""Google Cloud credentials for the SDKs that want an object instead of a key. Imported on first use."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import google.auth
import httpx
from google.auth import identity_pool
from google.auth.exceptions import GoogleAuthError
from google.genai import Client, types
from google.oauth2 import credentials, service_account

from tarsy.domain.llm import ProviderType
from tarsy.llm.access import Access, CredentialsMissingError
from tarsy.llm.failures import HOOKS

_SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]


def google_credentials(access: Access) -> Any:
    """Credentials for `access`: from its file, or whatever the machine itself offers (metadata server, gcloud login).

    Raises:
        CredentialsMissingError: there are none, or they cannot be used.
    """
    if access.credentials is not None:
        return _from_file(access.credentials)
    if access.local:
        # A local server asks for no token, but the SDKs insist on having one to send.
        return credentials.Credentials(token="local")  # noqa: S106 - not a secret
    auth: Any = google.auth
    try:
        found, _ = auth.default(scopes=_SCOPES)
    except GoogleAuthError as error:
        raise CredentialsMissingError(f"this machine has no Google Cloud credentials: {error}") from error
    return found


def _from_file(path: str) -> Any:
    """Read a service account, a user's login or a workload identity."""
    kinds: dict[str, Any] = {
        "service_account": service_account.Credentials.from_service_account_info,  # pyright: ignore[reportUnknownMemberType] - untyped library
        "authorized_user": credentials.Credentials.from_authorized_user_info,  # pyright: ignore[reportUnknownMemberType] - untyped library
        "external_account": identity_pool.Credentials.from_info,  # pyright: ignore[reportUnknownMemberType] - untyped library
    }
    try:
        info = json.loads(Path(path).read_text(encoding="utf-8"))
        return kinds[info["type"]](info, scopes=_SCOPES)
    except (GoogleAuthError, OSError, ValueError, KeyError, TypeError) as error:
        raise CredentialsMissingError(f"the credentials file {path} cannot be used: {error!r}") from error


# The HTTP library allows a hundred by default, and every agent of every session may be talking at once.
_LIMITS = httpx.Limits(max_connections=1000, max_keepalive_connections=100)


@dataclass(frozen=True, slots=True)
class GoogleClient:
    """The SDK's client and the connections under it, which the SDK leaves to us because we brought them."""

    sdk: Client
    http: httpx.AsyncClient

    async def aclose(self) -> None:
        await self.http.aclose()
        self.sdk.close()


def make_client(access: Access) -> GoogleClient:
    """A client for `access`.

    Raises:
        CredentialsMissingError: the credentials file cannot be used.
    """
    http = httpx.AsyncClient(limits=_LIMITS, timeout=None, follow_redirects=True, event_hooks=HOOKS)  # noqa: S113 - the seconds are counted in one place, ours
    # So are the retries.
    once = types.HttpRetryOptions(attempts=1)
    options = types.HttpOptions(base_url=access.base_url, retry_options=once, httpx_async_client=http)
    if access.type is ProviderType.VERTEXAI:
        where: dict[str, Any] = {"project": access.project, "location": access.location, "credentials": google_credentials(access)}
        return GoogleClient(Client(vertexai=True, http_options=options, **where), http)
    return GoogleClient(Client(vertexai=False, api_key=access.api_key or "none", http_options=options), http)
