"""Google Cloud credentials, for the SDKs that need an object instead of a key."""

import json
from pathlib import Path
from typing import Any

import google.auth
from google.auth import identity_pool
from google.auth.exceptions import GoogleAuthError
from google.oauth2 import credentials, service_account

from tarsy.llm.access import Access, CredentialsMissingError

_SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]


def google_credentials(access: Access) -> Any:
    """Return credentials for `access`: from its file, or those of the machine (metadata server, gcloud login).

    Raises:
        CredentialsMissingError: there are none, or they cannot be used.
    """
    path = access.credentials
    if path is not None:
        # A service account, a user's login or a workload identity.
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
    if access.local:
        # A local server asks for no token, but the SDKs require one.
        return credentials.Credentials(token="local")  # noqa: S106 - not a secret
    auth: Any = google.auth
    try:
        found, _ = auth.default(scopes=_SCOPES)
    except GoogleAuthError as error:
        raise CredentialsMissingError(f"this machine has no Google Cloud credentials: {error}") from error
    return found
