"""Where a server may listen and whom it believes, decided without a network."""

import pytest
from starlette.requests import HTTPConnection

from tarsy.api.auth import AuthSettings, Identity, IdentityKind, auth_settings, check_bind, host_allowed, origin_allowed
from tarsy.api.auth import identify as identify_by
from tarsy.api.tokens import ApiTokens
from tarsy.config.schema.oidc import OidcConfig, RoleRule
from tarsy.config.schema.system import SystemConfig
from tarsy.db.api_tokens import TokenRepository
from tarsy.db.connection import create_engine
from tarsy.db.sign_ins import SignInRepository
from tarsy.domain.access_role import AccessRole

TOKENS = ApiTokens({"alice": "a-token"})
NONE = ApiTokens()
EVERYWHERE = "0.0.0.0"  # noqa: S104 - what is tested is just this
SYSTEM = SystemConfig()
PROXIED = SystemConfig(trusted_proxies=("10.0.0.1",))
OIDC = OidcConfig(
    issuer="https://id.example.com", client_id="tarsy", roles=(RoleRule(claim="groups", value="sre", role=AccessRole.RESPONDER),)
)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_loopback_needs_nothing(host: str) -> None:
    assert check_bind(host, NONE, SYSTEM, insecure=False) is None
    assert auth_settings(host=host, tokens=NONE).login_required is False


@pytest.mark.parametrize("host", [EVERYWHERE, "::", "10.0.0.7", "tarsy.example.com"])
def test_any_other_address_needs_a_guard_and_the_refusal_names_the_cures(host: str) -> None:
    refusal = check_bind(host, NONE, SYSTEM, insecure=False)
    assert refusal is not None
    for remedy in ("TARSY_API_TOKENS", "trusted_proxies", "127.0.0.1", "--insecure"):
        assert remedy in refusal
    assert check_bind(host, TOKENS, SYSTEM, insecure=False) is None
    assert check_bind(host, NONE, PROXIED, insecure=False) is None
    assert check_bind(host, NONE, SystemConfig(oidc=OIDC), insecure=False) is None
    assert check_bind(host, NONE, SYSTEM, insecure=True) is None
    assert auth_settings(host=host, tokens=NONE, trusted_proxies=["10.0.0.1"]).login_required is True


def _connection(peer: str, **headers: str) -> HTTPConnection:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return HTTPConnection({"type": "http", "client": (peer, 1234), "headers": raw})


async def identify(connection: HTTPConnection, settings: AuthSettings) -> Identity | None:
    """Identify the caller where no credential is looked up in the database."""
    unreachable = create_engine("postgresql://127.0.0.1:1/nowhere")
    return await identify_by(connection, settings, TokenRepository(unreachable), SignInRepository(unreachable))


async def test_a_peer_in_ipv6_disguise_is_still_the_proxy() -> None:
    settings = auth_settings(host=EVERYWHERE, tokens=NONE, trusted_proxies=["10.0.0.0/8"])
    found = await identify(_connection("::ffff:10.1.1.1", x_forwarded_user="carol"), settings)
    assert found == Identity("carol", IdentityKind.PROXY, AccessRole.RESPONDER)


async def test_a_token_works_behind_the_proxy_and_the_forwarded_name_comes_first() -> None:
    settings = auth_settings(host=EVERYWHERE, tokens=TOKENS, trusted_proxies=["10.0.0.0/8"])
    assert await identify(_connection("10.1.1.1", authorization="bearer a-token"), settings) == Identity(
        "alice", IdentityKind.BEARER, AccessRole.RESPONDER, legacy=True
    )
    # A proxy may pass on a token of its own making.
    both = _connection("10.1.1.1", authorization="Bearer of-the-proxy", x_forwarded_user="carol")
    assert await identify(both, settings) == Identity("carol", IdentityKind.PROXY, AccessRole.RESPONDER)
    assert await identify(_connection("10.1.1.1", authorization="Bearer nonsense"), settings) is None


async def test_where_there_are_tokens_a_nameless_caller_behind_the_proxy_has_to_log_in() -> None:
    guarded = auth_settings(host=EVERYWHERE, tokens=TOKENS, trusted_proxies=["10.0.0.0/8"])
    proxied = auth_settings(host=EVERYWHERE, tokens=NONE, trusted_proxies=["10.0.0.0/8"])
    assert await identify(_connection("10.1.1.1"), guarded) is None
    assert await identify(_connection("10.1.1.1"), proxied) == Identity("api-client", IdentityKind.PROXY, AccessRole.RESPONDER)


def test_a_proxy_on_another_host_is_asked_for_our_name_once_we_have_one() -> None:
    """Installations that have not configured their own name go on working."""
    nameless = auth_settings(host=EVERYWHERE, tokens=NONE, trusted_proxies=["10.0.0.0/8"])
    named = auth_settings(host=EVERYWHERE, tokens=NONE, trusted_proxies=["10.0.0.0/8"], dashboard_url="https://tarsy.example.com")
    asked = {host: _connection("10.1.1.1", host=host) for host in ("evil.example", "tarsy.example.com")}
    assert [host_allowed(connection, nameless) for connection in asked.values()] == [True, True]
    assert [host_allowed(connection, named) for connection in asked.values()] == [False, True]


