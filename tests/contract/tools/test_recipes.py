"""The recipes of the manual and of the setup page, with the servers that they name, against the real thing where it runs here."""

import json
import re
import shutil
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import anyio
import httpx2
import sqlalchemy as sa
import yaml

from support.connection_cutter import cutting
from support.opening import SERVERS, npm_program, opened
from support.paths import ROOT
from support.prometheus import monitoring
from tarsy.config.resolve.resolved import ResolvedMcpServer
from tarsy.config.schema.mcp_servers import MCPServerConfig
from tarsy.setup.recipes import recipes
from tarsy.tools.executor import probe

PAGE = (ROOT / "docs" / "tool-server-recipes.md").read_text()
ENTRIES: dict[str, Any] = {
    name: entry
    for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    for name, entry in yaml.safe_load(block)["mcp_servers"].items()
}


def program(package: str) -> str:
    """The installed program of a package that a recipe runs with npx or uvx, if it has the version of the recipe."""
    name, _, version = package.rpartition("@")
    installed = json.loads((SERVERS / "package.json").read_text())["dependencies"]
    if name in installed:
        assert installed[name] == version
        return npm_program(name.rpartition("/")[2])
    locked = re.search(rf"^{name}==(\S+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    assert locked
    assert locked[1] == version
    found = shutil.which(name, path=str(Path(sys.executable).parent))
    assert found
    return found


def recipe(name: str, **env: str) -> ResolvedMcpServer:
    """The server of a recipe, with its arguments and its probe, and with these variables."""
    config = MCPServerConfig.model_validate(ENTRIES[name])
    package, *arguments = [argument for argument in config.transport.args if argument != "-y"]
    transport = {"type": "stdio", "command": program(package), "args": arguments, "env": {**config.transport.env, **env}}
    raw = {"name": name, "transport": transport, "probe": config.probe and config.probe.model_dump(), "tools": config.tools}
    return ResolvedMcpServer.model_validate(raw)


def test_the_setup_page_writes_what_the_manual_says() -> None:
    for name in ("prometheus", "grafana", "github"):
        ours, manual = recipes()[name].entry, ENTRIES[name]
        assert ours is not None
        assert ours["transport"] == manual["transport"] | ({"env": ours["transport"]["env"]} if "env" in manual["transport"] else {})
        assert (ours["instructions"], ours.get("probe")) == (manual["instructions"], manual.get("probe"))


async def test_prometheus_is_queried(tmp_path: Path) -> None:
    with monitoring(tmp_path, "http://127.0.0.1:9/") as watched:
        address = f"http://127.0.0.1:{watched.prometheus}"
        await ready(address)
        server = recipe("prometheus", PROMETHEUS_URL=address)
        async with opened(server) as tools:
            catalog = await tools.list()
            assert catalog.warnings == ()
            assert all(tool.read_only for tool in catalog.tools)
            assert await probe(tools.executor, server) is None
            result = await tools.call("prometheus.prometheus_query", '{"query": "vector(6) * 7"}')
            assert (result.is_error, '"42"' in result.content) == (False, True)


async def ready(address: str) -> None:
    with anyio.fail_after(60):
        async with httpx2.AsyncClient(base_url=address, trust_env=False) as http:
            while True:
                with suppress(httpx2.TransportError):
                    if (await http.get("/-/ready")).is_success:
                        return
                await anyio.sleep(0.05)


@contextmanager
def grafana() -> Generator[tuple[str, list[str]]]:
    """What stands at the address of Grafana: it knows no data sources, and notes the tokens that it gets."""
    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers.get("Authorization", ""))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(b"[]" if self.path.startswith("/api/datasources") else b"{}")

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - its name in the server
            del format, arguments  # the tests' output is for failures

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", seen
        server.shutdown()
        thread.join()


async def test_grafanas_server_offers_prometheus_and_loki_and_cannot_write() -> None:
    with grafana() as (url, seen):
        server = recipe("grafana", GRAFANA_URL=url, GRAFANA_SERVICE_ACCOUNT_TOKEN="glsa-of-a-viewer")
        async with opened(server) as tools:
            catalog = await tools.list()
            assert {"grafana.query_prometheus", "grafana.query_loki_logs", "grafana.list_datasources"} <= set(catalog.names)
            assert [tool.name for tool in catalog.tools if not tool.read_only] == []
            assert await probe(tools.executor, server) is None
    assert "Bearer glsa-of-a-viewer" in seen
    server = recipe("grafana", GRAFANA_URL="http://127.0.0.1:9", GRAFANA_SERVICE_ACCOUNT_TOKEN="glsa-of-a-viewer")
    async with opened(server) as tools:
        assert "connection refused" in (await probe(tools.executor, server) or "")


async def test_postgresql_is_read_and_cannot_be_written(database_url: str, tmp_path: Path) -> None:
    (settings,) = re.findall(r"```\n(\[\[sources.*?)```", PAGE, re.DOTALL)
    (statements,) = re.findall(r"```\n(CREATE ROLE.*?)```", PAGE, re.DOTALL)
    (tmp_path / "dbhub.toml").write_text(settings)
    async with cutting(database_url) as (_, engine):
        dsn = engine.url.set(drivername="postgres", username="tarsy_reader").render_as_string(hide_password=False)
        async with engine.begin() as connection:
            for statement in statements.strip().split(";\n"):
                await connection.execute(sa.text(statement.rstrip(";")))
        server = recipe("postgresql", DSN=dsn)
        arguments = [one.replace("config/dbhub.toml", str(tmp_path / "dbhub.toml")) for one in server.transport.args]
        server = server.model_copy(update={"transport": server.transport.model_copy(update={"args": arguments})})
        async with opened(server) as tools:
            assert all(tool.read_only for tool in (await tools.list()).tools)
            assert await probe(tools.executor, server) is None
            read = await tools.call("postgresql.execute_sql", '{"sql": "SELECT count(*) AS sessions FROM alert_sessions"}')
            assert '"sessions"' in read.content
            for sql in ("DROP TABLE alert_sessions", "SELECT 1; COMMIT; DROP TABLE alert_sessions"):
                refused = await tools.call("postgresql.execute_sql", json.dumps({"sql": sql}))
                assert "Read-only mode" in refused.content
        async with engine.begin() as connection:
            await connection.execute(sa.text("DROP ROLE tarsy_reader"))
