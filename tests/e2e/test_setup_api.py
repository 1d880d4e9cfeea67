"""The setup page's steps over HTTP: a model that really answers, a tool server that really starts, files that stay as they were."""

import shlex
import stat
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
import yaml
from structlog.testing import capture_logs

from support.api_world import serving
from support.vendor_server import VendorServer, json_reply, vendor_server
from support.vendors import Answer, ChatCompletions
from support.warm_tarsy import SIMULATED_CLUSTER
from tarsy.settings import Settings
from tarsy.wiring.application import application

KEY = "sk-hunter2-0123456789"
MODEL = ChatCompletions()
MODELS = json_reply(200, {"object": "list", "data": [{"id": MODEL.model}, {"id": "another"}]})


@asynccontextmanager
async def empty_installation(
    database_url: str, *, opened: bool = True, bearer: str | None = None, **settings: object
) -> AsyncGenerator[httpx.AsyncClient]:
    """The whole program in the working directory, and a caller who has typed the code."""
    wanted = {"env": {"PATH": "/nowhere"}, "database_url": database_url, **settings}
    whole = Settings(**wanted)  # pyright: ignore[reportArgumentType] - names are those of the fields
    async with application(whole) as running, serving(running.services, running.api) as world:
        setup = running.services.setup
        assert setup
        code = setup.access.issue()
        world.client.headers.update({"Authorization": f"Bearer {bearer}"} if bearer else {})
        if opened:
            assert (await world.client.post("/api/v1/setup/open", json={"code": code})).status_code == 204
        yield world.client


def provide(here: Path, vendor: VendorServer) -> None:
    """A vendor's own provider, whose address is the test's."""
    (here / "config").mkdir()
    entry = {"type": "openai", "model": MODEL.model, "api_key_env": "OPENAI_API_KEY", "base_url": f"{vendor.url}/v1"}
    (here / "config" / "llm-providers.yaml").write_text(yaml.safe_dump({"llm_providers": {"openai-default": entry}}))


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where it is started: a directory with nothing in it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


async def test_an_empty_installation_says_so_and_every_step_wants_the_code(database_url: str, here: Path) -> None:
    async with empty_installation(database_url, opened=False) as http:
        state = (await http.get("/api/v1/setup")).json()
        assert (state["needed"], state["open"], state["has_code"], state["model"]) == (True, False, True, None)
        assert {"google", "openai", "anthropic", "xai"} == {vendor["name"] for vendor in state["vendors"]}
        assert [recipe["name"] for recipe in state["recipes"]] == ["kubernetes", "prometheus", "grafana", "github"]
        for step, body in (
            ("key", {"vendor": "openai", "key": KEY}),
            ("models", {"url": "http://127.0.0.1:9"}),
            ("local-model", {"url": "http://127.0.0.1:9", "model": "m"}),
            ("tool-server", {"recipe": "kubernetes"}),
        ):
            refused = await http.post(f"/api/v1/setup/{step}", json=body)
            assert (refused.status_code, "setup code" in refused.json()["detail"]) == (403, True), step
        assert (await http.get("/api/v1/setup/first-alert")).status_code == 403
        wrong = await http.post("/api/v1/setup/open", json={"code": "AAAA-AAAA"})
        assert (wrong.status_code, "Attempts left: 4" in wrong.json()["detail"]) == (403, True)
        foreign = await http.post("/api/v1/setup/open", json={"code": "AAAA-AAAA"}, headers={"Origin": "http://evil.example"})
        assert "other origins" in foreign.json()["detail"]
    assert not (here / ".env").exists()


async def test_a_key_that_answers_is_kept_for_its_owner_alone_and_used_at_once(database_url: str, here: Path) -> None:
    (here / ".env").write_text("# ours\nGREETING=hello\n")
    async with vendor_server() as vendor:
        provide(here, vendor)
        vendor.replies.append(MODEL.reply(Answer(text=("ready",))))
        async with empty_installation(database_url) as http:
            with capture_logs() as logs:
                done = await http.post("/api/v1/setup/key", json={"vendor": "openai", "key": f" {KEY}\n"})
            assert done.json()["ok"], done.text
            assert done.json()["written"] == [".env: OPENAI_API_KEY"]
            assert vendor.seen[0].headers["authorization"] == f"Bearer {KEY}"
            state = (await http.get("/api/v1/setup")).json()
            assert next(one["has_key"] for one in state["vendors"] if one["name"] == "openai")
            assert (state["open"], state["model"]) == (True, f"openai-default ({MODEL.model})")
            assert KEY not in done.text + repr(logs) + (await http.get("/api/v1/system/config")).text
    assert (here / ".env").read_text() == f"# ours\nGREETING=hello\nOPENAI_API_KEY={KEY}\n"
    assert stat.S_IMODE((here / ".env").stat().st_mode) == 0o600


