"""Sign-in with OpenID Connect: with a certified provider, and with one that lies."""

import re
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from joserfc.jwk import RSAKey
from structlog.testing import capture_logs

from support.api_world import services_on
from support.hostile_provider import CLIENT_ID, HostileProvider, hostile_provider, new_key
from support.oidc_provider import CLIENT_SECRET, oidc_provider
from tarsy.api.app import create_app
from tarsy.api.auth import auth_settings
from tarsy.api.oidc import OidcProvider
from tarsy.api.tokens import ApiTokens
from tarsy.cli.doctor_checks import check_sign_in
from tarsy.config.schema.oidc import OidcConfig, RoleRule
from tarsy.db.connection import create_engine
from tarsy.domain.access_role import AccessRole
from tarsy.setup.checks import FindingStatus

pytestmark = pytest.mark.xdist_group("sign-in")

URL = "http://localhost"
CALLBACK = f"{URL}/api/v1/sign-in/callback"


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    with oidc_provider(CALLBACK, URL) as address:
        yield address


@pytest.fixture(scope="module")
def key() -> RSAKey:
    return new_key("first")


@asynccontextmanager
async def browser(database_url: str, issuer: str, *, url: str = URL) -> AsyncGenerator[httpx.AsyncClient]:
    """A client with cookies, for which http://localhost is TARSy and every other address is real."""
    rules = (("groups", "responders", AccessRole.RESPONDER), ("groups", "sre", AccessRole.VIEWER))
    config = OidcConfig(
        issuer=issuer,
        client_id=CLIENT_ID,
        scopes=("openid", "profile", "email", "groups"),
        roles=tuple(RoleRule(claim=claim, value=value, role=role) for claim, value, role in rules),
    )
    engine = create_engine(database_url)
    try:
        auth = auth_settings(host="127.0.0.1", tokens=ApiTokens(), oidc=config, dashboard_url=url)
        provider = OidcProvider(config, secret=CLIENT_SECRET, dashboard_url=URL)
        app = create_app(replace(services_on(engine, auth=auth), oidc=provider))
        # No TLS: reading the trusted certificates takes as long as a sign-in.
        transports = {URL: httpx.ASGITransport(app)}
        async with httpx.AsyncClient(base_url=URL, mounts=transports, timeout=60, verify=False) as client:  # noqa: S501 - plain HTTP
            yield client
    finally:
        await engine.dispose()


async def follow(client: httpx.AsyncClient, answer: httpx.Response, *, until: Callable[[httpx.Response], bool]) -> httpx.Response:
    """Follow redirects, and submit the provider's forms with the name and password that a person would type."""
    for _ in range(20):
        if until(answer):
            return answer
        if answer.is_redirect:
            answer = await client.get(str(answer.next_request.url if answer.next_request else ""))
            continue
        form = re.search(r'<form[^>]*action="([^"]+)"', answer.text)
        assert form, answer.text
        fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', answer.text))
        address = httpx.URL(str(answer.url)).join(unescape(form[1]))
        answer = await client.post(address, data=fields | {"login": client.headers["X-Person"], "password": "x"})
    raise AssertionError("the way does not end")


def at(path: str) -> Callable[[httpx.Response], bool]:
    return lambda answer: not answer.is_redirect and str(answer.url).startswith(URL + path)


def comes_back(answer: httpx.Response) -> bool:
    return answer.headers.get("location", "").startswith(CALLBACK)


async def sign_in(client: httpx.AsyncClient, person: str, return_to: str = "/api/v1/me") -> httpx.Response:
    client.headers["X-Person"] = person
    return await follow(client, await client.get("/api/v1/sign-in", params={"return_to": return_to}), until=at("/"))


async def test_a_person_signs_in_with_the_role_of_their_group_and_signs_out_here_and_there(database_url: str, issuer: str) -> None:
    async with browser(database_url, issuer) as client:
        stranger = await client.get("/api/v1/sessions")
        me = (await sign_in(client, "responder")).json()
        may = await client.post("/api/v1/alerts", json={"data": "x"})
        may_not = await client.post("/api/v1/system/reload")
        foreign = await client.post("/api/v1/alerts", json={"data": "x"}, headers={"Origin": "https://evil.example"})
        session = client.cookies["tarsy_session"]
        out = await client.post("/api/v1/logout")
        at_provider = await client.get(out.json()["continue_at"])
        after = await client.get("/api/v1/sessions", headers={"Cookie": f"tarsy_session={session}"})
    assert stranger.status_code == 401
    assert (me["author"], me["role"], me["identified_by"]) == ("responder", "responder", "oidc")
    assert (may.status_code, may_not.status_code, foreign.status_code) == (202, 403, 403)
    assert out.status_code == 200
    assert (at_provider.status_code, after.status_code) == (200, 401)


