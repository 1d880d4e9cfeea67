"""How a model is reached: key, credentials and address, looked up in the environment for each call."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from tarsy.config.resolve.resolved import ResolvedProvider
from tarsy.config.schema.providers import USUAL_KEYS, USUAL_PROJECT, is_local
from tarsy.config.templates import MissingVariableError, expand
from tarsy.domain.llm import ProviderType

USUAL_CREDENTIALS = "GOOGLE_APPLICATION_CREDENTIALS"
USUAL_LOCATION = "GOOGLE_CLOUD_LOCATION"
DEFAULT_LOCATION = "global"
_SHORTEST_KEY = 8


class CredentialsMissingError(Exception):
    """A setting that the call needs is missing; the message names it for the operator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The settings by which one connection differs from another: calls with equal access share an SDK client."""

    type: ProviderType
    api_key: str | None = field(default=None, repr=False)
    # Path of a credentials file; None: those of the machine.
    credentials: str | None = None
    project: str | None = None
    location: str | None = None
    base_url: str | None = None
    # A server inside our network usually asks for no key.
    local: bool = False

    def censor(self, text: str) -> str:
        """Remove the key from `text`. A short key stays: a local server's placeholder may be an ordinary word."""
        return text.replace(self.api_key, "***") if self.api_key and len(self.api_key) >= _SHORTEST_KEY else text


def resolve_access(
    provider: ResolvedProvider, env: Mapping[str, str], *, project: str | None = None, location: str | None = None
) -> Access:
    """Look up the variables that `provider` names. `project` and `location` take precedence over them.

    Raises:
        CredentialsMissingError: a variable that the call needs is not set.
    """
    base_url = _base_url(provider, env)
    local = base_url is not None and is_local(base_url, {})
    if provider.type is not ProviderType.VERTEXAI:
        name = provider.api_key_env or USUAL_KEYS.get(provider.type)
        key = env.get(name, "").strip() if name else ""
        if name and not key and not local:
            raise CredentialsMissingError(f"the provider {provider.name} has no key: set the environment variable {name}")
        if not (key.isascii() and key.isprintable()):
            # It cannot be sent, and the HTTP library would quote it in its error.
            raise CredentialsMissingError(
                f"the provider {provider.name} has no key: {name} has more than one line, or characters that a key cannot have"
            )
        return Access(type=provider.type, api_key=key or None, base_url=base_url, local=local)
    name = provider.project_env or USUAL_PROJECT
    project = project or env.get(name, "").strip()
    if not project and not local:
        raise CredentialsMissingError(f"the provider {provider.name} has no project: set the environment variable {name}")
    return Access(
        type=provider.type,
        credentials=env.get(provider.credentials_env or USUAL_CREDENTIALS) or None,
        project=project or "local",
        location=location or env.get(provider.location_env or USUAL_LOCATION) or DEFAULT_LOCATION,
        base_url=base_url,
        local=local,
    )


def _base_url(provider: ResolvedProvider, env: Mapping[str, str]) -> str | None:
    if not provider.base_url:
        return None
    try:
        address = expand(provider.base_url, env)
    except MissingVariableError as error:
        raise CredentialsMissingError(f"the provider {provider.name} has no address: {error}") from error
    if not address.strip():
        # A variable that is empty gives no address, like `base_url` left out.
        return None
    try:
        parts = urlsplit(address)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise CredentialsMissingError(
            f"the provider {provider.name} has no address: its base_url is not one; write http://host or https://host"
        )
    return address
