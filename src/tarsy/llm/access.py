"""How a model is reached: key, credentials, address, looked up in the environment at the moment of the call. Pure module."""

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
    """A call cannot be made without a setting; the message names it for the operator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Everything that tells one connection from another: SDK clients are shared exactly by those whose access is equal."""

    type: ProviderType
    api_key: str | None = field(default=None, repr=False)
    # Path of a service account file; None: whatever the machine itself offers.
    credentials: str | None = None
    project: str | None = None
    location: str | None = None
    base_url: str | None = None
    # A server on our side of the firewall seldom asks for a key.
    local: bool = False

    def censor(self, text: str) -> str:
        """Take the key out of a text that may quote it; what a local server is given instead of one is a word that texts are made of."""
        return text.replace(self.api_key, "***") if self.api_key and len(self.api_key) >= _SHORTEST_KEY else text


def resolve_access(
    provider: ResolvedProvider, env: Mapping[str, str], *, project: str | None = None, location: str | None = None
) -> Access:
    """Look up what `provider` names; `project` and `location` win when the caller knows them already.

    Raises:
        CredentialsMissingError: a variable that the call needs is not set.
    """
    base_url = _base_url(provider, env)
    local = base_url is not None and is_local(base_url, {})
    if provider.type is ProviderType.VERTEXAI:
        return Access(
            type=provider.type,
            credentials=env.get(provider.credentials_env or USUAL_CREDENTIALS) or None,
            project=project or _project(provider, env, local=local),
            location=location or env.get(provider.location_env or USUAL_LOCATION) or DEFAULT_LOCATION,
            base_url=base_url,
            local=local,
        )
    return Access(type=provider.type, api_key=_api_key(provider, env, local=local), base_url=base_url, local=local)


def _base_url(provider: ResolvedProvider, env: Mapping[str, str]) -> str | None:
    if not provider.base_url:
        return None
    try:
        address = expand(provider.base_url, env)
    except MissingVariableError as error:
        raise CredentialsMissingError(f"the provider {provider.name} has no address: {error}") from error
    if not _is_web_address(address):
        raise CredentialsMissingError(
            f"the provider {provider.name} has no address: what its base_url says is none (http://host or https://host)"
        )
    return address


def _is_web_address(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _api_key(provider: ResolvedProvider, env: Mapping[str, str], *, local: bool) -> str | None:
    name = provider.api_key_env or USUAL_KEYS.get(provider.type)
    if name is None:
        return None
    key = env.get(name, "").strip()
    if not key and not local:
        raise CredentialsMissingError(f"the provider {provider.name} has no key: set the environment variable {name}")
    if not (key.isascii() and key.isprintable()):
        # It cannot be sent, and the HTTP library that says so quotes it.
        raise CredentialsMissingError(f"the provider {provider.name} has no key: {name} holds more than one line of plain characters")
    return key or None


def _project(provider: ResolvedProvider, env: Mapping[str, str], *, local: bool) -> str:
    name = provider.project_env or USUAL_PROJECT
    project = env.get(name, "").strip()
    if not project and not local:
        raise CredentialsMissingError(f"the provider {provider.name} has no project: set the environment variable {name}")
    return project or "local"
