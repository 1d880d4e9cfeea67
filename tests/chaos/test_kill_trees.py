"""kill -9 right before and right after every durable write of an agent and of those it has sent; another process finishes them."""

import random
import signal
from collections import Counter

import anyio
import pytest

from support.queue_ground import LONG, Ground
from support.queue_scenario import scenario, sending, tree
from support.replica import Replica
from support.story import Story, check_ended, check_events, ledger, read_story, same_contents

# Each kill point starts two processes and their tool servers.
pytestmark = [pytest.mark.xdist_group("chaos"), pytest.mark.timeout(3600 if LONG else 300)]
# What may not be made twice when no worker knows what became of it.
ONCE = "r-act"
VICTIM_SECONDS = 60


async def undisturbed(ground: Ground) -> tuple[Story, int]:
    site = ground.directory / "undisturbed"
    session_id = await ground.submit(sending(scenario(tree(), site)))
    replica = Replica(url=ground.url, directory=site)
    with replica.running():
        await ground.until_ended(session_id)
    story = await read_story(ground.url, session_id)
    assert story.session["status"] == "completed", story.session
    assert len(story.executions) == 4
    return story, int(replica.steps_file.read_text())


async def kill_and_continue(ground: Ground, step: int, reference: Story, *, before: bool) -> None:
    site = ground.directory / f"{step}-{before}"
    session_id = await ground.submit(sending(scenario(tree(), site)))
    victim = Replica(url=ground.url, directory=site, kill_at=step, before=before).start()
    await anyio.to_thread.run_sync(victim.join, VICTIM_SECONDS)
    assert victim.exitcode == -signal.SIGKILL, f"ended with {victim.exitcode}"
    await ground.let_an_hour_pass()
    with Replica(url=ground.url, directory=site).running():
        await ground.until_ended(session_id)
    story = await read_story(ground.url, session_id)
    check_ended(story)
    check_events(story)
    done = Counter(line["key"] for line in ledger(site))
    assert done[ONCE] <= 1
    is_unknown = any("It is not known whether it took effect" in row[1] for rows in story.conversations.values() for row in rows)
    same_contents(story, reference, {ONCE} if is_unknown else set())
    assert Counter(story.llm_calls) == Counter(reference.llm_calls), "nothing that is stored is asked again"
    assert len(story.executions) == len(reference.executions), "an agent that was sent is continued, not sent again"


async def test_a_tree_of_agents_whose_worker_is_killed_at_any_step_ends_as_if_nothing_had_happened(ground: Ground) -> None:
    reference, steps = await undisturbed(ground)
    points = [(step, before) for step in range(1, steps + 1) for before in (True, False)]
    # One in CI, while agents are out; `make chaos` takes them all.
    chosen = points if LONG else random.Random(steps).sample(points[steps // 2 : steps], 1)  # noqa: S311 - a fair choice, the same each time
    for step, before in chosen:
        try:
            await kill_and_continue(ground, step, reference, before=before)
        except BaseException as error:
            error.add_note(f"killed {'before' if before else 'after'} step {step} of {steps}")
            raise
