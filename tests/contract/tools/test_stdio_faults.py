"""A stdio server that misbehaves: every fault is a result with words, and the next call works."""

import json
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCResponse
from structlog.testing import capture_logs

from support.opening import fault, opened, stdio
from tarsy.domain.conversation import ToolCall
from tarsy.domain.tool import ToolResult
from tarsy.tools import sdk_session
from tarsy.tools import stdio as stdio_transport
from tarsy.tools.connection import MASKED_EXCERPT, MAX_TOOLS
from tarsy.tools.executor import MAX_OUTPUT, MAX_PIECES
from tarsy.tools.masking import StreamMasker
from tarsy.tools.messages import MAX_BLOCKS
from tarsy.tools.server import MAX_DESCRIPTION


async def test_a_server_gets_only_the_environment_its_configuration_names() -> None:
    async with opened(fault(env={"MODE": "{{.CHOSEN}}"}), env={"CHOSEN": "prod", "OTHER_SECRET": "x"}) as tools:
        seen = json.loads((await tools.call("fault.environment")).content)
        # What the system's C library and dynamic linker add on their own is not ours.
        assert set(seen) - {"LC_CTYPE", "__CF_USER_TEXT_ENCODING"} <= {"PATH", "HOME", "LANG", "MODE"}
        assert seen["MODE"] == "prod"


async def test_an_environment_larger_than_a_socket_takes_at_once_arrives_whole() -> None:
    parts = {f"PART_{number}": "word " * 4000 for number in range(40)}
    async with opened(fault(env=parts)) as tools:
        seen = json.loads((await tools.call("fault.environment")).content)
    assert {name: value for name, value in seen.items() if name in parts} == parts


async def test_its_own_credentials_do_not_come_back_from_a_server() -> None:
    async with opened(fault(env={"API_TOKEN": "{{.CHOSEN}}"}), env={"CHOSEN": "plain-words-only"}) as tools:
        assert "plain-words-only" not in (await tools.call("fault.environment")).content
        assert "plain-words-only" not in (await tools.call("fault.echo", "it is plain-words-only")).content


async def test_a_hanging_tool_times_out_and_others_go_on() -> None:
    async with opened(fault(), call_timeout=5.0) as tools:
        await tools.list()
        results: list[ToolResult] = []

        async def hang() -> None:
            results.append(await tools.call("fault.hang"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hang)
            assert (await tools.call("fault.echo", "meanwhile")).content == "meanwhile"
            assert results == []
        (result,) = results
        assert result.is_timeout
        assert "unknown: check before calling it again" in result.content
        assert (await tools.call("fault.echo", "after")).content == "after"


async def test_a_crash_in_the_middle_of_a_call_is_reported_with_the_last_output_and_the_server_is_started_again() -> None:
    async with opened(fault()) as tools:
        result = await tools.call("fault.crash")
        assert result.is_error
        assert "connection to tool server 'fault' was lost" in result.content
        assert "out of cheese" in result.content
        assert "hunter2" not in result.content
        assert "The server is back." in result.content
        assert (await tools.call("fault.echo", "again")).content == "again"


async def test_a_lost_call_is_made_again_only_if_the_tool_is_read_only_or_idempotent(tmp_path: Path) -> None:
    async with opened(fault()) as tools:
        for harmless in ("crash_once", "crash_once_idempotent"):
            safe = await tools.call(f"fault.{harmless}", str(tmp_path / harmless))
            assert (safe.is_error, safe.content) == (False, "second time")
        unsafe = await tools.call("fault.crash_once_writing", str(tmp_path / "b"))
        assert unsafe.is_error
        assert "Whether it took effect is unknown" in unsafe.content


async def test_a_call_that_is_lost_twice_is_not_made_a_third_time() -> None:
    async with opened(fault()) as tools:
        lost = await tools.call("fault.crash_always")
        assert lost.is_error
        assert "connection to tool server 'fault' was lost" in lost.content
        assert "The call was repeated, and the connection was lost again." in lost.content
        assert (await tools.call("fault.echo", "again")).content == "again"


async def test_a_flood_of_ten_megabytes_is_clipped_not_refused() -> None:
    async with opened(fault(), call_timeout=60.0) as tools:
        result = await tools.call("fault.flood")
        assert not result.is_error
        assert len(result.content) < 2 * 1024 * 1024
        assert "characters omitted" in result.content
        assert (await tools.call("fault.echo", "after the flood")).content == "after the flood"


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        ("deluge", "an answer of 50 MiB; at most 16 MiB are read"),
        ("deluge_id_last", "an answer of 20 MiB"),
        ("dense", "more than 100000 values"),
    ],
)
async def test_an_answer_that_is_too_large_to_be_parsed_is_an_error_of_its_call_and_the_connection_stays(tool: str, words: str) -> None:
    async with opened(fault(), call_timeout=60.0) as tools:
        pid = (await tools.call("fault.pid")).content
        result = await tools.call(f"fault.{tool}")
        assert result.is_error
        assert words in result.content
        assert "Ask for less" in result.content
        assert (await tools.call("fault.pid")).content == pid


