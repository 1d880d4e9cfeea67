"""Who gets in, what a browser may do, and what is on every answer."""

from collections.abc import Mapping
from pathlib import Path

import anyio
import httpx
import pytest
from structlog.testing import capture_logs

from support.api_world import World, world
from tarsy.api.auth import AuthSettings, auth_settings
from tarsy.api.services import Health
from tarsy.api.tokens import ApiTokens
from tarsy.config.schema.system import QueueConfig
from tarsy.db.connection import create_engine
from tarsy.db.outbox import Publisher
from tarsy.db.retry import is_transient
from tarsy.db.work.queue import WorkQueue
from tarsy.kit.clock import SystemClock
from tarsy.llm.in_process import in_process_client
from tarsy.queue.handler import Runner
from tarsy.queue.pool import WorkerPool
from tarsy.server import local_server
from tarsy.session.run_scope import Cancellations
from tarsy.settings import Settings
from tarsy.wiring.installation import probes

TOKENS = ApiTokens({"alice": "token-of-alice", "bot": "token-of-bot"})
GUARDED = auth_settings(host="0.0.0.0", tokens=TOKENS)  # noqa: S104 - what is tested is just this
ALICE = {"Authorization": "Bearer token-of-alice"}


async def _author(api: World, headers: Mapping[str, str]) -> str:
    answer = await api.client.post("/api/v1/alerts", json={"data": "x"}, headers=dict(headers))
    assert answer.status_code == 202, answer.text
    return (await api.client.get(f"/api/v1/sessions/{answer.json()['session_id']}", headers=dict(headers))).json()["author"]


async def test_a_token_grants_access_and_names_the_author(database_url: str) -> None:
    async with world(database_url, auth=GUARDED) as api:
        refused = [
            await api.client.get("/api/v1/sessions"),
            await api.client.post("/api/v1/alerts", json={"data": "x"}, headers={"Authorization": "Bearer nonsense"}),
            await api.client.post("/api/v1/alerts", json={"data": "x"}, headers={"Authorization": "Basic token-of-alice"}),
            await api.client.get("/metrics"),
            await api.client.get("/docs"),
            await api.client.get("/openapi.json"),
        ]
        author = await _author(api, ALICE)
        health = await api.client.get("/health")
        page = await api.client.get("/")
    assert [answer.status_code for answer in refused] == [401] * 6
    assert {answer.headers["www-authenticate"] for answer in refused} == {"Bearer"}
    assert {answer.headers["content-type"] for answer in refused} == {"application/problem+json"}
    assert author == "alice"
    assert (health.status_code, page.status_code) == (200, 200)


async def test_a_browser_logs_in_once_and_keeps_a_cookie_that_is_not_the_token(database_url: str) -> None:
    async with world(database_url, auth=GUARDED) as api:
        stranger = (await api.client.get("/api/v1/me")).json()
        wrong = await api.client.post("/api/v1/login", json={"token": "nonsense"})
        right = await api.client.post("/api/v1/login", json={"token": "token-of-alice"})
        cookie = right.headers["set-cookie"]
        me = (await api.client.get("/api/v1/me")).json()
        author = await _author(api, {})
        value = api.client.cookies["tarsy_login"]
        async with httpx.AsyncClient(base_url=api.client.base_url, cookies={"tarsy_login": value[:-1] + "z"}) as forger:
            forged = await forger.get("/api/v1/sessions")
        await api.client.post("/api/v1/logout")
        after = await api.client.get("/api/v1/sessions")
        page = {"Origin": "https://tarsy.example.com", "Host": "tarsy.example.com"}
        over_tls = await api.client.post("/api/v1/login", json={"token": "token-of-alice"}, headers=page)
    assert (stranger["author"], stranger["login_required"], stranger["identified_by"], stranger["role"]) == (None, True, None, None)
    assert wrong.status_code == 401
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "token-of-alice" not in cookie
    assert "Secure" not in cookie
    assert "Secure" in over_tls.headers["set-cookie"]
    assert (me["author"], me["login_required"], me["identified_by"], me["role"]) == ("alice", True, "cookie", "responder")
    assert author == "alice"
    assert (forged.status_code, after.status_code) == (401, 401)