async def test_a_vendor_whose_provider_has_another_type_takes_no_key(database_url: str, here: Path) -> None:
    (here / "config").mkdir()
    entry = {"type": "openai", "model": "m", "base_url": "http://127.0.0.1:9/v1"}
    (here / "config" / "llm-providers.yaml").write_text(yaml.safe_dump({"llm_providers": {"xai-default": entry}}))
    async with empty_installation(database_url) as http:
        vendors = (await http.get("/api/v1/setup")).json()["vendors"]
        assert {vendor["name"] for vendor in vendors} == {"google", "openai", "anthropic"}
        refused = await http.post("/api/v1/setup/key", json={"vendor": "xai", "key": KEY})
        assert (refused.status_code, "there are anthropic, google, openai" in refused.text) == (400, True)


async def test_a_key_that_is_refused_is_not_kept_and_not_quoted(database_url: str, here: Path) -> None:
    async with vendor_server() as vendor:
        provide(here, vendor)
        vendor.replies.append(MODEL.error(401, f"Incorrect API key provided: {KEY}"))
        async with empty_installation(database_url) as http:
            refused = (await http.post("/api/v1/setup/key", json={"vendor": "openai", "key": KEY})).json()
            assert (refused["ok"], refused["cure"], refused["written"]) == (False, "check the key in OPENAI_API_KEY", [])
            assert KEY not in refused["message"]
            unknown = await http.post("/api/v1/setup/key", json={"vendor": "nobody", "key": KEY})
            assert (unknown.status_code, "there are anthropic, google, openai, xai" in unknown.text) == (400, True)
            broken = await http.post("/api/v1/setup/key", json={"vendor": "openai", "key": "a\nPATH=b"})
            assert (broken.status_code, "line break" in broken.text) == (400, True)
        async with empty_installation(database_url, env={"PATH": "", "OPENAI_API_KEY": "other"}) as http:
            held = await http.post("/api/v1/setup/key", json={"vendor": "openai", "key": KEY})
            assert "Change it there" in held.json()["detail"]
        async with empty_installation(database_url, llm_service_addr="127.0.0.1:9") as http:
            other_place = await http.post("/api/v1/setup/key", json={"vendor": "openai", "key": KEY})
            assert "Set OPENAI_API_KEY there" in other_place.json()["detail"]
    assert not (here / ".env").exists()


async def test_a_model_of_ones_own_is_found_at_its_address_tried_and_used_at_once(database_url: str, here: Path) -> None:
    async with vendor_server() as vendor, empty_installation(database_url) as http:
        vendor.replies.extend([json_reply(404, {}), MODELS])
        found = (await http.post("/api/v1/setup/models", json={"url": f"{vendor.url}/"})).json()
        assert found == {"base_url": f"{vendor.url}/v1", "models": ["another", MODEL.model]}
        vendor.replies.append(MODELS)
        missing = await http.post("/api/v1/setup/local-model", json={"url": found["base_url"], "model": "no-such"})
        assert (missing.status_code, "it has another" in missing.json()["detail"]) == (400, True)
        vendor.replies.extend([MODELS, MODEL.reply(Answer(text=("ready",)))])
        done = (await http.post("/api/v1/setup/local-model", json={"url": found["base_url"], "model": MODEL.model})).json()
        assert done["ok"], done
        state = (await http.get("/api/v1/setup")).json()
        assert (state["needed"], state["model"]) == (False, f"local ({MODEL.model})")
    written = yaml.safe_load((here / "config/llm-providers.yaml").read_text())["llm_providers"]["local"]
    assert (written["base_url"], written["model"]) == (f"{vendor.url}/v1", MODEL.model)


async def test_a_gateway_that_asks_for_a_key_is_given_one_which_is_written_to_env(database_url: str, here: Path) -> None:
    async with vendor_server() as vendor, empty_installation(database_url) as http:
        wanted = {"url": f"{vendor.url}/v1", "model": MODEL.model, "key": KEY}
        vendor.replies.extend([MODELS, MODEL.reply(Answer(text=("ready",)))])
        done = (await http.post("/api/v1/setup/local-model", json=wanted)).json()
        assert done["ok"], done
        assert {request.headers.get("authorization") for request in vendor.seen} == {f"Bearer {KEY}"}
    assert yaml.safe_load((here / "config/llm-providers.yaml").read_text())["llm_providers"]["local"]["api_key_env"] == "LOCAL_API_KEY"
    assert KEY in (here / ".env").read_text()