async def test_a_person_without_a_matching_claim_is_informed_and_has_no_access(database_url: str, issuer: str) -> None:
    async with browser(database_url, issuer) as client:
        with capture_logs() as logs:
            refused = await sign_in(client, "visitor")
        me = (await client.get("/api/v1/me")).json()
    assert refused.status_code == 403
    assert "visitor" in refused.text
    assert "Ask your administrator" in refused.text
    assert me["author"] is None
    assert any("system.oidc.roles" in entry.get("reason", "") for entry in logs)


async def test_a_callback_works_once_and_only_in_the_browser_that_began(database_url: str, issuer: str) -> None:
    async with browser(database_url, issuer) as client:
        client.headers["X-Person"] = "responder"
        answer = await follow(client, await client.get("/api/v1/sign-in"), until=comes_back)
        address, pending = answer.headers["location"], client.cookies["tarsy_sign_in"]
        async with browser(database_url, issuer) as thief:
            stolen = await thief.get(address)
        first = await client.get(address)
        again = await client.get(address)
        # The code again, also in another sign-in: the provider refuses it.
        await client.get("/api/v1/sign-in")
        query = parse_qs(urlsplit(address).query) | {"state": [client.cookies["tarsy_sign_in"].split(".")[0]]}
        with capture_logs() as logs:
            spent = await client.get("/api/v1/sign-in/callback", params=query)
            replayed = await client.get(address, headers={"Cookie": f"tarsy_sign_in={pending}"})
    assert [answer.status_code for answer in (stolen, first, again, replayed, spent)] == [403, 303, 403, 403, 403]
    assert {"HttpOnly", "SameSite=lax", "Path=/"} <= set(first.headers["set-cookie"].split("; "))
    for refused in (stolen, again, replayed, spent):
        assert "start again" in refused.text
    reasons = [entry["reason"] for entry in logs if entry["event"] == "sign_in.refused"]
    assert [reason.startswith("the provider refused the code: ") for reason in reasons] == [True, True], reasons


async def come_back(client: httpx.AsyncClient, provider: HostileProvider, **parameters: str) -> tuple[httpx.Response, str]:
    """Sign in at the provider; return the response to the callback, and the logged reason of a refusal."""
    begun = await client.get("/api/v1/sign-in")
    query = parse_qs(urlsplit(begun.headers["location"]).query)
    assert query["code_challenge_method"] == ["S256"]
    provider.nonce = query["nonce"][0]
    with capture_logs() as logs:
        answer = await client.get("/api/v1/sign-in/callback", params={"state": query["state"][0], **(parameters or {"code": "c"})})
    return answer, " ".join(entry["reason"] for entry in logs if entry["event"] == "sign_in.refused")


LIES: dict[str, tuple[Callable[[HostileProvider], Any], str]] = {
    "forged signature": (lambda provider: setattr(provider, "key", new_key("first")), "signature"),
    "unknown key": (lambda provider: setattr(provider, "key", new_key("another")), "key"),
    "no list of keys": (lambda provider: (setattr(provider, "key", new_key("another")), provider.shown.clear()), "no list of keys"),
    "expired": (lambda provider: provider.claims.update(exp=1_700_000_000), "expired"),
    "issued in the future": (lambda provider: provider.claims.update(iat=4_000_000_000), "future"),
    "other audience": (lambda provider: provider.claims.update(aud="another-client"), "aud"),
    "one audience among others, authorized for another": (lambda provider: provider.claims.update(aud=["tarsy", "x"], azp="x"), "azp"),
    "other nonce": (lambda provider: provider.claims.update(nonce="of-another-sign-in"), "nonce"),
    "no nonce": (lambda provider: provider.claims.update(nonce=None), "nonce"),
    "other issuer": (lambda provider: provider.claims.update(iss="https://evil.example"), "iss"),
    "no subject": (lambda provider: provider.claims.update(sub=None), "sub"),
    "alg none": (lambda provider: setattr(provider, "unsigned", True), "algorithm"),
    "HMAC with the public key": (lambda provider: setattr(provider, "symmetric", True), "algorithm"),
}


async def test_an_id_token_that_proves_nothing_is_refused_with_a_plain_word_and_the_reason_in_the_log(
    database_url: str, key: RSAKey
) -> None:
    wrong: list[str] = []
    async with hostile_provider(key) as provider, browser(database_url, provider.issuer) as client:
        for lie, (tell, expected) in LIES.items():
            provider.reset(key)
            tell(provider)
            answer, reason = await come_back(client, provider)
            me = (await client.get("/api/v1/me")).json()
            if (answer.status_code, me["author"]) != (403, None) or "could not be verified" not in answer.text or expected not in reason:
                wrong.append(f"{lie}: {answer.status_code} {reason}")
    assert wrong == []


