"""The real server over stdio gives the recorded models what they claim to have read."""

import json
import re
import sys
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import jsonschema
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.types import CallToolResult, TextContent

from tarsy.agent.react.parser import ReActAction, parse
from tarsy.demo.chain import SERVER
from tarsy.demo.cluster import build_server
from tarsy.demo.samples import Sample, list_samples
from tarsy.demo.world import load_world
from tarsy.domain.recording import RecordedCall
from tarsy.domain.tool import LOAD_SKILL_TOOL, RUN_AGENT_TOOL
from tarsy.tools.masking import Masker

# Far below the size from which results are summarised, which would need a model call that no recording has.
MAX_CHARACTERS = 8_000


@asynccontextmanager
async def running(sample: Sample) -> AsyncGenerator[Client]:
    """The server just as the chain starts it."""
    transport = sample.chain.mcp_servers[SERVER].transport
    assert transport.command
    with anyio.fail_after(60):
        async with Client(StdioServerParameters(command=transport.command, args=list(transport.args))) as client:
            yield client


def calls_of(call: RecordedCall) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The calls of the cluster's tools in a recorded answer, native or ReAct, as (id, tool, arguments)."""
    for chunk in call.chunks:
        if chunk.tool_call and chunk.tool_call.name not in {RUN_AGENT_TOOL, LOAD_SKILL_TOOL}:
            arguments = chunk.tool_call.arguments
            yield chunk.tool_call.id, chunk.tool_call.name, json.loads(arguments) if isinstance(arguments, str) else dict(arguments)
    turn = parse("".join(chunk.text or "" for chunk in call.chunks))
    if isinstance(turn, ReActAction):
        yield f"{call.track}#{call.turn}", turn.tool, json.loads(turn.tool_input)


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


async def replay(client: Client, sample: Sample) -> Mapping[str, CallToolResult]:
    """Make every recorded tool call for real."""
    results: dict[str, CallToolResult] = {}
    for call in sample.recording.calls:
        for call_id, name, arguments in calls_of(call):
            assert name.startswith(f"{SERVER}.")
            results[call_id] = await client.call_tool(name.removeprefix(f"{SERVER}."), arguments)
    return results


def squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text)


@pytest.mark.parametrize("sample", list_samples(), ids=lambda sample: sample.name)
async def test_every_recorded_tool_call_gets_the_answer_that_the_analysis_quotes(sample: Sample) -> None:
    async with running(sample) as client:
        listed = (await client.list_tools()).tools
        results = await replay(client, sample)
    for tool in listed:
        assert tool.annotations
        assert tool.annotations.read_only_hint
        assert tool.description
    schemas = {tool.name: tool.input_schema for tool in listed}
    for call in sample.recording.calls:
        for _, name, arguments in calls_of(call):
            jsonschema.validate(arguments, schemas[name.removeprefix(f"{SERVER}.")])
    assert {call_id for call_id, result in results.items() if result.is_error} == set(sample.incident.planned_errors)
    masker = Masker.for_server(sample.chain.mcp_servers[SERVER].masking)
    answers = [text_of(result) for result in results.values()]
    assert max(map(len, answers)) < MAX_CHARACTERS
    shown = [squeezed(masker.mask(answer)) for answer in answers]
    missing = [quote for quote in sample.incident.evidence if not any(squeezed(quote) in answer for answer in shown)]
    assert missing == []
    # The same in another process, this one.
    again = build_server(load_world(sample.name))
    calls = [(name.removeprefix(f"{SERVER}."), arguments) for call in sample.recording.calls for _, name, arguments in calls_of(call)]
    assert [again.call(name, arguments)["content"][0]["text"] for name, arguments in calls] == answers


def test_made_up_secrets_leave_the_server_and_do_not_pass_the_mask() -> None:
    seen = 0
    for sample in list_samples():
        masker = Masker.for_server(sample.chain.mcp_servers[SERVER].masking)
        world = load_world(sample.name)
        for namespace in sorted({secret.namespace for secret in world.secrets}):
            answer = build_server(world).call("secrets_list", {"namespace": namespace})["content"][0]["text"]
            masked = masker.mask(answer)
            # Hosts, ports, users and names of databases are shown.
            shown = r"(?!(?:\w*_)?(?:host|port|user|username|database|dbname)\b)"
            values = re.findall(rf"^  {shown}[\w.]+: ([A-Za-z0-9+/=]+)$", answer, re.IGNORECASE | re.MULTILINE)
            named = [value for value in values if value not in {secret.name for secret in world.secrets} | set(world.namespaces)]
            assert all(value not in masked for value in named)
            seen += len(named)
    assert seen > 5


def test_a_token_in_a_log_does_not_pass_the_mask() -> None:
    (sample,) = (sample for sample in list_samples() if sample.name == "crypto-miner")
    masker = Masker.for_server(sample.chain.mcp_servers[SERVER].masking)
    log = build_server(load_world(sample.name)).call("pods_log", {"namespace": "ci", "name": "build-runner-0"})["content"][0]["text"]
    assert "eyJhbGciOi" in log
    assert "eyJ" not in masker.mask(log)


async def test_an_unknown_incident_is_refused_with_the_incidents_there_are() -> None:
    process = await anyio.run_process([sys.executable, "-m", "tarsy.demo.cluster", "--incident", "nothing"], check=False)
    assert process.returncode == 2
    assert b"crashloop" in process.stderr


@pytest.mark.parametrize(
    ("line", "code", "part"),
    [
        ("{", -32700, "not JSON"),
        ("[]", -32600, "JSON object"),
        ('{"jsonrpc": "2.0", "id": 7, "method": "resources/list"}', -32601, "resources/list"),
        ('{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "pods_delete"}}', -32602, "pods_list"),
        ('{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": []}', -32602, "there is no tool None"),
    ],
)
def test_a_request_that_makes_no_sense_is_answered_with_the_reason(line: str, code: int, part: str) -> None:
    answer = json.loads(build_server(load_world("crashloop")).answer(line) or "")
    assert answer["error"]["code"] == code
    assert part in answer["error"]["message"]
    assert answer["id"] == (7 if '"id"' in line else None)


def test_a_notification_gets_no_answer() -> None:
    assert build_server(load_world("crashloop")).answer('{"jsonrpc": "2.0", "method": "notifications/initialized"}') is None


async def test_arguments_that_do_not_fit_are_reported_to_the_model() -> None:
    (sample,) = (sample for sample in list_samples() if sample.name == "crashloop")
    async with running(sample) as client:
        refused = await client.call_tool("pods_log", {"namespace": "shop", "tail": 100_000})
    assert refused.is_error
    assert all(argument in text_of(refused) for argument in ("name", "tail"))
