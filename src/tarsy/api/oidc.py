"""Sign-in with an OpenID Connect provider: the authorization code flow with PKCE, and what an ID token must prove.

https://openid.net/specs/openid-connect-core-1_0.html#CodeFlowAuth
https://www.rfc-editor.org/rfc/rfc9207 (the `iss` parameter)
"""

import hmac
import secrets
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Self, cast
from urllib.parse import quote, unquote, urlencode

import httpx2

from tarsy.config.schema.oidc import OidcConfig
from tarsy.kit.clock import Clock, SystemClock

if TYPE_CHECKING:
    from joserfc.jwk import KeySet

CALLBACK_PATH = "/api/v1/sign-in/callback"
# A person waits for the answer.
REQUEST_SECONDS = 10.0
# Providers change their endpoints rarely, and announce it.
METADATA_SECONDS = 3600.0
# Clocks differ.
LEEWAY_SECONDS = 60
# Signatures with a public key only: a provider that also lists HS256 or `none` must not weaken the check.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")

_UNREACHABLE = "The sign-in provider does not answer properly. Try again in a minute; if that does not help, ask your administrator."
_UNPROVEN = "The answer of the sign-in provider could not be verified, so you are not signed in. Try again, or ask your administrator."
_START_AGAIN = "This sign-in was already used, took too long, or began in another browser. Please start again."


class SignInRefusedError(Exception):
    """Somebody is not signed in. The text is for that person; `reason` is for the log."""

    def __init__(self, message: str, reason: str, status: HTTPStatus = HTTPStatus.FORBIDDEN) -> None:
        super().__init__(message)
        self.reason = reason
        self.status = status


@dataclass(frozen=True, slots=True)
class PendingSignIn:
    """A sign-in whose person is at the provider. The browser keeps it in a cookie, so that nobody else can complete it."""

    state: str
    nonce: str
    verifier: str
    return_to: str

    @classmethod
    def start(cls, return_to: str) -> Self:
        # A path of this server; `//host` and `/\\host` would be another one.
        is_path = return_to.startswith("/") and return_to[1:2] not in {"/", "\\"} and return_to.isprintable()
        return cls(secrets.token_urlsafe(32), secrets.token_urlsafe(32), secrets.token_urlsafe(48), return_to if is_path else "/")

    @classmethod
    def from_cookie(cls, cookie: str) -> Self:
        """Read the value of the cookie.

        Raises:
            SignInRefusedError: there is none, or it has another form.
        """
        try:
            state, nonce, verifier, return_to = cookie.split(".", 3)
        except ValueError as error:
            raise SignInRefusedError(_START_AGAIN, "the browser sent no pending sign-in") from error
        return cls(state, nonce, verifier, unquote(return_to))

    def to_cookie(self) -> str:
        return ".".join((self.state, self.nonce, self.verifier, quote(self.return_to, safe="")))


@dataclass(frozen=True, slots=True)
class ProvenIdentity:
    """The claims of a person, which the provider has signed."""

    claims: Mapping[str, Any]
    id_token: str