async def test_a_forwarded_identity_counts_only_from_a_trusted_proxy(database_url: str) -> None:
    claims = {"X-Forwarded-User": "carol", "X-Forwarded-Email": "carol@example.com"}
    trusting = auth_settings(host="127.0.0.1", tokens=ApiTokens(), trusted_proxies=["127.0.0.0/8"])
    other_place = auth_settings(host="127.0.0.1", tokens=ApiTokens(), trusted_proxies=["10.0.0.0/8"])
    for settings, headers, expected in (
        (trusting, claims, "carol"),
        (trusting, {"X-Forwarded-Email": "carol@example.com"}, "carol@example.com"),
        (trusting, {"X-Forwarded-User": ""}, "api-client"),
        (other_place, claims, "api-client"),
        (AuthSettings(), {**claims, "X-Forwarded-For": "127.0.0.1"}, "api-client"),
    ):
        async with world(database_url, auth=settings) as api:
            assert await _author(api, headers) == expected


async def test_only_the_proxy_has_access_where_a_proxy_authenticates(database_url: str) -> None:
    for proxies, status in ((["127.0.0.1"], 200), (["10.1.2.3"], 401)):
        settings = auth_settings(host="0.0.0.0", tokens=ApiTokens(), trusted_proxies=proxies)  # noqa: S104 - what is tested is just this
        async with world(database_url, auth=settings) as api:
            answer = await api.client.get("/api/v1/sessions", headers={"X-Forwarded-User": "carol"})
            assert answer.status_code == status


@pytest.mark.parametrize("tokens", [ApiTokens(), TOKENS])
async def test_a_name_that_is_not_ours_is_refused_from_a_trusted_proxy_on_this_machine_too(database_url: str, tokens: ApiTokens) -> None:
    """A browser on this machine that a page led here under its own name is no different from the proxy."""
    settings = auth_settings(host="127.0.0.1", tokens=tokens, trusted_proxies=["127.0.0.1"], dashboard_url="https://tarsy.example.com")
    async with world(database_url, auth=settings) as api:
        statuses = {
            host: (await api.client.get("/api/v1/sessions", headers={"Host": host, "X-Forwarded-User": "carol"})).status_code
            for host in ("evil.example", "tarsy.example.com", f"127.0.0.1:{api.port}")
        }
        # The probes of Kubernetes and Prometheus name a pod by its address, and may come from the network of the proxy.
        in_pod = {"Host": "10.1.2.3:8080"}
        probes = [(await api.client.get(path, headers=in_pod)).status_code for path in ("/live", "/ready", "/metrics")]
        scraped = await api.client.get("/metrics", headers={**in_pod, **ALICE})
    assert (probes, scraped.status_code) == ([200, 200, 421], 200 if tokens else 421)
    assert statuses == {"evil.example": 421, "tarsy.example.com": 200, f"127.0.0.1:{api.port}": 200}


async def test_a_server_of_one_command_is_open_to_that_command_alone(database_url: str, tmp_path: Path) -> None:
    (tmp_path / "tarsy.yaml").write_text("system: {trusted_proxies: [127.0.0.1]}\n")
    settings = Settings(env={}, database_url=database_url, config_dir=tmp_path, api_tokens="alice=token-of-alice")
    strangers: tuple[dict[str, str], ...] = ({}, ALICE, {"X-Forwarded-User": "carol"})
    async with local_server(settings) as server, httpx.AsyncClient(base_url=server.url) as client:
        refused = [(await client.get("/api/v1/sessions", headers=headers)).status_code for headers in strangers]
        welcome = await client.get("/api/v1/me", headers={"Authorization": f"Bearer {server.token}"})
    assert refused == [401, 401, 401]
    assert welcome.json()["author"] == "api-client"


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://[broken"])
async def test_a_foreign_page_cannot_write_with_or_without_login(database_url: str, origin: str) -> None:
    for settings, headers in ((AuthSettings(), {}), (GUARDED, ALICE)):
        async with world(database_url, auth=settings) as api:
            answer = await api.client.post(
                "/api/v1/alerts", content="x", headers={**headers, "Origin": origin, "Content-Type": "text/plain"}
            )
            assert answer.status_code == 403


async def test_our_own_page_and_configured_origins_can_write(database_url: str) -> None:
    settings = auth_settings(host="127.0.0.1", tokens=ApiTokens(), allowed_origins=["https://*.example.com"])
    async with world(database_url, auth=settings) as api:
        for origin in (f"http://127.0.0.1:{api.port}", "https://tarsy.example.com"):
            assert (await api.client.post("/api/v1/alerts", json={"data": "x"}, headers={"Origin": origin})).status_code == 202


