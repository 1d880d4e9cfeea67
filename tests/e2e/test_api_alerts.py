"""Alerts over HTTP: what is taken, what is refused, and that it is kept word for word."""

import json
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread
from structlog.testing import capture_logs

from support.api_world import World, serving, world
from support.audited import entries_about
from support.paths import FAULT_SERVER
from tarsy.api.auth import auth_settings
from tarsy.api.tokens import read_tokens
from tarsy.cli.main import app
from tarsy.db.audit import AuditAction
from tarsy.db.connection import listen_connection
from tarsy.settings import Settings
from tarsy.wiring.application import application

MIB = 1024 * 1024


async def _stored(api: World, session_id: str) -> dict[str, Any]:
    answer = await api.client.get(f"/api/v1/sessions/{session_id}")
    assert answer.status_code == 200
    return answer.json()


async def test_an_alert_becomes_a_pending_session_with_its_chain(database_url: str) -> None:
    async with world(database_url) as api:
        answer = await api.client.post("/api/v1/alerts", json={"data": "disk full", "runbook": "https://github.com/o/r/blob/main/disk.md"})
        assert answer.status_code == 202
        assert answer.json()["status"] == "pending"
        session = await _stored(api, answer.json()["session_id"])
    assert session["alert_data"] == "disk full"
    assert session["alert_type"] == "kubernetes"
    assert session["author"] == "api-client"
    assert session["queue_position"] == 1
    assert session["chat_enabled"] is True
    assert session["planned_stages"] == [
        {"name": "triage", "agents": ["KubernetesAgent"], "synthesis": False},
        {"name": "analysis", "agents": ["A", "B"], "synthesis": True},
    ]


async def test_a_json_value_is_kept_exactly_as_it_was_written(database_url: str) -> None:
    sources = (
        '{"b":  1,\n "a": 1.10}',
        "[1, 2 ,3]",
        "12345678901234567890.000",
        "true",
        '{"name": "J\\u00f6rg", "nested": {"data": [{}]}}',
    )
    async with world(database_url) as api:
        for source in sources:
            body = f'{{ "alert_type" : "kubernetes", "data": "first", "data" :  {source} , "runbook": null }}'
            answer = await api.client.post("/api/v1/alerts", content=body, headers={"Content-Type": "application/json; charset=utf-8"})
            assert answer.status_code == 202, answer.text
            assert (await _stored(api, answer.json()["session_id"]))["alert_data"] == source


async def test_plain_text_is_the_alert_itself(database_url: str) -> None:
    async with world(database_url) as api:
        text = 'line one\n{"data": "not parsed"}\t\U0001f525 '
        answer = await api.client.post(
            "/api/v1/alerts", params={"alert_type": "silent"}, content=text.encode(), headers={"Content-Type": "text/plain"}
        )
        assert answer.status_code == 202, answer.text
        session = await _stored(api, answer.json()["session_id"])
    assert (session["alert_data"], session["alert_type"]) == (text, "silent")


async def test_a_webhook_body_is_the_alert_itself_whatever_it_is(database_url: str) -> None:
    alertmanager = '{"version": "4", "status":"firing",  "alerts": [{"labels": {"alertname": "KubePodCrashLooping"}}], "data": 1.0}'
    async with world(database_url) as api:
        for body, kind in (
            (alertmanager, "application/json"),
            ("Subject: disk full", "message/rfc822"),
            ("a=b", "application/x-www-form-urlencoded"),
        ):
            answer = await api.client.post("/api/v1/webhook?alert_type=silent", content=body, headers={"Content-Type": kind})
            assert answer.status_code == 202, answer.text
            session = await _stored(api, answer.json()["session_id"])
            assert (session["alert_data"], session["alert_type"]) == (body, "silent")
        refused = [await api.client.post("/api/v1/webhook", content=body) for body in (b" \n", b"\xff", b"x" * (16 * MIB + 1))]
    assert [answer.status_code for answer in refused] == [400, 400, 413]


