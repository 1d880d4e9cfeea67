"""A server over HTTP that misbehaves: status, URL and body reach the person who can act, and no secret does."""

import json
import tracemalloc
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest
import trustme

from support.http_fault_server import HttpFault, http_fault_server
from support.opening import EXECUTION_ID, fault, opened, server
from support.sse_server import older_server
from support.tunnel import tunnel
from tarsy.config.resolve.resolved import ResolvedMcpServer, ResolvedTransport
from tarsy.domain.tool_pin import PinMode, ToolPin
from tarsy.tools import http
from tarsy.tools.failures import NotAccepted
from tarsy.tools.messages import CallResult
from tarsy.tools.server import LostCall, ToolServer
from tarsy.tools.session import AGENT_CALL


def remote(fault: HttpFault, **more: object) -> ResolvedMcpServer:
    return server("remote", ResolvedTransport.model_validate({"type": "http", "url": fault.url, **more}))


@pytest.mark.parametrize("status", [401, 403])
async def test_refused_credentials_name_the_server_and_the_setting(status: int) -> None:
    async with http_fault_server() as fault, opened(remote(fault, bearer_token="{{.KEY}}"), env={"KEY": "credential-of-ours"}) as tools:
        result = await tools.call(f"remote.status_{status}")
        assert result.is_error
        assert f"HTTP {status} to POST {fault.url}" in result.content
        assert "mcp_servers.remote.transport.bearer_token" in result.content
        assert "hunter2" not in result.content
        assert (await tools.call("remote.echo", "still here")).content == "still here"


async def test_a_server_error_shows_status_url_and_body() -> None:
    async with http_fault_server() as fault, opened(remote(fault)) as tools:
        result = await tools.call("remote.status_500")
        assert result.is_error
        assert f"HTTP 500 to POST {fault.url}: upstream says no, password=[MASKED_PASSWORD]" in result.content


@pytest.mark.parametrize("status", [401, 500])
async def test_a_server_that_refuses_the_handshake_is_a_warning_with_the_reason(status: int) -> None:
    async with http_fault_server() as fault:
        fault.refuse_all_with = status
        async with opened(remote(fault)) as tools:
            (warning,) = (await tools.list()).warnings
            assert f"HTTP {status} to POST {fault.url}" in warning
            assert "hunter2" not in warning


async def test_a_server_that_is_not_there_is_a_warning_with_the_address() -> None:
    gone = server("remote", ResolvedTransport(type="http", url="http://127.0.0.1:9/mcp"))
    async with opened(gone) as tools:
        (warning,) = (await tools.list()).warnings
        assert "no answer to POST http://127.0.0.1:9/mcp" in warning


async def test_an_sse_server_that_refuses_is_noticed_at_once() -> None:
    async with http_fault_server() as fault:
        fault.refuse_all_with = 403
        with anyio.fail_after(60):
            async with opened(server("remote", ResolvedTransport(type="sse", url=fault.url))) as tools:
                (warning,) = (await tools.list()).warnings
        assert f"HTTP 403 to GET {fault.url}" in warning


@pytest.mark.parametrize("tool", ["close", "garbage", "wrong_type", "half_stream", "null_result", "broken_utf8"])
async def test_a_broken_answer_is_an_error_and_the_next_call_works(tool: str) -> None:
    async with http_fault_server() as fault, opened(remote(fault)) as tools:
        with anyio.fail_after(60):
            result = await tools.call(f"remote.{tool}")
        assert result.is_error
        assert not result.is_timeout
        assert "hunter2" not in result.content
        assert fault.calls.count(tool) == 1
        assert (await tools.call("remote.echo", "after")).content == "after"


@pytest.mark.parametrize(("tool", "patience"), [("large_error", 600.0), ("stalled_error", 0.5)])
async def test_an_error_without_an_end_is_reported_by_its_beginning(tool: str, patience: float, monkeypatch: pytest.MonkeyPatch) -> None:
    assert http.ERROR_SECONDS == 5.0
    monkeypatch.setattr(http, "ERROR_SECONDS", patience)
    async with http_fault_server() as fault, opened(remote(fault), call_timeout=60) as tools:
        result = await tools.call(f"remote.{tool}")
        assert f"HTTP 502 to POST {fault.url}: bad gateway" in result.content
        assert (await tools.call("remote.echo", "after")).content == "after"


async def test_a_content_block_of_an_unknown_type_does_not_lose_the_others_and_the_details_of_an_error_are_shown() -> None:
    async with http_fault_server() as fault, opened(remote(fault)) as tools:
        result = await tools.call("remote.unknown_block")
        assert (result.is_error, result.content) == (False, "[content of type hologram, which cannot be shown]\nseen")
        assert '({"backend": "db-1"})' in (await tools.call("remote.rpc_error")).content


async def test_a_text_that_was_cut_inside_a_character_is_read() -> None:
    async with http_fault_server() as fault, opened(remote(fault)) as tools:
        assert (await tools.call("remote.cut_character")).content == "cut off \ufffd"