async def test_a_forwarded_name_may_have_any_letters() -> None:
    settings = auth_settings(host="127.0.0.1", tokens=NONE, trusted_proxies=["127.0.0.1"])
    for name in ("Élodie Müller", "山田"):
        assert await identify(_connection("127.0.0.1", x_forwarded_user=name), settings) == Identity(
            name, IdentityKind.PROXY, AccessRole.RESPONDER
        )


async def test_a_name_with_control_characters_is_no_name() -> None:
    settings = auth_settings(host="127.0.0.1", tokens=NONE, trusted_proxies=["127.0.0.1"])
    found = await identify(_connection("127.0.0.1", x_forwarded_user="ca\trol", x_forwarded_email="c@example.com"), settings)
    assert found == Identity("c@example.com", IdentityKind.PROXY, AccessRole.RESPONDER)


async def test_insecure_lets_everybody_in_without_a_name() -> None:
    settings = auth_settings(host=EVERYWHERE, tokens=NONE, insecure=True)
    assert await identify(_connection("203.0.113.9", x_forwarded_user="carol"), settings) == Identity(
        "api-client", IdentityKind.OPEN, AccessRole.ADMIN
    )


@pytest.mark.parametrize(
    ("origin", "host", "allowed", "expected"),
    [
        (None, "tarsy:8080", (), True),
        ("http://tarsy:8080", "tarsy:8080", (), True),
        ("https://tarsy", "tarsy", (), True),
        ("https://tarsy", "tarsy:443", (), True),
        ("http://TARSY:8080", "tarsy:8080", (), True),
        ("http://[::1]:8080", "[::1]:8080", (), True),
        ("http://tarsy:8081", "tarsy:8080", (), False),
        ("https://evil.example", "tarsy", (), False),
        ("null", "tarsy", (), False),
        ("", "tarsy", (), False),
        ("http://tarsy:8080", None, (), False),
        ("https://a.example.com", "tarsy", ("https://a.example.com/",), True),
        ("https://b.example.com", "tarsy", ("https://*.example.com",), True),
        ("https://example.com.evil", "tarsy", ("https://*.example.com",), False),
        ("http://x:notaport", "x", (), False),
        ("http://[fd00::1]:3000", "tarsy", ("http://[fd00::1]:3000",), True),
        ("http://:]:3000", "tarsy", ("http://[fd00::1]:3000",), False),
        ("https://xexample.com", "tarsy", ("https://*.example.com",), False),
    ],
)
def test_origins(origin: str | None, host: str | None, allowed: tuple[str, ...], *, expected: bool) -> None:
    assert origin_allowed(origin, host, allowed) is expected


@pytest.mark.parametrize(
    ("groups", "role"),
    [
        ("sre", AccessRole.RESPONDER),
        ("staff, sre-leads ,sre", AccessRole.ADMIN),
        ("staff", None),
        ("", None),
        ("SRE", None),
        ("sre-leads-of-others", None),
    ],
)
async def test_the_groups_that_a_trusted_proxy_passes_give_the_highest_of_their_roles_or_none(groups: str, role: AccessRole | None) -> None:
    roles = {"sre": AccessRole.RESPONDER, "sre-leads": AccessRole.ADMIN}
    settings = auth_settings(host=EVERYWHERE, tokens=NONE, trusted_proxies=["10.0.0.0/8"], proxy_roles=roles)
    inside = await identify(_connection("10.1.1.1", x_forwarded_user="carol", x_forwarded_groups=groups), settings)
    outside = await identify(_connection("192.0.2.1", x_forwarded_user="carol", x_forwarded_groups=groups), settings)
    assert inside == Identity("carol", IdentityKind.PROXY, role)
    assert outside is None


@pytest.mark.parametrize(
    ("rule", "claims", "matches"),
    [
        (("groups", "sre"), {"groups": ["staff", "sre"]}, True),
        (("groups", "sre"), {"groups": "sre"}, True),
        (("groups", "sre"), {"groups": ["sre-leads"]}, False),
        (("groups", "sre"), {}, False),
        (("realm_access.roles", "sre"), {"realm_access": {"roles": ["sre"]}}, True),
        (("realm_access.roles", "sre"), {"realm_access": ["roles"]}, False),
        (("https://example.com/roles", "sre"), {"https://example.com/roles": ["sre"]}, True),
        (("email", "a@example.com"), {"email": "a@example.com", "email_verified": True}, True),
        (("email", "a@example.com"), {"email": "a@example.com"}, False),
        (("email", "a@example.com"), {"email": "a@example.com", "email_verified": "true"}, False),
    ],
)
def test_a_rule_matches_a_value_of_its_claim_and_an_address_only_if_it_is_verified(
    rule: tuple[str, str], claims: dict[str, object], *, matches: bool
) -> None:
    claim, value = rule
    assert RoleRule(claim=claim, value=value, role=AccessRole.VIEWER).matches(claims) is matches
