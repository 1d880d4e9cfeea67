"""Servers that others wrote, over every transport."""

import json
import re
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from anyio.streams.text import TextReceiveStream

from support.opening import SERVERS, npm_program, opened, server, stdio
from support.paths import ROOT
from tarsy.config.resolve.resolved import ResolvedMcpServer, ResolvedTransport
from tarsy.config.schema.documents import MCP_SERVERS as BUILTINS

TRANSPORTS = ["stdio", "http", "sse"]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@asynccontextmanager
async def everything(transport: str) -> AsyncGenerator[ResolvedMcpServer]:
    program = npm_program("mcp-server-everything")
    if transport == "stdio":
        yield stdio("everything", program)
        return
    port = free_port()
    mode, path = ("streamableHttp", "mcp") if transport == "http" else ("sse", "sse")
    async with await anyio.open_process([program, mode], env={"PORT": str(port), "PATH": "/usr/bin:/usr/local/bin:/bin"}) as process:
        try:
            assert process.stderr is not None
            with anyio.fail_after(30):
                async for text in TextReceiveStream(process.stderr):
                    if re.search(r"listening|running on port|port \d+", text, re.IGNORECASE):
                        break
            yield server("everything", ResolvedTransport(type=transport, url=f"http://127.0.0.1:{port}/{path}"))
        finally:
            process.kill()


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_results_progress_and_wrong_arguments_arrive_over_every_transport(transport: str) -> None:
    async with everything(transport) as config, opened(config) as tools:
        result = await tools.call("everything.trigger-long-running-operation", "duration: 1\nsteps: 4")
        assert not result.is_error
        assert tools.output == ["[1/4]\n", "[2/4]\n", "[3/4]\n", "[4/4]\n"], "while it runs"

        catalog = await tools.list()
        assert catalog.warnings == ()
        assert catalog.find("everything.echo") is not None
        assert [listing.error for listing in catalog.listings] == [None]

        echoed = await tools.call("everything.echo", '{"message": "hello, token=abc123def456"}')
        assert (echoed.is_error, echoed.content) == (False, "Echo: hello, token=[MASKED_TOKEN]")
        assert "abc123def456" not in echoed.call.arguments

        assert "3" in (await tools.call("everything.get-sum", "a=1, b=2")).content
        assert "[image, image/png, " in (await tools.call("everything.get-tiny-image")).content
        assert "temperature" in (await tools.call("everything.get-structured-content", '{"location": "Chicago"}')).content
        links = await tools.call("everything.get-resource-links", '{"count": 2}')
        assert links.content.count("[resource ") == 2
        resource = await tools.call("everything.get-resource-reference", '{"resourceType": "Blob", "resourceId": 1}')
        assert re.search(r"\[resource demo://\S+, \S+, \d+ bytes\]", resource.content)

        refused = await tools.call("everything.get-sum", '{"a": "one", "b": 2}')
        assert (refused.is_error, refused.refused) == (True, True), "without a call"
        assert "a: 'one' is not of type 'number'" in refused.content


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_tool_that_takes_too_long_is_abandoned_and_the_server_stays_usable(transport: str) -> None:
    async with everything(transport) as config, opened(config, call_timeout=5.0) as tools:
        await tools.list()
        result = await tools.call("everything.trigger-long-running-operation", '{"duration": 60, "steps": 2}')
        assert (result.is_error, result.is_timeout, result.refused) == (True, True, False)
        assert "did not finish within 5 s" in result.content
        assert (await tools.call("everything.echo", "still there")).content == "Echo: still there"


async def test_the_file_system_server_shows_only_what_it_was_given(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("the password: hunter2 is written here\n")
    async with opened(stdio("files", npm_program("mcp-server-filesystem"), str(tmp_path))) as tools:
        catalog = await tools.list()
        reading = catalog.find("files.read_text_file")
        writing = catalog.find("files.write_file")
        assert reading is not None
        assert reading.read_only
        assert writing is not None
        assert not writing.read_only
        read = await tools.call("files.read_text_file", str(tmp_path / "notes.txt"))
        assert read.content.startswith("the password: [MASKED_PASSWORD]")
        outside = await tools.call("files.read_text_file", '{"path": "/etc/hostname"}')
        assert outside.is_error
        assert "denied" in outside.content.lower()


KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: shop
contexts: [{name: shop, context: {cluster: nowhere, user: reader}}, {name: spare, context: {cluster: nowhere, user: reader}}]
clusters: [{name: nowhere, cluster: {server: "http://127.0.0.1:9"}}]
users: [{name: reader, user: {}}]
"""


async def test_the_built_in_kubernetes_server_is_the_version_that_is_tested_here_and_everywhere(tmp_path: Path) -> None:
    tested = json.loads((SERVERS / "package.json").read_text())["dependencies"]["kubernetes-mcp-server"]
    transport = BUILTINS["kubernetes-server"]["transport"]
    (package,) = (argument for argument in transport["args"] if argument.startswith("kubernetes-mcp-server"))
    assert package == f"kubernetes-mcp-server@{tested}"
    for place in ("src/tarsy/setup/templates/kubernetes/tarsy.yaml", "docs/mcp-servers.md"):
        assert set(re.findall(r"kubernetes-mcp-server@?[\w.]*(?=,|\")", (ROOT / place).read_text())) == {package}
    assert f"kubernetes_mcp_server:v{tested}" in (ROOT / "deploy/kubernetes/base/kubernetes-mcp-server.yaml").read_text()

    (tmp_path / "kubeconfig").write_text(KUBECONFIG)
    options = [argument for argument in transport["args"] if argument not in {"-y", package, "{{.KUBECONFIG}}"}]
    program = stdio("kubernetes", npm_program("kubernetes-mcp-server"), *options, str(tmp_path / "kubeconfig"))
    async with opened(program) as tools:
        catalog = await tools.list()
        assert catalog.warnings == ()
        assert all(tool.read_only for tool in catalog.tools)
        assert {"kubernetes.pods_list", "kubernetes.pods_log", "kubernetes.events_list"} <= {tool.name for tool in catalog.tools}
        assert (await tools.call("kubernetes.configuration_view")).content.count("http://127.0.0.1:9") == 1


async def test_a_file_is_shown_once_although_its_server_sends_it_twice(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("the pods were restarted\nby hand")
    async with opened(stdio("files", npm_program("mcp-server-filesystem"), str(tmp_path))) as tools:
        result = await tools.call("files.read_text_file", json.dumps({"path": str(tmp_path / "notes.txt")}))
        assert result.content == "the pods were restarted\nby hand"
