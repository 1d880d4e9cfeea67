"""The dashboard's files: served from their folder and from nowhere else."""

from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette

from tarsy.api import problems
from tarsy.api.dashboard import Dashboard
from tarsy.api.middleware import SecurityHeaders


@pytest.fixture
def client(tmp_path: Path) -> httpx.AsyncClient:
    files = tmp_path / "static"
    (files / "assets").mkdir(parents=True)
    (files / "index.html").write_text('<meta property="csp-nonce" nonce="__CSP_NONCE__">')
    (files / "assets" / "app-1a2b.js").write_text("run()")
    (files / "favicon.svg").write_text("<svg/>")
    (tmp_path / "secret.txt").write_text("secret")
    return _client(files)


def _client(files: Path) -> httpx.AsyncClient:
    app = Starlette(exception_handlers={404: lambda _request, error: problems.respond(error)})
    app.router.default = Dashboard(files)
    return httpx.AsyncClient(transport=httpx.ASGITransport(SecurityHeaders(app)), base_url="http://localhost")


async def test_every_page_address_gets_the_page_with_the_nonce_of_its_answer(client: httpx.AsyncClient) -> None:
    for path in ("/", "/index.html", "/sessions/42", "/sessions/a.b"):
        answer = await client.get(path)
        assert answer.status_code == 200
        nonce = answer.text.partition(' nonce="')[2].partition('"')[0]
        assert f"'nonce-{nonce}'" in answer.headers["content-security-policy"]
        assert answer.headers["cache-control"] == "no-store"


async def test_built_files_may_be_kept_for_ever_and_others_not(client: httpx.AsyncClient) -> None:
    script, icon = await client.get("/assets/app-1a2b.js"), await client.get("/favicon.svg")
    assert "immutable" in script.headers["cache-control"]
    assert script.headers["content-type"].startswith("text/javascript")
    assert "immutable" not in icon.headers["cache-control"]


@pytest.mark.parametrize(
    "path",
    [
        "/assets/gone.js",
        "/../secret.txt",
        "/..%2fsecret.txt",
        "/%2e%2e/secret.txt",
        "/api/v1/x",
        "/x%00.js",
        "/" + 300 * "x",
        f"/{300 * 'x'}.js",
    ],
)
async def test_nothing_outside_the_folder_is_served(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(path)
    assert answer.status_code == 404 or "csp-nonce" in answer.text
    assert answer.text != "secret"


async def test_without_a_build_a_page_says_how_to_get_one(tmp_path: Path) -> None:
    answer = await _client(tmp_path).get("/")
    assert answer.status_code == 200
    assert "make setup" in answer.text