async def test_more_content_blocks_than_anybody_reads_are_counted() -> None:
    async with opened(fault()) as tools:
        content = (await tools.call("fault.crowd")).content
    assert content.count("x\n") == MAX_BLOCKS
    assert content.endswith(f"[{5000 - MAX_BLOCKS} of 5000 content blocks omitted]")


async def test_structured_content_that_is_too_deep_costs_only_itself() -> None:
    async with opened(fault()) as tools:
        assert (await tools.call("fault.deep_result")).content == "seen\n[structured content of more than 64 levels, which cannot be shown]"


async def test_a_server_that_sends_requests_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    # Less than in production, where it takes a second.
    monkeypatch.setattr(stdio_transport, "MAX_UNANSWERED", 1_000)
    async with opened(fault(), call_timeout=60.0) as tools:
        result = await tools.call("fault.pester")
        assert result.is_error
        assert "more than 1000 messages without an answer" in result.content
        assert (await tools.call("fault.echo", "after")).content == "after"


async def test_a_server_behind_a_url_is_given_up_likewise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdk_session, "MAX_UNANSWERED", 2)
    send, receive = anyio.create_memory_object_stream[Any](10)
    ends: list[None] = []
    stream = sdk_session.WatchedStream(receive, lambda: ends.append(None))
    notice = SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="notifications/message"))
    async with send, stream:
        for message in (notice, notice, SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=1, result={})), notice, notice, notice):
            send.send_nowait(message)
        received = [message async for message in stream]
    assert (len(received), len(ends)) == (5, 1)


async def test_progress_is_shown_up_to_a_number_of_notices() -> None:
    async with opened(fault()) as tools:
        assert (await tools.call("fault.many_notices")).content == "done"
    shown = "".join(tools.output).splitlines()
    assert shown[-1] == "… [more output is not shown]"
    assert len(shown) == MAX_PIECES + 1


async def test_tools_that_no_model_can_be_offered_are_left_out_and_logged() -> None:
    with capture_logs() as logs:
        async with opened(fault()) as tools:
            catalog = await tools.list()
    assert catalog.warnings == ()
    assert catalog.find("fault.also_as_task") is not None
    assert catalog.find("fault.nested_schema") is not None
    left_out = {entry["tool"]: entry["reason"] for entry in logs if entry["event"] == "tool_server.tool_left_out"}
    assert left_out == {"only_as_task": "it can be called only as a task", "deep_schema": "its schema has more than 64 levels"}
    assert not {f"fault.{name}" for name in left_out} & {tool.name for tool in catalog.tools}