async def test_only_senders_that_are_known_may_send_more_than_a_megabyte(database_url: str) -> None:
    login = auth_settings(host="127.0.0.1", tokens=read_tokens("alice=secret-token"))
    async with world(database_url, auth=login) as api:
        statuses = [
            (await api.client.post("/api/v1/webhook", content=b"x" * (MIB + 1), headers=headers)).status_code
            for headers in ({}, {"Authorization": "Bearer secret-token"})
        ]
    assert statuses == [413, 202]


async def test_a_title_with_half_a_character_does_not_take_the_list_from_the_others(database_url: str) -> None:
    async with world(database_url) as api:
        answer = await api.client.post("/api/v1/webhook", content='{"title": "half a \\ud83d character"}')
        assert answer.status_code == 202, answer.text
        listed = await api.client.get("/api/v1/sessions")
    assert listed.status_code == 200, listed.text
    assert [session["title"] for session in listed.json()["sessions"]] == ["half a \ufffd character"]


async def test_secrets_are_masked_before_they_are_stored(database_url: str) -> None:
    async with world(database_url) as api:
        session = await _stored(api, await api.submit("password=hunter2"))
    assert session["alert_data"] == "password=[MASKED]"


async def test_an_alert_of_one_mebibyte_is_taken_and_one_byte_more_is_not(database_url: str) -> None:
    async with world(database_url) as api:
        for data, status in (("x" * MIB, 202), ("x" * (MIB + 1), 413), ('"' * MIB, 202), ("é" * MIB, 413)):
            assert (await api.client.post("/api/v1/alerts", json={"data": data})).status_code == status
        headers = {"Content-Type": "text/plain"}
        assert (await api.client.post("/api/v1/alerts", content=b"x" * MIB, headers=headers)).status_code == 202
        too_large = await api.client.post("/api/v1/alerts", content=b"x" * (MIB + 1), headers=headers)
    assert too_large.status_code == 413
    assert too_large.headers["content-type"] == "application/problem+json"
    assert too_large.json()["type"] == "urn:tarsy:problem:too-large"