async def test_a_name_that_is_not_ours_is_refused_on_loopback(database_url: str) -> None:
    settings = auth_settings(host="127.0.0.1", tokens=ApiTokens(), dashboard_url="https://tarsy.example.com/app")
    async with world(database_url, auth=settings) as api:
        statuses = {
            host: (await api.client.get("/api/v1/sessions", headers={"Host": host})).status_code
            for host in (f"evil.example:{api.port}", "localhost", "[::1]:8080", "tarsy.example.com", "LOCALHOST:1", "[broken")
        }
    assert statuses == {
        f"evil.example:{api.port}": 421,
        "localhost": 200,
        "[::1]:8080": 200,
        "tarsy.example.com": 200,
        "LOCALHOST:1": 200,
        "[broken": 421,
    }


async def test_every_answer_carries_the_security_headers(database_url: str) -> None:
    async def broken() -> Health:
        raise ZeroDivisionError

    with capture_logs() as logs:
        async with world(database_url, probes={"database": broken}) as api:
            paths = ("/", "/health", "/docs", "/api/v1/sessions", "/api/v1/nonsense", "/metrics")
            answers = [await api.client.get(path) for path in paths]
            answers.append(await api.client.get("/health", headers={"Host": "evil.example"}))
    assert [entry["event"] for entry in logs if entry["log_level"] == "error"] == ["request.broke"]
    assert [answer.status_code for answer in answers] == [200, 500, 200, 200, 404, 200, 421]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
    assert "ZeroDivisionError" not in answers[1].text


async def test_the_documentation_loads_nothing_from_other_hosts(database_url: str) -> None:
    async with world(database_url) as api:
        page = await api.client.get("/docs")
        document = (await api.client.get("/openapi.json")).json()
    assert "submitAlert" in page.text
    assert "<script" not in page.text
    assert "http://" not in page.text.replace("http or https", "")
    nonce = page.text.partition('nonce="')[2].partition('"')[0]
    assert f"'nonce-{nonce}'" in page.headers["content-security-policy"]
    assert document["paths"]["/api/v1/alerts"]["post"]["operationId"] == "submitAlert"


async def test_health_is_503_only_when_the_database_is_away(database_url: str) -> None:
    async def sick() -> Health:
        return Health(healthy=False, message="gone")

    async def well() -> Health:
        return Health(healthy=True)

    async def hanging() -> Health:
        await anyio.sleep_forever()
        raise AssertionError

    for answers, status, word in (
        ({"database": well, "llm_service": well}, 200, "healthy"),
        ({"database": well, "llm_service": sick}, 200, "degraded"),
        ({"database": well, "worker_pool": hanging}, 200, "degraded"),
        ({"database": sick, "llm_service": well}, 503, "unhealthy"),
    ):
        async with world(database_url, probes=answers) as api:
            answer = await api.client.get("/health")
            assert (answer.status_code, answer.json()["status"]) == (status, word)
            assert (await api.client.head("/health")).status_code == status


async def test_a_process_is_alive_without_its_database_and_ready_only_with_it_and_until_it_stops(database_url: str) -> None:
    async def sick() -> Health:
        return Health(healthy=False, message="gone")

    async def well() -> Health:
        return Health(healthy=True)

    for probe, stopping, status, reason in (
        (well, False, 200, None),
        (sick, False, 503, "gone"),
        (well, True, 503, "this process is stopping"),
    ):
        async with world(database_url, probes={"database": probe, "llm_service": sick}, is_stopping=lambda is_so=stopping: is_so) as api:
            assert ((await api.client.get("/live")).json(), (await api.client.head("/live")).status_code) == ({"status": "alive"}, 200)
            answer = await api.client.get("/ready")
            assert (answer.status_code, answer.json().get("reason")) == (status, reason)
            assert (await api.client.head("/ready")).status_code == status


async def test_a_database_that_is_away_is_a_503_in_the_one_shape_and_no_stranger_reads_where_it_is(postgres_server: str) -> None:
    nowhere = postgres_server.replace("port=5432", "port=1")
    engine = create_engine(nowhere)
    runner = Runner(queue=WorkQueue(Publisher(engine), pod_id="test"), cancellations=Cancellations(), is_transient=is_transient)
    looked = probes(engine, in_process_client(env={}), WorkerPool(QueueConfig(), runner, None, (), clock=SystemClock()))
    async with world(nowhere, probes=looked) as api:
        answer = await api.client.get("/api/v1/sessions")
        public = [await api.client.get(path) for path in ("/health", "/ready")]
    assert [(answer.status_code, "postgres" in answer.text) for answer in public] == [(503, False)] * 2
    assert answer.status_code == 503
    assert answer.json()["type"] == "urn:tarsy:problem:database-away"
    assert answer.headers["retry-after"]