async def test_an_honest_answer_is_accepted_and_rotated_keys_are_fetched_again(database_url: str, key: RSAKey) -> None:
    async with hostile_provider(key) as provider, browser(database_url, provider.issuer) as client:
        honest, _ = await come_back(client, provider)
        provider.key = new_key("second")
        provider.shown = [provider.key]
        rotated, _ = await come_back(client, provider)
        me = (await client.get("/api/v1/me")).json()
        requests = provider.key_requests
    assert [honest.status_code, rotated.status_code] == [303, 303]
    assert me["role"] == "viewer"
    assert requests == 2


async def test_a_state_is_used_once_even_if_the_provider_accepts_a_code_twice(database_url: str, key: RSAKey) -> None:
    async with hostile_provider(key) as provider, browser(database_url, provider.issuer) as client:
        await client.get("/api/v1/sign-in")
        pending = client.cookies["tarsy_sign_in"]
        state, provider.nonce = pending.split(".")[:2]
        statuses = [
            (
                await client.get(
                    "/api/v1/sign-in/callback", params={"code": "c", "state": state}, headers={"Cookie": f"tarsy_sign_in={pending}"}
                )
            )
            for _ in range(2)
        ]
    assert [answer.status_code for answer in statuses] == [303, 403]
    assert "already completed" in statuses[1].text


async def test_an_answer_of_another_issuer_is_refused(database_url: str, key: RSAKey) -> None:
    """Mix-up: the browser was sent on by a second provider."""
    async with hostile_provider(key) as provider, browser(database_url, provider.issuer) as client:
        other, reason = await come_back(client, provider, code="c", iss="https://evil.example")
        right, _ = await come_back(client, provider, code="c", iss=provider.issuer)
    async with hostile_provider(key) as provider, browser(database_url, provider.issuer) as client:
        provider.metadata = {"authorization_response_iss_parameter_supported": True}
        silent, _ = await come_back(client, provider)
    assert [other.status_code, right.status_code, silent.status_code] == [403, 303, 403]
    assert "https://evil.example" in reason
    assert "could not be verified" in other.text


async def test_a_provider_that_fails_or_refuses_is_named_as_the_cause(database_url: str, key: RSAKey) -> None:
    async with hostile_provider(key) as provider, browser(database_url, provider.issuer) as client:
        denied, reason = await come_back(client, provider, error="access_denied")
        provider.metadata = {"issuer": "https://evil.example"}
        async with browser(database_url, provider.issuer) as second:
            with capture_logs() as logs:
                pretending = await second.get("/api/v1/sign-in")
    async with browser(database_url, "http://127.0.0.1:1") as client:
        unreachable = await client.get("/api/v1/sign-in")
    assert [denied.status_code, pretending.status_code, unreachable.status_code] == [403, 502, 502]
    assert "did not sign you in" in denied.text
    assert reason == "access_denied"
    assert any("https://evil.example" in entry.get("reason", "") for entry in logs)
    assert "does not answer properly" in unreachable.text


async def test_the_doctor_says_whether_the_provider_answers_and_is_the_right_one(key: RSAKey) -> None:
    rule = RoleRule(claim="groups", value="sre", role=AccessRole.VIEWER)
    async with hostile_provider(key) as provider:
        answers = await check_sign_in(OidcConfig(issuer=provider.issuer, client_id=CLIENT_ID, roles=(rule,)))
        other = await check_sign_in(OidcConfig(issuer=f"{provider.issuer}/", client_id=CLIENT_ID, roles=(rule,)))
    nobody = await check_sign_in(OidcConfig(issuer="http://127.0.0.1:1", client_id=CLIENT_ID, roles=(rule,)))
    assert [one.status for one in (answers, other, nobody)] == [FindingStatus.OK, FindingStatus.FAIL, FindingStatus.FAIL]
    assert "the provider calls itself" in str(other)
    assert "http://127.0.0.1:1" in str(nobody)


async def test_cookies_are_only_for_https_where_tarsy_is_reached_by_it(database_url: str, key: RSAKey) -> None:
    async with hostile_provider(key) as provider:
        for url, secure in (("https://tarsy.example.com", True), (URL, False)):
            async with browser(database_url, provider.issuer, url=url) as client:
                begun = await client.get("/api/v1/sign-in")
            assert ("Secure" in begun.headers["set-cookie"]) is secure


async def test_a_sign_in_never_leads_to_another_server(database_url: str, key: RSAKey) -> None:
    async with hostile_provider(key) as provider, browser(database_url, provider.issuer) as client:
        for return_to in ("https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)", ""):
            await client.get("/api/v1/sign-in", params={"return_to": return_to})
            state, provider.nonce = client.cookies["tarsy_sign_in"].split(".")[:2]
            answer = await client.get("/api/v1/sign-in/callback", params={"code": "c", "state": state})
            assert answer.headers["location"] == "/"
