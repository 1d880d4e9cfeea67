"""OAuth client credentials: access tokens for a tool server from its authorization server, and a new one when the server refuses one."""

from collections import deque
from collections.abc import Callable
from functools import lru_cache
from http import HTTPStatus
from urllib.parse import quote

import anyio
import httpx2
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tarsy.tools.endpoint import MIN_CREDENTIAL, OAuthClient
from tarsy.tools.failures import HttpFailure, current_http_failures

# An authorization server that takes longer is of no use to an agent.
TOKEN_SECONDS = 15.0
# How many tokens are masked: the current one, and earlier ones that a server may still have in its log.
MASKED_TOKENS = 8

# Returns an HTTP client that records failures, for the authorization server.
NewClient = Callable[[], httpx2.AsyncClient]


class NoTokenError(httpx2.TransportError):
    """The authorization server gave no token; the failure is recorded."""


class _TokenResponse(BaseModel):
    model_config = ConfigDict(extra="ignore")

    access_token: str = Field(min_length=1)


class TokenSource:
    """The access token of one client; all connections of the process use the same."""

    def __init__(self, client: OAuthClient) -> None:
        self._client = client
        self._lock = anyio.Lock()
        self._token: str | None = None
        self._obtained = deque[str](maxlen=MASKED_TOKENS)

    def obtained(self) -> list[str]:
        """Return the last tokens, to be masked in all output of the server."""
        return list(self._obtained)

    async def token(self, new_client: NewClient, *, refused: str | None = None) -> str:
        """Return the current token, or a new one if there is none or the server has refused it.

        Raises:
            NoTokenError: there is none.
        """
        async with self._lock:
            if self._token is None or self._token == refused:
                self._token = None
                self._token = await self._request(new_client)
                if len(self._token) >= MIN_CREDENTIAL:
                    self._obtained.append(self._token)
            return self._token

    async def _request(self, new_client: NewClient) -> str:
        client = self._client
        form = {"grant_type": "client_credentials", **dict(client.parameters)} | ({"scope": client.scope} if client.scope else {})
        # RFC 6749, 2.3.1: both are encoded before they are joined.
        credentials = quote(client.client_id, safe=""), quote(client.client_secret, safe="")
        detail = "the response has no access token"
        try:
            with anyio.fail_after(TOKEN_SECONDS):
                async with new_client() as http:
                    response = await http.post(client.token_url, data=form, auth=credentials)
            response.raise_for_status()
            return _TokenResponse.model_validate_json(response.content).access_token
        except httpx2.HTTPError as error:
            raise NoTokenError(str(error)) from error
        except TimeoutError as error:
            detail, cause = f"it took longer than {TOKEN_SECONDS:.0f} s", error
        except ValidationError as error:
            cause = error
        if (http_failures := current_http_failures.get()) is not None:
            http_failures.append(HttpFailure(method="POST", url=client.token_url.partition("?")[0], status=None, detail=detail))
        raise NoTokenError(detail) from cause


@lru_cache(maxsize=256)
def token_source(client: OAuthClient) -> TokenSource:
    """Return the source that all connections with the same settings share."""
    return TokenSource(client)


class AuthorizedTransport(httpx2.AsyncBaseTransport):
    """Sends every request with the token of a client, and once more with a new token if the server refuses it (401)."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, client: OAuthClient, new_client: NewClient) -> None:
        self._inner = inner
        self._source = token_source(client)
        self._new_client = new_client

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        token = await self._source.token(self._new_client)
        request.headers["Authorization"] = f"Bearer {token}"
        response = await self._inner.handle_async_request(request)
        if response.status_code != HTTPStatus.UNAUTHORIZED:
            return response
        await response.aclose()
        request.headers["Authorization"] = f"Bearer {await self._source.token(self._new_client, refused=token)}"
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()