async def test_a_body_without_end_is_refused_before_it_ends(database_url: str) -> None:
    head = "POST /api/v1/alerts HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with world(database_url) as api:
        with anyio.fail_after(60):
            async with await anyio.connect_tcp("127.0.0.1", api.port) as stream:
                await stream.send(head.encode())
                for _ in range(17):
                    await stream.send(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
                answer = await stream.receive()
    assert answer.startswith(b"HTTP/1.1 413 ")


def _numbered(count: int) -> str:
    return ",".join(f'"tool-{number}"' for number in range(count))


def _oversized() -> Iterator[str]:
    """Each but the first has fewer than 64 KiB beside the alert."""
    yield '{"data": "x", "mcp": {"servers": [{"name": "kubernetes-server", "tools": [' + _numbered(300_000) + "]}]}}"
    yield '{"data": "x", "mcp": {"servers": [{"name": "kubernetes-server", "tools": [' + _numbered(1_001) + "]}]}}"
    yield '{"data": "x", "mcp": {"servers": [' + ",".join(["1"] * 30_000) + "]}}"
    yield '{"data": "x", "mcp": {"servers": [{"name": "' + "n" * 201 + '"}]}}'
    yield '{"data": "x", "alert_type": "' + "t" * 201 + '"}'
    yield '{"data": "x", "runbook": "https://' + "r" * 2_048 + '"}'
    yield '{"data": "x", ' + ",".join(f'"key{number}": 1' for number in range(300_000)) + "}"
    yield '{"data": "x", "' + "k" * 60_000 + '": 1}'


async def test_an_alert_of_very_many_values_is_too_large_and_as_many_commas_in_a_text_are_not(database_url: str) -> None:
    async with world(database_url) as api:
        headers = {"Content-Type": "application/json"}
        answer = await api.client.post("/api/v1/alerts", content='{"data": [' + "1," * 100_000 + "1]}", headers=headers)
        assert (answer.status_code, answer.json()["detail"]) == (413, "The request has more than 100000 JSON values.")
        answer = await api.client.post("/api/v1/alerts", content='{"data": "' + "1," * 200_000 + '"}', headers=headers)
        assert answer.status_code == 202


async def test_lists_and_names_of_any_length_are_refused_with_a_short_answer(database_url: str) -> None:
    async with world(database_url) as api:
        for body in _oversized():
            answer = await api.client.post("/api/v1/alerts", content=body, headers={"Content-Type": "application/json"})
            assert answer.status_code in {400, 413}, (body[:80], answer.text[:200])
            assert len(answer.content) < 2_000
        for query in ("status=x&" * 5_000, "status=pending&" * 4_000, "alert_type=" + "t" * 10_000):
            answer = await api.client.get(f"/api/v1/sessions?{query}")
            assert (answer.status_code, len(answer.content) < 8_000) == (400, True), answer.text[:200]
        answer = await api.client.post("/api/v1/login", content=b'{"token": "' + b"t" * 2_000_000)
        assert answer.status_code == 413


FOREIGN = (
    '{"version": "4", "status": "firing", "alerts": [{"labels": {"alertname": "KubePodCrashLooping"}}]}',
    '{"action": "created", "data": {"event": {}}, "actor": {"type": "application"}}',
    '[{"alertname": "DiskFull"}]',
    '{"alerts": [' + ",".join(['{"labels": {}}'] * 10_000) + "]}",
)


async def test_a_foreign_body_is_answered_with_where_it_is_taken(database_url: str) -> None:
    async with world(database_url) as api:
        for body in FOREIGN:
            answer = await api.client.post("/api/v1/alerts", content=body, headers={"Content-Type": "application/json"})
            assert answer.status_code == 400
            assert "POST it to /api/v1/webhook" in answer.json()["detail"]
            assert (await api.client.post("/api/v1/webhook", content=body)).status_code == 202


async def test_a_client_that_leaves_before_its_answer_is_one_line_of_the_log(database_url: str) -> None:
    heads = {
        "/api/v1/alerts": "POST /api/v1/alerts HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf",
        "/api/v1/login": "POST /api/v1/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf",
    }
    async with world(database_url) as api:
        with capture_logs() as logs, anyio.fail_after(60):
            for head in heads.values():
                async with await anyio.connect_tcp("127.0.0.1", api.port) as stream:
                    await stream.send(head.encode())
            while len(logs) < len(heads):
                await anyio.lowlevel.checkpoint()
        assert [(line["event"], line["log_level"], line["path"]) for line in logs] == [
            ("request.abandoned", "info", path) for path in heads
        ]


BAD_ALERTS = (
    ('{"data": ""}', "empty"),
    ('{"data": "  \\n "}', "empty"),
    ('{"data": null}', "empty"),
    ('{"data": {}}', "empty"),
    ('{"data": []}', "empty"),
    ("{}", "data: is missing"),
    ("", "Invalid JSON"),
    ('{"data": "x"', "Invalid JSON"),
    ('{"data": "x", "dta": 1}', "dta"),
    ('{"data": "a\\u0000b"}', "NUL"),
    ('{"data": "\\ud800"}', "hex escape"),
    ('{"data": "x", "alert_type": "nonsense"}', "Known types: kubernetes, silent"),
    ('{"data": "x", "alert_type": "a\\u0000"}', "NUL"),
    ('{"data": "x", "runbook": "file:///etc/passwd"}', "runbook"),
    ('{"data": "x", "mcp": {"servers": [{"name": "nowhere"}]}}', "no such MCP server"),
    ('{"data": "x", "mcp": {"servers": "all"}}', "mcp.servers"),
    ('{"data": ' + "[" * 90_000, "Invalid JSON"),
    ("[]", "object"),
)


async def test_a_bad_alert_is_refused_with_its_reason(database_url: str) -> None:
    async with world(database_url) as api:
        for body, reason in BAD_ALERTS:
            answer = await api.client.post("/api/v1/alerts", content=body, headers={"Content-Type": "application/json"})
            assert answer.status_code == 400, (body[:80], answer.text)
            assert answer.headers["content-type"] == "application/problem+json"
            assert reason in answer.json()["detail"]


async def test_an_unknown_type_lists_the_known_ones_for_programs_too(database_url: str) -> None:
    async with world(database_url) as api:
        answer = await api.client.post("/api/v1/alerts", json={"data": "x", "alert_type": "nonsense"})
    assert answer.json()["known_alert_types"] == ["kubernetes", "silent"]


async def test_other_media_types_and_bytes_that_are_no_text_are_refused(database_url: str) -> None:
    async with world(database_url) as api:
        form = await api.client.post("/api/v1/alerts", data={"data": "x"})
        binary = await api.client.post("/api/v1/alerts", content=b"\xff\xfe", headers={"Content-Type": "text/plain"})
    assert (form.status_code, binary.status_code) == (415, 400)


async def test_a_full_disk_is_reported_as_what_it_is_and_nothing_is_quoted(database_url: str) -> None:
    body = "BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END"
    async with world(database_url) as api, listen_connection(database_url) as database:
        await database.execute(f"CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $${body}$$")
        await database.execute("CREATE TRIGGER full_disk BEFORE INSERT ON alert_sessions EXECUTE FUNCTION full_disk()")
        with capture_logs() as logs:
            answer = await api.client.post("/api/v1/alerts", json={"data": "the words of the alert"})
        await database.execute("DROP TRIGGER full_disk ON alert_sessions")
        assert (await api.client.post("/api/v1/alerts", json={"data": "again"})).status_code == 202
    assert answer.status_code == 507
    assert answer.json()["type"] == "urn:tarsy:problem:database-full"
    assert "disk is full" in answer.json()["detail"]
    assert answer.headers["retry-after"] == "30"
    assert [line["event"] for line in logs] == ["request.failed"]
    assert "could not extend file" in logs[0]["error"]
    for hidden in ("INSERT", "the words of the alert"):
        assert hidden not in str(logs)


async def test_a_full_queue_says_when_to_come_back_and_never_overshoots(database_url: str) -> None:
    statuses: list[int] = []

    async with world(database_url, max_queue_size=3) as api:

        async def submit() -> None:
            answer = await api.client.post("/api/v1/alerts", json={"data": "storm"})
            statuses.append(answer.status_code)
            if answer.status_code == 429:
                assert int(answer.headers["retry-after"]) > 0
                assert answer.json()["type"] == "urn:tarsy:problem:queue-full"

        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(submit)
        queue = (await api.client.get("/api/v1/system/queue")).json()
    assert sorted(statuses) == [202] * 3 + [429] * 17
    assert (queue["pending"], queue["max_queue_size"]) == (3, 3)


async def test_who_submitted_is_noted_for_good(database_url: str) -> None:
    async with world(database_url) as api:
        session_id = await api.submit()
        entries = await entries_about(api.services.system.audit, session_id)
    assert [(entry.actor, entry.action) for entry in entries] == [("api-client", AuditAction.ALERT_SUBMITTED)]


async def test_alert_types_and_samples_are_listed(database_url: str) -> None:
    async with world(database_url) as api:
        types = (await api.client.get("/api/v1/alert-types")).json()
        samples = (await api.client.get("/api/v1/samples")).json()
    assert [entry["name"] for entry in types["alert_types"]] == ["kubernetes", "silent"]
    assert types["default_alert_type"] == "kubernetes"
    assert samples["samples"][0]["alert_data"] == "OOMKilled"


async def test_the_tool_selection_is_stored_as_it_was_sent(database_url: str) -> None:
    selection = {"servers": [{"name": "kubernetes-server", "tools": ["pods_list"]}]}
    async with world(database_url) as api:
        session = await _stored(api, await api.submit(mcp=selection))
    assert json.loads(json.dumps(session["mcp_selection"]["servers"])) == selection["servers"]


CONFIGURATION = """
mcp_servers:
  seen: {{transport: {{type: stdio, command: "{python}", args: [-S, "{program}"]}}, approval: never}}
  unseen: {{transport: {{type: stdio, command: no-such-program}}}}
agents:
  Investigator: {{mcp_servers: [seen]}}
agent_chains:
  disks: {{alert_types: [disk], stages: [{{name: look, agents: [{{name: Investigator}}]}}]}}
defaults: {{llm_provider: recorded, alert_type: disk}}
"""


@asynccontextmanager
async def configured_world(database_url: str, place: Path) -> AsyncGenerator[World]:
    """The application as configured by files, with a tool server that has been looked at."""
    program = FAULT_SERVER
    place.joinpath("tarsy.yaml").write_text(CONFIGURATION.format(python=sys.executable, program=program), encoding="utf-8")
    place.joinpath("silent.yaml").write_text("calls: []\n", encoding="utf-8")
    place.joinpath("llm-providers.yaml").write_text(
        f"llm_providers: {{recorded: {{type: replay, recording: '{place / 'silent.yaml'}'}}}}\n", encoding="utf-8"
    )
    settings = Settings(env={"PATH": "/usr/bin:/bin"}, database_url=database_url, config_dir=place)
    async with application(settings) as running, serving(running.services) as api:
        with anyio.fail_after(30):
            while True:
                servers = (await api.client.get("/api/v1/system/mcp-servers")).json()["servers"]
                if next(server for server in servers if server["name"] == "seen")["tools"]:
                    break
        yield api


async def test_a_tool_that_its_server_does_not_have_is_refused_at_submission(database_url: str, tmp_path: Path) -> None:
    async with configured_world(database_url, tmp_path) as api:

        async def status(**server: Any) -> tuple[int, str]:
            answer = await api.client.post("/api/v1/alerts", json={"data": "disk full", "mcp": {"servers": [server]}})
            return answer.status_code, answer.json().get("detail", "")

        assert await status(name="seen", tools=["ecoh", "echo"]) == (
            400,
            'mcp.servers[0].tools: server "seen" has no tool "ecoh"; did you mean "echo"?',
        )
        assert await status(name="seen", tools=["echo"]) == (202, "")
        # Nobody has seen this one: the prompt says so if the agent does not have the tool.
        assert await status(name="unseen", tools=["anything"]) == (202, "")
        assert await status(name="unseen", tools=["a\x00"]) == (400, "mcp.servers[0].tools: a tool name must not hold control characters")


async def test_an_alert_may_lower_its_ceilings_and_not_raise_them(database_url: str) -> None:
    async with world(database_url) as api:
        asked = {"data": "disk full", "budget": {"usd": 0.2, "time": "5m", "tool_calls": 40}}
        answer = await api.client.post("/api/v1/alerts", json=asked)
        assert answer.status_code == 202, answer.text
        session = await _stored(api, answer.json()["session_id"])
        nothing = await api.client.post("/api/v1/alerts", json={"data": "disk full", "budget": {}})
    assert session["budget"] == {"usd": 0.2, "tokens": None, "seconds": 300.0, "model_calls": None, "tool_calls": 40}
    assert nothing.status_code == 400
    assert "a budget without a ceiling limits nothing" in nothing.text


async def _not_followed(client: object, session_id: str, console: object) -> bool:
    del client, session_id, console
    return True


async def test_a_budget_is_asked_for_in_the_terminal(
    database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "alert.txt").write_text("disk full", encoding="utf-8")
    monkeypatch.setattr("tarsy.cli.live_view.follow", _not_followed)
    async with world(database_url) as api:
        for budget in ("plenty", "$0.20,5m"):
            command = ["investigate", str(tmp_path / "alert.txt"), "--url", f"http://127.0.0.1:{api.port}", "--budget", budget]
            await to_thread.run_sync(partial(app, command, standalone_mode=False))
        (asked,) = (await api.client.get("/api/v1/sessions")).json()["sessions"]
        session = await _stored(api, asked["id"])
    assert (session["budget"]["usd"], session["budget"]["seconds"]) == (0.2, 300.0)
    assert '--budget: "plenty" is not part of a budget' in capsys.readouterr().err