async def test_an_address_without_models_names_the_cure_and_tells_nothing_of_what_it_found(database_url: str) -> None:
    async with vendor_server() as vendor, empty_installation(database_url) as http:

        async def reported(url: str, key: str = "") -> str:
            answer = await http.post("/api/v1/setup/models", json={"url": url, "key": key})
            assert answer.status_code == 400, answer.text
            return answer.json()["detail"]

        assert "cannot be the address of a model server" in await reported("http://169.254.169.254/v1")
        assert "cannot be the address of a model server" in await reported("http://[::ffff:169.254.169.254]/v1")
        assert "write it as http://localhost:11434/v1" in await reported("file:///etc/passwd")
        assert "only a host" in await reported("http://user:pw@127.0.0.1/v1")
        assert "check that the server runs" in await reported("http://127.0.0.1:1/v1")
        assert "cannot be resolved" in await reported("http://\u200b/v1")
        for key in ("sk-hunter2\u200b", "sk-hunter2\nx"):
            answer = await reported("http://127.0.0.1:1/v1", key)
            assert ("copy it once more" in answer, "hunter2" in answer) == (True, False)
        vendor.replies.append(json_reply(200, {"secret": "hunter2"}))
        answer = await reported(f"{vendor.url}/v1")
        assert "does not answer with a list of models" in answer
        assert "hunter2" not in answer
        vendor.replies.append(json_reply(200, {"data": []}))
        assert "load one there first" in await reported(f"{vendor.url}/v1")


async def test_a_cluster_is_connected_by_a_shipped_recipe_and_by_nothing_else(database_url: str, here: Path, warm: tuple[str, ...]) -> None:
    programs = here / "programs"
    programs.mkdir()
    # What `npx` would have started: a server with the tools of a cluster.
    (programs / "npx").write_text(f"#!/bin/sh\nexec {shlex.join([*warm, *SIMULATED_CLUSTER])} --incident crashloop\n")
    (programs / "npx").chmod(0o755)
    (here / "kube config").write_text("a file")
    async with empty_installation(database_url, env={"PATH": f"{programs}:/usr/bin:/bin"}) as http:

        async def connect(recipe: str, **values: str) -> httpx.Response:
            return await http.post("/api/v1/setup/tool-server", json={"recipe": recipe, "values": values})

        done = (await connect("kubernetes", KUBECONFIG=str(here / "kube config"))).json()
        assert done["ok"], done
        assert "pods_list" in done["tools"]
        assert done["written"] == [".env: KUBECONFIG"]
        servers = (await http.get("/api/v1/system/mcp-servers")).json()["servers"]
        assert all("KUBECONFIG" not in (server["error"] or "") for server in servers)
        lacking = (await connect("grafana", GRAFANA_URL="http://127.0.0.1:1", GRAFANA_SERVICE_ACCOUNT_TOKEN=KEY)).json()
        assert (lacking["ok"], lacking["cure"]) == (False, "install uv: uvx comes with it (https://docs.astral.sh/uv/)")
        for refused in (
            await connect("bash"),
            await connect("kubernetes", command="bash"),
            await connect("kubernetes", KUBECONFIG="/none"),
        ):
            assert refused.status_code == 400, refused.text
    assert not (here / "config").exists()
    assert (here / ".env").read_text() == f"KUBECONFIG='{here / 'kube config'}'\n"


async def test_what_cannot_be_written_or_would_not_load_changes_nothing(database_url: str, here: Path) -> None:
    (here / "config/tarsy.d").mkdir(parents=True)
    (here / "config/tarsy.d/mine.yaml").write_text("agents: {Mine: {}}\n")
    async with vendor_server() as vendor, empty_installation(database_url) as http:
        # Broken behind our back: the reload refuses it.
        (here / "config/tarsy.d/mine.yaml").write_text("agents: {Mine: {kind: x}}\n")
        vendor.replies.extend([MODELS, MODEL.reply(Answer(text=("ready",)))])
        wanted = {"url": f"{vendor.url}/v1", "model": MODEL.model}
        refused = (await http.post("/api/v1/setup/local-model", json=wanted)).json()
        assert (refused["ok"], "would not load" in refused["message"], refused["written"]) == (False, True, [])
        assert sorted(path.name for path in (here / "config").iterdir()) == ["tarsy.d"]
        (here / "config/tarsy.yaml").mkdir()
        vendor.replies.extend([MODELS, MODEL.reply(Answer(text=("ready",)))])
        stuck = await http.post("/api/v1/setup/local-model", json=wanted)
        assert "config/tarsy.yaml" in stuck.text
        assert sorted(path.name for path in (here / "config").iterdir()) == ["tarsy.d", "tarsy.yaml"]


async def test_the_first_alert_has_the_callers_own_token_where_one_is_needed(database_url: str) -> None:
    async with empty_installation(database_url) as http:
        assert (await http.get("/api/v1/setup/first-alert")).json() == {"url": None, "token": None}
    async with empty_installation(database_url, opened=False, api_tokens="ann=first-token,bob=second-token") as http:
        assert (await http.get("/api/v1/setup")).status_code == 401
        assert (await http.post("/api/v1/setup/open", json={"code": "x"})).status_code == 401
    async with empty_installation(database_url, bearer="second-token", api_tokens="ann=first-token,bob=second-token") as http:
        assert (await http.get("/api/v1/setup/first-alert")).json() == {"url": None, "token": "second-token"}
