"""Google Cloud credentials for the SDKs that want an object instead of a key."""

from typing import Any

import google.auth
from google.oauth2.credentials import Credentials

from tarsy.llm.access import Access, CredentialsMissingError

_SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]


def google_credentials(access: Access) -> Any:
    """Credentials for `access`; None leaves the search to the SDK (metadata server, gcloud login).

    Raises:
        CredentialsMissingError: the credentials file cannot be used.
    """
    if access.credentials is None:
        # A local server asks for no token, but the SDKs insist on having one to send.
        return Credentials(token="local") if access.local else None  # noqa: S106 - not a secret
    load: Any = google.auth.load_credentials_from_file  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - the library is untyped
    try:
        credentials, _ = load(access.credentials, scopes=_SCOPES)
    except Exception as error:
        raise CredentialsMissingError(f"the credentials file {access.credentials} cannot be used: {error}") from error
    return credentials