async def test_of_a_large_list_of_tools_a_model_is_offered_what_it_can_read() -> None:
    async with opened(fault("verbose")) as tools:
        catalog = await tools.list()
    assert len(catalog.tools[0].description) <= MAX_DESCRIPTION
    assert len(catalog.tools) == MAX_TOOLS


async def test_a_line_without_an_end_ends_the_connection_not_us() -> None:
    async with opened(fault(), call_timeout=60.0) as tools:
        result = await tools.call("fault.endless_line")
        assert result.is_error
        assert "more than" in result.content
        assert (await tools.call("fault.echo", "after")).content == "after"


async def test_a_closed_connection_is_noticed_at_once() -> None:
    async with opened(fault(), call_timeout=30.0) as tools:
        with anyio.fail_after(60):
            result = await tools.call("fault.close_stdout")
        assert result.is_error
        assert not result.is_timeout


async def test_garbage_between_messages_is_passed_over() -> None:
    async with opened(fault()) as tools:
        assert (await tools.call("fault.garbage")).content == "after the garbage"


async def test_an_answer_of_the_wrong_shape_is_an_error_that_says_so() -> None:
    async with opened(fault()) as tools:
        result = await tools.call("fault.wrong_shape")
        assert result.is_error
        assert "not valid MCP" in result.content


async def test_an_answer_without_a_result_ends_its_call_at_once() -> None:
    async with opened(fault(), call_timeout=60.0) as tools:
        with anyio.fail_after(60):
            result = await tools.call("fault.null_result")
        assert result.is_error
        assert "an answer without a result" in result.content


async def test_bytes_that_are_no_characters_are_replaced() -> None:
    async with opened(fault(), call_timeout=60.0) as tools:
        with anyio.fail_after(60):
            assert (await tools.call("fault.broken_utf8")).content == "caf\ufffd"


@pytest.mark.parametrize("mode", ["", "stateless"])
async def test_a_content_block_that_cannot_be_read_does_not_lose_the_others(mode: str) -> None:
    async with opened(fault(mode)) as tools:
        result = await tools.call("fault.unknown_block")
    assert not result.is_error
    hologram, seen, image, other = result.content.splitlines()
    assert (hologram, seen) == ("[content of type hologram, which cannot be shown]", "seen")
    assert (image, other) == ("[content of type image, which cannot be shown]", "[content of type None, which cannot be shown]")


async def test_errors_of_tools_and_servers_are_masked_results() -> None:
    async with opened(fault()) as tools:
        answered = await tools.call("fault.say_error")
        assert answered.is_error
        assert answered.content == "pod not found; token=[MASKED_TOKEN]"
        rpc = await tools.call("fault.rpc_error")
        assert rpc.is_error
        assert "error -32000" in rpc.content
        assert '"backend": "db-1"' in rpc.content
        assert "hunter2" not in rpc.content


async def test_a_text_that_was_cut_inside_a_character_is_read() -> None:
    async with opened(fault()) as tools:
        assert (await tools.call("fault.cut_character")).content == "cut off \ufffd"


async def test_a_tool_that_babbles_is_watched_for_a_while_only() -> None:
    async with opened(fault()) as tools:
        assert (await tools.call("fault.babble")).content == "done"
        assert MAX_OUTPUT // 2 < sum(map(len, tools.output)) < 2 * MAX_OUTPUT
        assert tools.output[-1].endswith("[more output is not shown]\n")
        assert "hunter2" not in "".join(tools.output)


async def test_progress_of_nothing_but_blanks_does_not_end_the_connection() -> None:
    async with opened(fault()) as tools:
        assert (await tools.call("fault.blank")).content == "done"
    assert "".join(tools.output) == "\n… [more output is not shown]\n"