class OidcProvider:
    """The configured provider, with its metadata and keys as fetched last."""

    def __init__(self, config: OidcConfig, *, secret: str, dashboard_url: str, clock: Clock | None = None) -> None:
        self._config = config
        self._secret = secret
        self._dashboard_url = dashboard_url.rstrip("/")
        self._clock = clock or SystemClock()
        self._metadata: Mapping[str, Any] = {}
        self._fetched_at = 0.0
        self._keys: KeySet | None = None

    async def metadata(self) -> Mapping[str, Any]:
        """Return the provider's metadata (OpenID Connect Discovery).

        Raises:
            SignInRefusedError: it cannot be fetched, or is that of another issuer.
        """
        now = self._clock.monotonic()
        if self._metadata and now - self._fetched_at < METADATA_SECONDS:
            return self._metadata
        found = await self._fetch(f"{self._config.issuer.rstrip('/')}/.well-known/openid-configuration")
        if found.get("issuer") != self._config.issuer:
            reason = f"the provider calls itself {found.get('issuer')}, and system.oidc.issuer is {self._config.issuer}"
            raise SignInRefusedError(_UNREACHABLE, reason, HTTPStatus.BAD_GATEWAY)
        missing = [name for name in ("authorization_endpoint", "token_endpoint", "jwks_uri") if not found.get(name)]
        if missing:
            raise SignInRefusedError(_UNREACHABLE, f"the provider's metadata lack {', '.join(missing)}", HTTPStatus.BAD_GATEWAY)
        self._metadata, self._fetched_at, self._keys = found, now, None
        return found

    async def authorization_url(self, pending: PendingSignIn) -> str:
        """Return the address at which the person signs in.

        Raises:
            SignInRefusedError: the provider cannot be reached.
        """
        metadata = await self.metadata()
        async with self._client(metadata) as client:
            url, _ = client.create_authorization_url(
                metadata["authorization_endpoint"], state=pending.state, nonce=pending.nonce, code_verifier=pending.verifier
            )
        return url

    async def complete(self, query: Mapping[str, str], pending: PendingSignIn) -> ProvenIdentity:
        """Return who signed in, by the parameters with which the provider sent the browser back.

        Raises:
            SignInRefusedError: the provider refused, or its answer does not prove who signed in, or gives that person no role.
        """
        metadata = await self.metadata()
        if not hmac.compare_digest(query.get("state", "").encode(), pending.state.encode()):
            raise SignInRefusedError(_START_AGAIN, "the state is not that of this browser's sign-in")
        # A second provider that answers in the name of ours (mix-up): a provider that says who it is must be the right one.
        if query.get("iss", None if metadata.get("authorization_response_iss_parameter_supported") else self._config.issuer) != (
            self._config.issuer
        ):
            raise SignInRefusedError(_UNPROVEN, f"the answer comes from the issuer {query.get('iss')}, not from {self._config.issuer}")
        if "code" not in query:
            reason = f"{query.get('error', 'no code')} {query.get('error_description', '')}".strip()
            raise SignInRefusedError("The provider did not sign you in. Try again, or ask your administrator.", reason)
        token = await self._exchange(query["code"], pending.verifier, metadata)
        id_token = token.get("id_token")
        if not isinstance(id_token, str):
            raise SignInRefusedError(_UNPROVEN, "the provider sent no ID token")
        claims = await self._verified(id_token, str(token.get("access_token", "")), pending.nonce, metadata)
        if endpoint := metadata.get("userinfo_endpoint"):
            # Many providers keep names and groups out of ID tokens.
            more = await self._fetch(endpoint, {"Authorization": f"Bearer {token.get('access_token')}"})
            if more.get("sub") != claims["sub"]:
                raise SignInRefusedError(_UNPROVEN, "the user info is about somebody else than the ID token")
            claims = {**more, **claims}
        if self._config.role_of(claims) is None:
            name = self._config.name_of(claims)
            message = (
                f"You are {name} to the sign-in provider, but nothing in your account gives you a role in TARSy. Ask your administrator."
            )
            raise SignInRefusedError(message, f"no rule of system.oidc.roles matches the claims of {name}")
        return ProvenIdentity(claims, id_token)

    async def sign_out_url(self, id_token: str) -> str | None:
        """Return the address at which the person signs out of the provider; None if it has none, or cannot be reached now."""
        try:
            endpoint = (await self.metadata()).get("end_session_endpoint")
        except SignInRefusedError:
            return None
        parameters = {"id_token_hint": id_token, "client_id": self._config.client_id, "post_logout_redirect_uri": self._dashboard_url}
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(parameters)}" if endpoint else None

    async def _exchange(self, code: str, verifier: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
        from authlib.integrations.base_client import OAuthError  # noqa: PLC0415 - large, and few servers have a provider

        try:
            async with self._client(metadata) as client:
                return await client.fetch_token(
                    metadata["token_endpoint"], grant_type="authorization_code", code=code, code_verifier=verifier
                )
        except OAuthError as error:
            raise SignInRefusedError(_START_AGAIN, f"the provider refused the code: {error}") from error
        except (httpx2.HTTPError, ValueError) as error:
            raise SignInRefusedError(_UNREACHABLE, f"the token endpoint failed: {error}", HTTPStatus.BAD_GATEWAY) from error

    async def _verified(self, id_token: str, access_token: str, nonce: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """Return the claims of an ID token whose signature, issuer, audience, times and nonce are right."""
        from authlib.oidc.core import CodeIDToken  # noqa: PLC0415 - large, and few servers have a provider
        from joserfc import jwt  # noqa: PLC0415 - large, and few servers have a provider
        from joserfc.errors import BadSignatureError, InvalidKeyIdError, JoseError  # noqa: PLC0415 - large, and few servers have a provider
        from joserfc.jws import JWSRegistry  # noqa: PLC0415 - large, and few servers have a provider

        offered = metadata.get("id_token_signing_alg_values_supported") or ["RS256"]
        registry = JWSRegistry(algorithms=[name for name in ALGORITHMS if name in offered], strict_check_header=False)
        try:
            try:
                token = jwt.decode(id_token, await self._key_set(metadata), registry=registry)
            except (InvalidKeyIdError, BadSignatureError):
                # The provider may have new keys.
                self._keys = None
                token = jwt.decode(id_token, await self._key_set(metadata), registry=registry)
            client_id = self._config.client_id
            options = {"iss": {"essential": True, "value": self._config.issuer}, "aud": {"essential": True, "value": client_id}}
            parameters = {"nonce": nonce, "client_id": client_id, "access_token": access_token}
            proof: Any = CodeIDToken(token.claims, token.header, options, parameters)
            proof.validate(now=int(self._clock.now().timestamp()), leeway=LEEWAY_SECONDS)
        except (JoseError, ValueError) as error:
            raise SignInRefusedError(_UNPROVEN, f"the ID token is not valid: {error}") from error
        return dict(token.claims)

    async def _key_set(self, metadata: Mapping[str, Any]) -> "KeySet":
        from joserfc.jwk import KeySet  # noqa: PLC0415 - large, and few servers have a provider

        if self._keys is None:
            fetched: Any = await self._fetch(metadata["jwks_uri"])
            if not isinstance(fetched.get("keys"), list):
                raise ValueError(f"{metadata['jwks_uri']} has no list of keys")
            self._keys = KeySet.import_key_set(fetched)
        return self._keys

    async def _fetch(self, url: str, headers: Mapping[str, str] | None = None) -> Mapping[str, Any]:
        try:
            async with httpx2.AsyncClient(timeout=REQUEST_SECONDS, verify=self._tls) as client:
                answer = await client.get(url, headers=dict(headers or {}))
                fetched = answer.raise_for_status().json()
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            raise SignInRefusedError(_UNREACHABLE, f"{url}: {error or type(error).__name__}", HTTPStatus.BAD_GATEWAY) from error
        if not isinstance(fetched, dict):
            raise SignInRefusedError(_UNREACHABLE, f"{url} is not a JSON object", HTTPStatus.BAD_GATEWAY)
        return cast("dict[str, Any]", fetched)

    def _client(self, metadata: Mapping[str, Any]) -> Any:
        from authlib.integrations.httpx_client import AsyncOAuth2Client  # noqa: PLC0415 - large, and few servers have a provider

        methods = metadata.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        return AsyncOAuth2Client(
            client_id=self._config.client_id,
            client_secret=self._secret,
            scope=" ".join(self._config.scopes),
            redirect_uri=self._dashboard_url + CALLBACK_PATH,
            token_endpoint_auth_method="client_secret_basic" if "client_secret_basic" in methods else "client_secret_post",
            code_challenge_method="S256",
            timeout=REQUEST_SECONDS,
            verify=self._tls,
        )

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        """The trusted certificates, read once: that takes longer than a request."""
        return httpx2.create_ssl_context()