async def test_more_calls_than_a_pool_has_connections_run_at_once() -> None:
    async with http_fault_server() as fault, opened(remote(fault), call_timeout=60) as tools:
        await tools.list()
        async with anyio.create_task_group() as tasks:
            for _ in range(120):
                tasks.start_soon(tools.call, "remote.hang")
            with anyio.fail_after(60):
                while fault.calls.count("hang") < 120:  # noqa: ASYNC110 - the server has no event for us
                    await anyio.sleep(0.02)
            tasks.cancel_scope.cancel()


async def test_a_token_that_cannot_be_sent_is_not_shown() -> None:
    async with http_fault_server() as fault, opened(remote(fault, bearer_token="{{.KEY}}"), env={"KEY": "only\nwords"}) as tools:
        (warning,) = (await tools.list()).warnings
        assert "the header Authorization" in warning
        assert "words" not in warning


@pytest.mark.parametrize("stranger", [(404, "no such session"), (400, "Bad Request: No valid session ID provided")])
async def test_a_forgotten_session_is_opened_again_and_the_call_made(stranger: tuple[int, str]) -> None:
    async with http_fault_server() as fault, opened(remote(fault)) as tools:
        fault.stranger = stranger
        assert (await tools.call("remote.forget_session")).content == "done"
        assert fault.calls == ["forget_session", "forget_session"]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 500])
async def test_a_call_whose_answer_cannot_be_resumed_is_not_made_again_and_its_outcome_is_unknown(status: int) -> None:
    async with http_fault_server() as fault, opened(remote(fault), call_timeout=60) as tools:
        fault.refuses_to_resume_with = status
        result = await tools.call("remote.resumable")
        assert "The server is back. Whether it took effect is unknown" in result.content
        assert fault.calls == ["resumable"]
        assert (await tools.call("remote.echo", "after")).content == "after"


@asynccontextmanager
async def accepted(fault: HttpFault) -> AsyncGenerator[Callable[[], Awaitable[CallResult | LostCall]]]:
    """The call of a tool of a strict server whose tools were accepted as they are now."""
    pins: dict[str, ToolPin] = {}
    output: list[str] = []

    async def read_pin(name: str) -> ToolPin | None:
        return pins.get(name)

    async with anyio.create_task_group() as tasks:
        config = remote(fault).model_copy(update={"pin": PinMode.STRICT})
        tools = ToolServer(config, allowed=None, env={}, execution_id="e", tasks=tasks, read_pin=read_pin)
        await tools.ensure_listed()
        pins["remote"] = ToolPin("remote", tools.fingerprints, datetime.now(UTC), "ana")
        tools.forget_listing()
        await tools.ensure_listed()
        try:
            (echo,) = (tool for tool in tools.tools if tool.name == "remote.echo")
            yield lambda: tools.call(echo, {}, output.append)
        finally:
            await tools.close()


async def test_a_strict_server_that_comes_back_with_other_tools_is_not_called() -> None:
    async with http_fault_server() as fault, accepted(fault) as call:
        assert isinstance(await call(), CallResult)
        fault.sessions.clear()
        fault.more_tools.append("other")
        lost = await call()
        assert isinstance(lost, LostCall)
        assert "other is new" in lost.recovery
        assert fault.calls == ["echo"]


async def test_a_strict_server_that_comes_back_and_cannot_list_its_tools_is_not_called_until_it_can() -> None:
    async with http_fault_server() as fault, accepted(fault) as call:
        fault.sessions.clear()
        fault.refuses_to_list = True
        lost = await call()
        assert isinstance(lost, LostCall)
        assert "could not be listed again" in lost.recovery
        with pytest.raises(NotAccepted, match="pin: strict"):
            await call()
        assert fault.calls == []
        fault.refuses_to_list = False
        assert isinstance(await call(), CallResult)
        assert fault.calls == ["echo"]


async def test_a_flood_is_clipped_and_a_hang_is_abandoned() -> None:
    async with http_fault_server() as fault, opened(remote(fault), call_timeout=60) as tools:
        assert "characters omitted" in (await tools.call("remote.flood")).content
    async with http_fault_server() as fault, opened(remote(fault, timeout=5.0), call_timeout=60) as tools:
        assert (await tools.call("remote.hang")).is_timeout


@pytest.mark.parametrize("tool", ["dense", "dense_event", "dense_lines"])
async def test_an_answer_of_very_many_values_is_refused_before_it_is_parsed(tool: str) -> None:
    async with http_fault_server() as fault, opened(remote(fault), call_timeout=60) as tools:
        with anyio.fail_after(30):
            result = await tools.call(f"remote.{tool}")
        assert (result.is_error, result.is_timeout) == (True, False)
        assert "an answer of more than 100000 values. Ask for less" in result.content
        assert fault.calls.count(tool) == 1
        assert (await tools.call("remote.echo", "after")).content == "after"
        # Over the same connection, on which other calls may be running.
        assert len(fault.sessions) == 1


