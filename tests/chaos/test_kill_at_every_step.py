"""kill -9 right before and right after every durable write of a recorded session; another process finishes it."""

import random
import signal
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from support.queue_ground import LONG, Ground
from support.queue_scenario import REPEATABLE, scenario, three_stages
from support.replica import Replica
from support.story import Story, check_ended, check_events, ledger, read_story, same_contents

# Each kill point starts two processes and their tool servers.
pytestmark = [pytest.mark.xdist_group("chaos"), pytest.mark.timeout(3600 if LONG else 300)]

# Kill points in `make test`; `make chaos` takes them all.
SAMPLE = 1
VICTIM_SECONDS = 60


@dataclass(frozen=True, slots=True)
class KillPoint:
    step: int
    before: bool

    def __str__(self) -> str:
        return f"{'before' if self.before else 'after'}-{self.step}"


@dataclass(frozen=True, slots=True)
class Grave:
    """What was stored, and what the tools had done, when the victim was dead."""

    asked: frozenset[str]
    stored: frozenset[str]
    executed: Counter[str]


async def undisturbed(ground: Ground) -> tuple[Story, int]:
    """The story as it should be, and how many steps it takes."""
    site = ground.directory / "undisturbed"
    session_id = await ground.submit(scenario(three_stages(), site))
    replica = Replica(url=ground.url, directory=site)
    with replica.running():
        await ground.until_ended(session_id)
    story = await read_story(ground.url, session_id)
    assert story.session["status"] == "completed", story.session
    assert Counter(line["key"] for line in ledger(site)) == Counter(REPEATABLE.keys())
    check_ended(story)
    check_events(story)
    return story, int(replica.steps_file.read_text())


async def buried(ground: Ground, site: Path, session_id: str) -> Grave:
    asked = await ground.fetch(
        "SELECT c ->> 'id' AS id FROM messages m, jsonb_array_elements(m.tool_calls) c WHERE m.session_id = $1 "
        "UNION ALL SELECT 'b-look' FROM messages m WHERE m.session_id = $1 AND m.role = 'assistant' AND m.content LIKE '%Action: ledger.look%'",
        session_id,
    )
    stored = await ground.fetch("SELECT arguments FROM mcp_interactions WHERE session_id = $1 AND kind = 'tool_call'", session_id)
    keys = {key for key in REPEATABLE for row in stored if key in row["arguments"]}
    return Grave(frozenset(row["id"] for row in asked), frozenset(keys), Counter(line["key"] for line in ledger(site)))


def check_tools(grave: Grave, after: Counter[str], story: Story) -> set[str]:
    """Each call was executed as often as it may; returns the calls whose outcome the model was told is unknown."""
    unknown: set[str] = set()
    for key, repeatable in REPEATABLE.items():
        died_open = key in grave.asked and key not in grave.stored
        if not died_open:
            assert after[key] == 1, f"{key} was executed {after[key]} times"
        elif repeatable:
            assert after[key] == grave.executed[key] + 1, f"{key} was not repeated exactly once"
        else:
            assert after[key] == grave.executed[key] <= 1, f"{key} must not be repeated"
            unknown.add(key)
    assert {row[3] for rows in story.conversations.values() for row in rows if row[3]} >= unknown
    return unknown


async def kill_and_continue(ground: Ground, point: KillPoint, reference: Story) -> None:
    site = ground.directory / str(point)
    session_id = await ground.submit(scenario(three_stages(), site))
    victim = Replica(url=ground.url, directory=site, kill_at=point.step, before=point.before).start()
    await anyio.to_thread.run_sync(victim.join, VICTIM_SECONDS)
    assert victim.exitcode == -signal.SIGKILL, f"{point}: ended with {victim.exitcode}"
    grave = await buried(ground, site, session_id)
    await ground.let_an_hour_pass()
    with Replica(url=ground.url, directory=site).running():
        await ground.until_ended(session_id)
    story = await read_story(ground.url, session_id)
    unknown = check_tools(grave, Counter(line["key"] for line in ledger(site)), story)
    check_ended(story)
    check_events(story)
    same_contents(story, reference, unknown)
    for name in ("status", "final_analysis", "executive_summary", "analysis_is_partial", "error_message"):
        assert story.session[name] == reference.session[name], name
    # Of model calls, only those under way at the moment of death are made again; what is stored is stored once.
    assert Counter(story.llm_calls) == Counter(reference.llm_calls)
    assert story.session["recoveries"] <= 1


async def test_a_session_whose_worker_is_killed_at_any_step_ends_as_if_nothing_had_happened(ground: Ground) -> None:
    reference, steps = await undisturbed(ground)
    points = [KillPoint(step, before) for step in range(1, steps + 1) for before in (True, False)]
    chosen = points if LONG else random.Random(steps).sample(points, SAMPLE)  # noqa: S311 - a fair choice, the same each time
    for point in chosen:
        try:
            await kill_and_continue(ground, point, reference)
        except BaseException as error:
            error.add_note(f"kill point: {point} of {steps} steps, files in {ground.directory / str(point)}")
            raise
