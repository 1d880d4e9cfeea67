"""A session's story as the database and the tools tell it, and what must hold of every such story."""

import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg

from tarsy.agent.prompt.nudges import unknown_outcome_result

Record = asyncpg.Record
# When it was asked and read: of the day.
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
FINAL = {"completed", "failed", "timed_out", "cancelled"}


@dataclass(frozen=True, slots=True)
class Story:
    session: dict[str, Any]
    # track → (role, content, tool calls, tool call id)
    conversations: dict[str, list[tuple[Any, ...]]]
    stages: list[dict[str, Any]]
    executions: list[dict[str, Any]]
    timeline: list[dict[str, Any]]
    events: list[dict[str, Any]]
    llm_calls: list[tuple[str, int]]


async def read_story(url: str, session_id: str) -> Story:
    connection = await asyncpg.connect(url)

    async def rows(query: str) -> list[dict[str, Any]]:
        return [dict(row) for row in await connection.fetch(query, session_id)]

    try:
        messages = await rows(
            "SELECT s.stage_index || '.' || s.stage_name || '/' || coalesce(p.agent_index || '.' || p.agent_name || '/', '') "
            "|| e.agent_index || '.' || e.agent_name AS track, m.* FROM messages m "
            "JOIN agent_executions e ON e.id = m.execution_id JOIN stages s ON s.id = e.stage_id "
            "LEFT JOIN agent_executions p ON p.id = e.parent_execution_id "
            "WHERE m.session_id = $1 ORDER BY 1, m.sequence_number"
        )
        conversations: dict[str, list[tuple[Any, ...]]] = {}
        for row in messages:
            message = (row["role"], row["content"], row["tool_calls"], row["tool_call_id"])
            conversations.setdefault(row["track"], []).append(message)
        return Story(
            session=(
                await rows(
                    "SELECT s.*, w.recoveries, w.claim_token FROM alert_sessions s JOIN work w ON w.subject_id = s.id WHERE s.id = $1"
                )
            )[0],
            conversations=conversations,
            stages=await rows("SELECT * FROM stages WHERE session_id = $1 ORDER BY stage_index"),
            executions=await rows("SELECT * FROM agent_executions WHERE session_id = $1"),
            timeline=await rows("SELECT * FROM timeline_events WHERE session_id = $1 ORDER BY position"),
            events=[
                {**json.loads(row["payload"]), "id": row["id"], "channel": row["channel"]}
                for row in await rows("SELECT * FROM events WHERE session_id = $1 ORDER BY channel, id")
            ],
            llm_calls=[(row["track"], row["turn"]) for row in await rows("SELECT track, turn FROM llm_interactions WHERE session_id = $1")],
        )
    finally:
        await connection.close()


def check_events(story: Story) -> None:
    """Nothing that happened was announced twice, out of order or not at all."""
    own = [event for event in story.events if event["channel"] != "sessions"]
    assert [event["id"] for event in own] == list(range(1, len(own) + 1)), "ids of the session's channel have gaps"
    created = [event["event"]["id"] for event in own if event["type"] == "timeline_event.created"]
    assert created == [str(row["id"]) for row in story.timeline], "created events do not match the timeline, in its order"
    assert [row["position"] for row in story.timeline] == [event["id"] for event in own if event["type"] == "timeline_event.created"]
    born_open = {
        event["event"]["id"] for event in own if event["type"] == "timeline_event.created" and event["event"]["status"] == "streaming"
    }
    closed = Counter(event["event_id"] for event in own if event["type"] == "timeline_event.completed")
    opened = Counter(born_open)
    assert closed == opened, f"not closed: {_named(story, opened - closed)}; closed too often: {_named(story, closed - opened)}"
    assert all(row["status"] != "streaming" for row in story.timeline)
    places = {event["event"]["id"]: event["id"] for event in own if event["type"] == "timeline_event.created"}
    assert all(event["id"] > places[event["event_id"]] for event in own if event["type"] == "timeline_event.completed")
    for kind in ("stage.started", "stage.completed"):
        counted = Counter(event["stage_id"] for event in own if event["type"] == kind)
        assert counted == Counter(str(row["id"]) for row in story.stages), kind
    moves = Counter((event["execution_id"], event["status"]) for event in own if event["type"] == "execution.status")
    assert all(count == 1 for count in moves.values()), "an execution moved twice to the same status"
    ends = [event for event in own if event["type"] == "session.completed"]
    assert [event["status"] for event in ends] == [story.session["status"]]
    assert ends[0] is own[-1]


def _named(story: Story, ids: Counter[str]) -> list[tuple[str, ...]]:
    """What the events with these ids are, for a person who must find out what went wrong."""
    rows = {str(row["id"]): row for row in story.timeline}
    return [
        (id_, *(str(rows[id_][name]) for name in ("event_type", "status", "content"))) if id_ in rows else (id_, "not stored")
        for id_ in ids
    ]


def check_ended(story: Story) -> None:
    """Nothing is left open."""
    assert story.session["status"] in FINAL, story.session
    assert story.session["claim_token"] is None
    assert all(row["status"] in FINAL for row in [*story.stages, *story.executions])
    assert len(story.llm_calls) == len(set(story.llm_calls))


def same_contents(story: Story, reference: Story, unknown: set[str]) -> None:
    """The same conversation, word for word; the results of the calls in `unknown` say that their outcome is not known."""
    assert story.conversations.keys() == reference.conversations.keys()
    for track, expected in reference.conversations.items():
        actual = story.conversations[track]
        assert len(actual) == len(expected), track
        for mine, theirs in zip(actual, expected, strict=True):
            if mine[3] in unknown:
                assert unknown_outcome_result("ledger.act") in mine[1]
            else:
                assert mine[0] == theirs[0]
                assert mine[2:] == theirs[2:]
                more, less = _sentences(mine[1], unknown), _sentences(theirs[1], unknown)
                assert more == less, f"{track} was told {more - less} instead of {less - more}"


def _sentences(text: str, unknown: set[str]) -> Counter[str]:
    """What a message says, line by line: a synthesis gets tool results in the order in which they came, which differs between runs."""
    text = _TIME.sub("TIME", text)
    # A call without a result is not among those that a sub-agent's report names.
    varying = [unknown_outcome_result("ledger.act"), *(part for key in unknown for part in (f"act {key}: done", f"ledger.act(key={key})"))]
    return Counter(line for line in text.splitlines() if not any(part in line for part in varying))


def ledger(directory: Path) -> list[dict[str, Any]]:
    """What the tools executed, in order."""
    path = directory / "ledger"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