@pytest.mark.parametrize("tool", ["bomb", "bomb_event"])
async def test_a_small_answer_that_unpacks_to_a_huge_one_is_refused_while_it_is_unpacked(
    tool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracemalloc.start()
    try:
        async with http_fault_server() as fault, opened(remote(fault), call_timeout=60) as tools:
            result = await tools.call(f"remote.{tool}")
            assert result.is_error
            assert not result.is_timeout
            assert "an answer of more than 16 MiB" in result.content
            assert (await tools.call("remote.packed")).content == "unpacked"
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # 64 MiB are taken before it is known that there is more; the buffers they pass through hold them again.
    assert peak < 260 * 1024 * 1024


def through(fault: HttpFault, monkeypatch: pytest.MonkeyPatch, **env: str) -> ResolvedMcpServer:
    """A server whose name only a proxy knows; the one that misbehaves plays the proxy too."""
    monkeypatch.setenv("HTTP_PROXY", fault.url.removesuffix("/mcp"))
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    return server("remote", ResolvedTransport(type="http", url="http://tools.example/mcp"))


async def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with http_fault_server() as fault, opened(through(fault, monkeypatch)) as tools:
        assert (await tools.call("remote.echo", "by proxy")).content == "by proxy"
        assert {headers["host"] for _, _, headers in fault.requests} == {"tools.example"}


async def test_a_secure_server_is_reached_through_the_secure_proxy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    certificate = tmp_path / "server.pem"
    trustme.CA().issue_cert("tools.example").private_key_and_cert_chain_pem.write_to_path(str(certificate))
    async with http_fault_server(certificate) as fault, tunnel(fault.port) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        behind = ResolvedTransport(type="http", url="https://tools.example/mcp", verify_ssl=False)
        async with opened(server("remote", behind)) as tools:
            assert (await tools.call("remote.echo", "by tunnel")).content == "by tunnel"
    assert set(proxy.asked) == {"CONNECT tools.example:443 HTTP/1.1"}


async def test_what_no_proxy_names_and_this_machine_are_reached_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    async with http_fault_server() as fault:
        async with opened(through(fault, monkeypatch, NO_PROXY="tools.example")) as tools:
            await tools.list()
            assert fault.requests == []
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
        monkeypatch.delenv("NO_PROXY")
        async with opened(remote(fault)) as tools:
            assert (await tools.call("remote.echo", "direct")).content == "direct"


async def test_a_message_that_is_never_acknowledged_does_not_hold_up_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    assert http.ACKNOWLEDGE_SECONDS == 5.0
    monkeypatch.setattr(http, "ACKNOWLEDGE_SECONDS", 0.05)
    async with older_server("notifications/initialized", "tools/list", "tools/call") as older:
        with anyio.fail_after(30):
            async with opened(server("remote", ResolvedTransport(type="sse", url=older.url)), call_timeout=60) as tools:
                for _ in range(3):
                    assert (await tools.call("remote.echo")).content == "echoed"
        assert older.calls == ["initialize", "notifications/initialized", "tools/list", *["tools/call"] * 3]


async def test_headers_carry_the_token_and_the_execution_and_the_end_is_announced() -> None:
    async with http_fault_server() as fault:
        config = remote(
            fault,
            bearer_token="{{.KEY}}",
            custom_headers={"X-Execution": "{{.SESSION_ID}}", "X-Team": "{{.TEAM}}"},
            session_cleanup_url=fault.url.replace("/mcp", "/cleanup") + "?execution={{.SESSION_ID}}",
        )
        async with opened(config, env={"KEY": "credential-of-ours", "TEAM": "sre"}) as tools:
            await tools.call("remote.echo", "x")
        methods = [(method, path) for method, path, _ in fault.requests]
        assert methods[-1] == ("DELETE", "/cleanup")
        assert methods.count(("DELETE", "/cleanup")) == 1
        assert fault.queries[-1] == f"execution={EXECUTION_ID}"
        for _, _, headers in fault.requests:
            assert headers["authorization"] == "Bearer credential-of-ours"
            assert headers["x-execution"] == EXECUTION_ID
            assert headers["x-team"] == "sre"


async def test_an_end_without_a_listener_does_no_harm() -> None:
    async with http_fault_server() as fault, opened(remote(fault, session_cleanup_url="http://127.0.0.1:9/cleanup")) as tools:
        assert (await tools.call("remote.echo", "x")).content == "x"


async def test_a_certificate_nobody_vouches_for_is_refused_unless_configured_otherwise(tmp_path: Path) -> None:
    certificate = tmp_path / "server.pem"
    trustme.CA().issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(certificate))
    async with http_fault_server(certificate) as fault:
        async with opened(remote(fault)) as tools:
            (warning,) = (await tools.list()).warnings
            assert "CERTIFICATE_VERIFY_FAILED" in warning
        async with opened(remote(fault, verify_ssl=False)) as tools:
            assert (await tools.call("remote.echo", "over TLS")).content == "over TLS"


async def test_every_call_says_that_an_agent_of_tarsy_makes_it() -> None:
    async with http_fault_server() as remote_fault, opened(remote(remote_fault), fault()) as tools:
        await tools.call("remote.echo", "x")
        reported = await tools.call("fault.meta")
    assert remote_fault.metas[0][AGENT_CALL] is True
    assert json.loads(reported.content)[AGENT_CALL] is True