async def test_megabytes_outside_the_protocol_hold_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Masking all of them would: only their beginning is masked, and shown."""
    masked: list[int] = []
    feed = StreamMasker.feed

    def noted(masker: StreamMasker, piece: str) -> str:
        masked.append(len(piece))
        return feed(masker, piece)

    monkeypatch.setattr(StreamMasker, "feed", noted)
    async with opened(fault()) as tools:
        await tools.list()
        with capture_logs() as logs:
            assert (await tools.call("fault.mumble")).content == "done"
        assert masked == [MASKED_EXCERPT + len("\n")]
        (stray,) = [entry["line"] for entry in logs if entry["event"] == "tool_server.stray_stdout"]
        assert "hunter2" not in stray


async def test_a_flood_of_lines_takes_turns_with_everybody_else() -> None:
    async with opened(fault()) as tools:
        await tools.list()
        seen = [0]
        with capture_logs() as logs, anyio.fail_after(30):

            async def count_lines() -> None:
                while seen[-1] < 1000:
                    await anyio.lowlevel.checkpoint()
                    seen.append(len(logs))

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(count_lines)
                assert (await tools.call("fault.shout")).content == "done"
    assert max(after - before for before, after in pairwise(seen)) < 10


async def test_a_schema_is_masked_like_any_text() -> None:
    async with opened(fault(env={"API_TOKEN": "{{.CHOSEN}}"}), env={"CHOSEN": "plain-words-only"}) as tools:
        keeper = (await tools.list()).find("fault.keeper")
        assert keeper is not None
        assert keeper.parameters_schema["properties"] == {
            "key": {"type": "string", "default": "[MASKED_CREDENTIAL]"},
            "t": {"description": "e.g. password=[MASKED_PASSWORD]"},
        }


async def test_a_tool_that_is_listed_twice_is_offered_once() -> None:
    async with opened(fault()) as tools:
        assert [tool.name for tool in (await tools.list()).tools].count("fault.twin") == 1


async def test_a_server_may_ask_whether_we_are_there_and_is_offered_nothing_else() -> None:
    async with opened(fault()) as tools:
        replies = json.loads((await tools.call("fault.ask_back")).content)
    assert replies["mine-ping"] == {}
    assert replies["mine-roots/list"]["code"] == -32601


async def test_a_server_is_notified_when_its_answer_is_no_longer_waited_for() -> None:
    async with opened(fault(), call_timeout=5.0) as tools:
        assert (await tools.call("fault.hang")).is_timeout
        notices = json.loads((await tools.call("fault.told")).content)
    assert notices == ["notifications/initialized", "notifications/cancelled"]


async def test_an_answer_finds_its_question_though_the_number_came_back_as_a_text() -> None:
    async with opened(fault(), call_timeout=60.0) as tools:
        assert (await tools.call("fault.textual_id")).content == "found all the same"


async def test_arguments_larger_than_a_pipe_arrive_whole() -> None:
    text = "".join(f"line {number}\n" for number in range(40_000))
    async with opened(fault()) as tools:
        # No part of it is too large for the protocol either.
        assert (await tools.call("fault.echo", json.dumps({"text": text, "trace": 2**127}))).content == text


async def test_a_changed_tool_list_is_seen() -> None:
    async with opened(fault()) as tools:
        assert (await tools.call("fault.grown")).refused
        await tools.call("fault.grow")
        with anyio.fail_after(60):
            while (await tools.list()).find("fault.grown") is None:
                await anyio.lowlevel.checkpoint()
        assert (await tools.call("fault.grown")).content == "grown up"


async def test_what_a_server_says_on_the_side_goes_to_the_log_and_to_the_watcher_masked() -> None:
    async with opened(fault()) as tools:
        with capture_logs() as logs:
            await tools.call("fault.leak_stderr")
            await tools.call("fault.log_and_progress")
        assert tools.output == ["info: looking, password=[MASKED_PASSWORD]\n", "[1/2] halfway\n"]
        lines = [entry["line"] for entry in logs if entry["event"] == "tool_server.stderr"]
        assert lines == [
            "connecting with password=[MASKED_PASSWORD]",
            "[MASKED_PRIVATE_KEY]",
            "db:",
            "  password:",
            "    [MASKED_PASSWORD]",
            "ready",
        ]


async def test_a_watcher_that_fails_costs_the_connection_and_not_the_time_that_a_call_may_take() -> None:
    received: list[str] = []

    def fail_once(text: str) -> None:
        received.append(text)
        if len(received) == 1:
            raise LookupError(text)

    async with opened(fault(), call_timeout=60.0) as tools:
        with anyio.fail_after(60):
            result = await tools.executor.execute(ToolCall("call-1", "fault.log_and_progress", "{}"), fail_once)
        assert "connection to tool server 'fault' was lost" in result.content
        assert len(received) == 1
        assert (await tools.call("fault.echo", "again")).content == "again"


async def test_a_server_that_does_not_start_is_a_warning_and_the_others_work() -> None:
    async with opened(stdio("missing", "no-such-program"), fault()) as tools:
        catalog = await tools.list()
        assert catalog.find("fault.echo") is not None
        (warning,) = catalog.warnings
        assert "Tool server 'missing' is not available" in warning
        assert "no-such-program" in warning
        result = await tools.call("missing.anything")
        assert result.refused
        assert "no-such-program" in result.content


async def test_the_last_output_of_a_server_is_reported_though_its_line_has_no_end() -> None:
    async with opened(stdio("shell", "sh", "-c", "printf 'fatal: no licence' >&2")) as tools:
        (warning,) = (await tools.list()).warnings
        assert warning.endswith("Its last output: fatal: no licence")


async def test_a_command_that_no_system_could_run_is_a_warning_that_says_why() -> None:
    async with opened(stdio("cut", "cat", "one\0two")) as tools:
        (warning,) = (await tools.list()).warnings
        assert "cannot start cat: embedded null byte" in warning


async def test_bytes_that_are_no_text_reach_a_server_as_they_are() -> None:
    program = 'printf "%s %s" "$0" "$NAME" | od -An -tx1 >&2'
    config = stdio("shell", "sh", "-c", program, "{{.ODD}}", env={"NAME": "{{.ODD}}"})
    async with opened(config, env={"ODD": os.fsdecode(b"caf\xe9")}) as tools:
        (warning,) = (await tools.list()).warnings
        assert warning.endswith("63 61 66 e9 20 63 61 66 e9")


@pytest.mark.parametrize("signal", ["INT", "TERM", "HUP", "PIPE", "USR1"])
async def test_a_server_starts_with_no_signal_ignored(signal: str) -> None:
    async with opened(stdio("shell", "sh", "-c", f"echo begun >&2; kill -{signal} $$; echo survived >&2")) as tools:
        (warning,) = (await tools.list()).warnings
        assert warning.endswith("Its last output: begun")


async def test_a_missing_variable_names_itself_and_its_setting() -> None:
    async with opened(fault(env={"TOKEN": "{{.NOT_SET_ANYWHERE}}"})) as tools:
        (warning,) = (await tools.list()).warnings
        assert "NOT_SET_ANYWHERE is not set" in warning
        assert "mcp_servers.fault.transport" in warning


async def test_only_listed_and_selected_tools_may_be_used() -> None:
    async with opened(fault(tools=("echo", "hang", "crash")), filters={"fault": ("echo", "environment")}) as tools:
        assert [tool.name for tool in (await tools.list()).tools] == ["fault.echo"]
        for name in ("fault.hang", "fault.environment", "fault.ecko", "echo", "other.echo", ""):
            result = await tools.call(name)
            assert result.refused
        assert "Did you mean: fault.echo?" in (await tools.call("fault.ecko")).content


async def test_an_error_of_the_owner_leaves_the_tools_as_itself() -> None:
    class OwnersError(Exception):
        pass

    async def owner() -> None:
        async with opened(fault()) as tools:
            await tools.list()
            raise OwnersError

    with pytest.raises(OwnersError):
        await owner()
