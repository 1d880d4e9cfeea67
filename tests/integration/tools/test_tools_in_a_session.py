"""What a session shows and keeps of its tools: what they say while they run, servers that do not come up, and every exchange with them."""

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import asyncpg

from support.agent_scenario import SESSION_ID, SUMMARY, Scenario, agent, calls, chain, says, stage
from support.observed_application import observed
from support.paths import FAULT_SERVER
from tarsy.config.resolve.resolved import ResolvedMasking, ResolvedMcpServer, ResolvedTransport
from tarsy.domain.tool import ApprovalPolicy

TRACK = "0.look/1.Investigator"
MASKING = ResolvedMasking(enabled=True, pattern_groups=("all",))


def server(name: str, command: str, *args: str) -> ResolvedMcpServer:
    return ResolvedMcpServer(
        name=name, approval=ApprovalPolicy.NEVER, transport=ResolvedTransport(type="stdio", command=command, args=args), masking=MASKING
    )


SERVERS = {"f": server("f", sys.executable, "-S", str(FAULT_SERVER)), "gone": server("gone", "no-such-program", "--password=hunter2")}


def story(*turns: Mapping[str, Any], **changes: Any) -> Scenario:
    investigator = agent(mcp_servers=("f", "gone"), **changes)
    written = [says(TRACK, number, turn) for number, turn in enumerate(turns)]
    return Scenario(
        chain(stage(investigator), mcp_servers=SERVERS, scoring=None),
        [*written, says(TRACK, len(turns), "It is the disk."), says(f"1.{SUMMARY}", 0, "Disk.")],
    )


async def rows(database_url: str, columns: str, table: str) -> list[tuple[Any, ...]]:
    connection = await asyncpg.connect(database_url)
    try:
        found = await connection.fetch(f"SELECT {columns} FROM {table} WHERE session_id = $1 ORDER BY started_at, server", SESSION_ID)  # noqa: S608 - our own words
        return [tuple(row) for row in found]
    finally:
        await connection.close()


def answered(messages: list[dict[str, Any]]) -> str:
    """The text a watcher has got of a tool's result, piece by piece."""
    results = {
        message["event"]["id"]
        for message in messages
        if message["type"] == "timeline_event.created" and message["event"]["event_type"] == "tool_result"
    }
    text = ""
    for chunk in messages:
        if chunk["type"] == "stream.chunk" and chunk["event_id"] in results:
            text = text[: chunk["offset"]] + chunk["delta"]
    return text


async def test_what_a_tool_says_is_seen_live_and_masked_while_it_still_runs(database_url: str, tmp_path: Path) -> None:
    expected = re.compile(r"info: looking, password=\[MASKED_PASSWORD ~\w{3}\]\n\[1/2\] halfway\n")
    seen = tmp_path / "seen"
    async with observed(story(calls("a", "f.say_and_wait", marker=str(seen))), database_url) as session:
        # The tool ends only when its output has been seen.
        await session.run_waiting(lambda: expected.fullmatch(answered(session.messages)) and seen.touch())
    assert expected.fullmatch(answered(session.messages))


async def test_a_server_that_does_not_come_up_is_a_warning_for_the_model_and_for_people_and_the_investigation_goes_on(
    database_url: str,
) -> None:
    async with observed(story(calls("a", "f.echo", text="hello")), database_url) as session:
        await session.run_waiting()
        stored = await session.running.services.repositories.sessions.get(SESSION_ID)
    assert (stored.status.value, stored.final_analysis) == ("completed", "It is the disk.")
    assert "Tool server 'gone' is not available" in session.asked[0]
    warnings = [
        m["event"]["content"] for m in session.messages if m["type"] == "timeline_event.created" and m["event"]["event_type"] == "warning"
    ]
    assert len(warnings) == 1
    assert "Tool server 'gone' is not available" in warnings[0]
    assert "hunter2" not in repr((session.asked, session.messages))


async def test_every_listing_and_every_call_is_kept_failures_included(database_url: str) -> None:
    turns = (calls("a", "f.echo", text="hello"), calls("b", "f.say_error"), calls("c", "f.crash"), calls("d", "f.hang"))
    async with observed(story(*turns, tool_call_timeout=5.0), database_url) as session:
        await session.run_waiting()
    kept = await rows(database_url, "kind, server, tool, is_error, error_message, result, duration_ms", "mcp_interactions")
    listings = {row[1]: row for row in kept if row[0] == "tool_list"}
    assert not listings["f"][3]
    assert "f.echo" in listings["f"][5]
    assert listings["gone"][3]
    assert "no-such-program" in listings["gone"][4]
    made = {row[2]: row for row in kept if row[0] == "tool_call"}
    assert list(made) == ["echo", "say_error", "crash", "hang"]
    assert (made["echo"][3], made["echo"][4]) == (False, None)
    assert re.fullmatch(r"pod not found; token=\[MASKED_TOKEN ~\w{3}\]", made["say_error"][4])
    assert "out of cheese" in made["crash"][4]
    assert "did not finish within 5 s" in made["hang"][4]
    assert made["hang"][6] >= 4900
