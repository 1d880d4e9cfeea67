"""OAuth client credentials, with tokens of a certified authorization server, which also says which of them are valid."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from support.http_fault_server import HttpFault, http_fault_server
from support.oidc_provider import oidc_provider
from support.opening import opened, server
from support.tunnel import tunnel
from tarsy.config.resolve.resolved import ResolvedMcpServer, ResolvedTransport

CLIENT = ("tarsy agents", "secret: of/agents")
ENCODED = ("tarsy%20agents", "secret%3A%20of%2Fagents")
ENV = {"CLIENT_SECRET": CLIENT[1]}


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    with oidc_provider("http://127.0.0.1:9/callback", "http://127.0.0.1:9/") as address:
        yield address


@asynccontextmanager
async def guarded(issuer: str) -> AsyncGenerator[HttpFault]:
    """A tool server that admits only valid tokens with the scope `tools`."""

    async def admits(authorization: str) -> bool:
        token = authorization.removeprefix("Bearer ")
        async with httpx2.AsyncClient(base_url=issuer, auth=ENCODED, trust_env=False) as http:
            answer = (await http.post("/token/introspection", data={"token": token})).json()
        return answer["active"] and answer.get("scope") == "tools"

    async with http_fault_server() as fault:
        fault.admits = admits
        yield fault


def remote(fault: HttpFault, issuer: str, **more: Any) -> ResolvedMcpServer:
    client = {"token_url": f"{issuer}/token", "client_id": CLIENT[0], "client_secret": "{{.CLIENT_SECRET}}", "scope": "tools"}
    return server("remote", ResolvedTransport.model_validate({"type": "http", "url": fault.url, "oauth": client | more}))


def tokens(fault: HttpFault) -> list[str]:
    """The different tokens that the server was sent, in order."""
    return list(dict.fromkeys(headers["authorization"].removeprefix("Bearer ") for _, _, headers in fault.requests))


async def test_a_refused_token_is_replaced_and_the_call_repeated_without_anybody_noticing(issuer: str) -> None:
    async with guarded(issuer) as fault, opened(remote(fault, issuer), env=ENV) as tools:
        assert (await tools.call("remote.echo", "one")).content == "one"
        async with httpx2.AsyncClient(base_url=issuer, auth=ENCODED, trust_env=False) as http:
            (await http.post("/token/revocation", data={"token": tokens(fault)[-1]})).raise_for_status()
        before = len(tokens(fault))
        assert (await tools.call("remote.echo", "two")).content == "two"
        assert len(tokens(fault)) == before + 1
        async with opened(remote(fault, issuer), env=ENV) as others:
            assert (await others.call("remote.echo", "three")).content == "three"
        assert len(tokens(fault)) == before + 1
        assert fault.calls == ["echo"] * 3


async def test_a_token_that_the_server_repeats_is_masked_also_after_it_was_replaced(issuer: str) -> None:
    async with guarded(issuer) as fault, opened(remote(fault, issuer), env=ENV) as tools:
        await tools.list()
        first = tokens(fault)[-1]
        async with httpx2.AsyncClient(base_url=issuer, auth=ENCODED, trust_env=False) as http:
            (await http.post("/token/revocation", data={"token": first})).raise_for_status()
        await tools.call("remote.echo", "a call that needs a new token")
        second = tokens(fault)[-1]
        assert second != first
        assert (await tools.call("remote.echo", f"refused {first}, then {second}.")).content == (
            "refused [MASKED_CREDENTIAL], then [MASKED_CREDENTIAL]."
        )


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"client_id": "nobody"}, "does not accept our credentials (HTTP 401 to POST {issuer}/token"),
        ({"parameters": {"grant_type": "nonsense"}}, "is not available: HTTP 400 to POST {issuer}/token: "),
        ({"token_url": "http://127.0.0.1:9/token"}, "is not available: no answer to POST http://127.0.0.1:9/token"),
    ],
)
async def test_an_authorization_server_that_gives_no_token_is_named_with_its_reason(issuer: str, more: dict[str, Any], reason: str) -> None:
    async with guarded(issuer) as fault, opened(remote(fault, issuer, **more), env=ENV) as tools:
        (warning,) = (await tools.list()).warnings
        assert reason.format(issuer=issuer) in warning
        assert CLIENT[1] not in warning
        assert fault.requests == []


async def test_a_token_that_the_server_never_accepts_is_reported_as_refused_credentials(issuer: str) -> None:
    async with guarded(issuer) as fault, opened(remote(fault, issuer, scope=""), env=ENV) as tools:
        (warning,) = (await tools.list()).warnings
        assert f"does not accept our credentials (HTTP 401 to POST {fault.url}" in warning
        assert "mcp_servers.remote.transport.bearer_token, oauth and custom_headers" in warning


async def test_tokens_come_through_the_proxy_of_their_own_address(issuer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with guarded(issuer) as fault, tunnel(int(issuer.rpartition(":")[2])) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        async with opened(remote(fault, issuer, token_url="https://login.example/token"), env=ENV) as tools:
            await tools.list()
        # The provider itself speaks plain HTTP, so the tunnel is all that was asked for.
        assert set(proxy.asked) == {"CONNECT login.example:443 HTTP/1.1"}
