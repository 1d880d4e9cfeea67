"""TARSy as an MCP server: the SDK's client and the MCP inspector, over HTTP and standard input and output."""

import json
import subprocess
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, TextContent, TextResourceContents

from support.api_world import services_on, serving
from support.opening import npm_program
from support.tarsy_process import Served, Tarsy, plain_environment, served
from tarsy.api.app import create_app
from tarsy.db.connection import create_engine
from tarsy.demo.samples import list_samples
from tarsy.mcp_server.endpoint import McpEndpoint
from tarsy.tools.session import AGENT_CALL

SAMPLE = list_samples()[0]
TOKENS = "ana:responder=ana-token,vic:viewer=vic-token"
TOOLS = {"investigate", "get_investigation", "list_incidents", "search", "get_evidence", "ask", "hint"}
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
NOWHERE = "4f0c6d0e-2f4b-4a57-9d1d-6a4f6f1d7e21"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, module_database_url: str) -> Iterator[Served]:
    env = {"DATABASE_URL": module_database_url, "TARSY_API_TOKENS": TOKENS}
    with served(tmp_path_factory.mktemp("served"), env=env) as running:
        yield running


@asynccontextmanager
async def over_http(server: Served, token: str = "ana-token", *, mode: Any = "auto", **headers: str) -> AsyncGenerator[Client]:  # noqa: S107 - of this test's server
    sent = {"Authorization": f"Bearer {token}", **headers}
    async with (
        httpx2.AsyncClient(headers=sent, timeout=60, trust_env=False) as http,
        Client(streamable_http_client(f"{server.url}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


@asynccontextmanager
async def over_stdio(server: Served, warm: tuple[str, ...], token: str = "ana-token") -> AsyncGenerator[Client]:  # noqa: S107 - of this test's server
    command, *arguments = *warm, "mcp", "--url", server.url, "--token", token
    async with Client(StdioServerParameters(command=command, args=arguments, env=plain_environment(), cwd=server.cwd)) as client:
        yield client


def content(result: CallToolResult) -> dict[str, Any]:
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return result.structured_content


def refusal(result: CallToolResult) -> str:
    assert result.is_error
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


async def investigated(server: Served, client: Client, messages: list[str | None]) -> dict[str, Any]:
    """Investigate the sample. The work begins when the client has its first report of progress, so that it gets all others."""
    headers = {"Authorization": "Bearer ana-token"}

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        assert (progress >= 0, total) == (True, None)
        messages.append(message)
        if len(messages) == 1:
            resumed = await http.delete("/api/v1/system/pause")
            assert resumed.status_code == 200, resumed.text

    alert = {"alert": SAMPLE.alert_data, "alert_type": SAMPLE.alert_type, "wait_seconds": 60}
    async with httpx2.AsyncClient(base_url=server.url, headers=headers, trust_env=False) as http:
        paused = await http.post("/api/v1/system/pause", json={"reason": "A test follows from the beginning."})
        assert paused.status_code == 200, paused.text
        return content(await client.call_tool("investigate", alert, progress_callback=on_progress))


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_an_agent_investigates_follows_reads_and_asks_over_http(server: Served, mode: str) -> None:
    progress: list[str | None] = []
    async with over_http(server, mode=mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        found = await investigated(server, client, progress)
        session_id = found["session_id"]
        again = content(await client.call_tool("get_investigation", {"session_id": session_id}))
        cited = found["verdict"]["evidence"][0]
        evidence = content(await client.call_tool("get_evidence", {"session_id": session_id, "evidence_id": cited}))
        rest = content(await client.call_tool("get_evidence", {"session_id": session_id, "evidence_id": cited, "start": 10}))
        searched = content(await client.call_tool("search", {"text": found["verdict"]["object"]["name"]}))
        answer = content(await client.call_tool("ask", {"session_id": session_id, "question": SAMPLE.questions[0], "wait_seconds": 60}))
        incidents = content(await client.call_tool("list_incidents", {"state": ["open"]}))
        (report,) = (await client.read_resource(found["report"])).contents
        (template,) = (await client.list_resource_templates()).resource_templates
    assert set(tools) == TOOLS
    assert {name for name, tool in tools.items() if tool.annotations and tool.annotations.read_only_hint} == TOOLS - {
        "investigate",
        "ask",
        "hint",
    }
    assert (found["status"], found["verdict"]["outcome"]) == ("completed", "fault")
    assert again == found
    assert progress[0] == "Follows the session"
    assert len(progress) > 1
    assert (evidence["id"], evidence["size"]) == (cited, len(evidence["text"]))
    assert rest["text"] == evidence["text"][10:]
    assert session_id in {one["session_id"] for one in searched["investigations"]}
    assert (answer["status"], answer["error_message"]) == ("completed", None)
    assert answer["answer"]
    assert incidents["incidents"] == []
    assert template.uri_template == "tarsy://sessions/{session_id}/report"
    assert isinstance(report, TextResourceContents)
    assert report.mime_type == "text/markdown"
    assert found["verdict"]["mechanism"] in report.text
    assert SAMPLE.questions[0] in report.text


async def test_the_same_tools_are_there_on_standard_input_and_output(server: Served, warm: tuple[str, ...]) -> None:
    progress: list[str | None] = []
    async with over_stdio(server, warm) as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        found = await investigated(server, client, progress)
        (report,) = (await client.read_resource(found["report"])).contents
        missing = refusal(await client.call_tool("get_investigation", {"session_id": NOWHERE}))
    assert tools == TOOLS
    assert found["status"] == "completed"
    assert progress[0] == "Follows the session"
    assert len(progress) > 1
    assert isinstance(report, TextResourceContents)
    assert found["title"] in report.text
    assert NOWHERE in missing


async def test_a_call_returns_when_its_time_is_up_and_the_investigation_goes_on(server: Served) -> None:
    alert = {"alert": SAMPLE.alert_data, "alert_type": SAMPLE.alert_type, "wait_seconds": 0}
    async with over_http(server) as client:
        started = content(await client.call_tool("investigate", alert))
        ended = content(await client.call_tool("get_investigation", {"session_id": started["session_id"], "wait_seconds": 60}))
    assert started["completed_at"] is None
    assert ended["status"] == "completed"


async def test_a_tool_needs_the_role_of_its_operation(server: Served) -> None:
    async with over_http(server, "vic-token") as client:
        read = content(await client.call_tool("search", {"text": "anything"}))
        refused = [
            refusal(await client.call_tool(*call))
            for call in (
                ("investigate", {"alert": "disk full"}),
                ("ask", {"session_id": NOWHERE, "question": "Why?"}),
                ("hint", {"session_id": NOWHERE, "text": "Look at web-3."}),
            )
        ]
    assert "investigations" in read
    assert all(text.endswith("This needs the role responder; vic has the role viewer.") for text in refused)


async def test_an_agent_of_tarsy_may_read_but_starts_nothing(server: Served, warm: tuple[str, ...]) -> None:
    mark: Any = {AGENT_CALL: True}
    for connected in (over_http(server), over_stdio(server, warm)):
        async with connected as client:
            read = content(await client.call_tool("list_incidents", {}, meta=mark))
            refused = refusal(await client.call_tool("investigate", {"alert": "disk full"}, meta=mark))
        assert read["total"] == 0
        assert refused.endswith("An agent of TARSy may read here, but not start or change an investigation.")


async def test_mistakes_are_answered_with_a_sentence(server: Served) -> None:
    async with over_http(server) as client:
        unknown_type = refusal(await client.call_tool("investigate", {"alert": "disk full", "alert_type": "nonsense"}))
        empty = refusal(await client.call_tool("investigate", {"alert": " "}))
        running = refusal(await client.call_tool("hint", {"session_id": NOWHERE, "text": "x"}))
        with pytest.raises(MCPError, match=NOWHERE):
            await client.read_resource(f"tarsy://sessions/{NOWHERE}/report")
    assert "nonsense" in unknown_type
    assert empty.endswith("The alert is empty.")
    assert NOWHERE in running


async def test_strangers_and_pages_of_other_origins_are_refused(server: Served) -> None:
    headers = {"Accept": "application/json, text/event-stream"}
    known = headers | {"Authorization": "Bearer ana-token"}
    async with httpx2.AsyncClient(base_url=server.url, trust_env=False) as http:
        stranger = await http.post("/mcp", json=PING, headers=headers)
        foreign = await http.post("/mcp", json=PING, headers=known | {"Origin": "https://evil.example"})
        admitted = await http.post("/mcp", json=PING, headers=known)
        stream = await http.get("/mcp", headers=known)
    assert (stranger.status_code, stranger.headers["www-authenticate"]) == (401, "Bearer")
    assert (foreign.status_code, admitted.status_code, stream.status_code) == (403, 200, 405)


async def test_a_server_without_a_login_answers_only_for_its_own_names(database_url: str) -> None:
    engine, endpoint = create_engine(database_url), McpEndpoint()
    services = services_on(engine)
    app = create_app(services)
    endpoint.mount(app)
    headers = {"Accept": "application/json, text/event-stream"}
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(endpoint.run)
        async with serving(services, app) as api:
            own = await api.client.post("/mcp", json=PING, headers=headers)
            rebound = await api.client.post("/mcp", json=PING, headers=headers | {"Host": "evil.example"})
            assert (own.status_code, rebound.status_code) == (200, 421)
        tasks.cancel_scope.cancel()
    await engine.dispose()


def test_a_wrong_token_ends_the_command_with_a_sentence(server: Served, tarsy: Tarsy) -> None:
    ended = tarsy("mcp", "--url", server.url, "--token", "wrong", cwd=server.cwd)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "requires a valid API token" in ended.stderr


def test_the_mcp_inspector_lists_and_calls_tools_over_http_and_standard_input_and_output(server: Served, warm: tuple[str, ...]) -> None:
    over_http = [f"{server.url}/mcp", "--transport", "http", "--header", "Authorization: Bearer vic-token"]
    over_stdio = [*warm, "mcp", "--url", server.url, "--token", "vic-token"]

    def inspect(reached: list[str], *request: str) -> Any:
        command = [npm_program("mcp-inspector"), "--cli", *reached, "--method", *request]
        ended = subprocess.run(
            command, env=plain_environment(HOME=str(server.cwd)), cwd=server.cwd, capture_output=True, text=True, timeout=60, check=False
        )
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout)

    listed = inspect(over_http, "tools/list")
    called = inspect(over_stdio, "tools/call", "--tool-name", "search", "--tool-arg", "text=nothing-of-the-kind")
    assert {tool["name"] for tool in listed["tools"]} == TOOLS
    assert called["structuredContent"] == {"investigations": []}
