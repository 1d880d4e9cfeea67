"""kill -9 in a session that was forked within the work of a sub-agent: another process finishes it, and nothing that was copied is done again."""

import random
import signal
from collections import Counter
from pathlib import Path

import anyio
import httpx
import pytest
import yaml

from support.queue_ground import LONG, Ground
from support.queue_scenario import scenario, sending, tree
from support.replica import Replica
from support.story import Story, check_ended, ledger, read_story, same_contents
from tarsy.settings import Settings
from tarsy.wiring.application import application

# Each kill point starts two processes and their tool servers.
pytestmark = [pytest.mark.xdist_group("chaos"), pytest.mark.timeout(3600 if LONG else 300)]
# What may not be made twice when no worker knows what became of it.
ONCE = "r-act"
VICTIM_SECONDS = 60


async def forked(ground: Ground, original: Story, site: Path) -> str:
    """Fork a session at the first call of the second agent that was sent, with the same words of another model."""
    model = {"type": "replay", "model": "again", "recording": str(site / "recording.json")}
    (site / "llm-providers.yaml").write_text(yaml.safe_dump({"llm_providers": {"again": model}}))
    (site / "tarsy.yaml").write_text("{}\n")
    right = next(one["id"] for one in original.executions if one["agent_name"] == "Right")
    async with application(Settings(env={}, database_url=ground.url, config_dir=site)) as running:
        transport = httpx.ASGITransport(app=running.api, client=("127.0.0.1", 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8080") as http:
            body = {"execution_id": str(right), "turn": 0, "model": "again"}
            answer = await http.post(f"/api/v1/sessions/{original.session['id']}/fork", json=body)
    assert answer.status_code == 202, answer.text
    return answer.json()["session_id"]


async def finished(ground: Ground, session_id: str, replica: Replica) -> Story:
    with replica.running():
        await ground.until_ended(session_id)
    story = await read_story(ground.url, session_id)
    check_ended(story)
    assert story.session["status"] == "completed", story.session
    return story


async def kill_and_continue(ground: Ground, original: Story, reference: Story, step: int, *, before: bool) -> None:
    site = ground.directory / "site"
    acted = Counter(line["key"] for line in ledger(site))[ONCE]
    session_id = await forked(ground, original, site)
    victim = Replica(url=ground.url, directory=site, kill_at=step, before=before).start()
    await anyio.to_thread.run_sync(victim.join, VICTIM_SECONDS)
    assert victim.exitcode == -signal.SIGKILL, f"ended with {victim.exitcode}"
    await ground.let_an_hour_pass()
    story = await finished(ground, session_id, Replica(url=ground.url, directory=site))
    assert Counter(line["key"] for line in ledger(site))[ONCE] <= acted + 1
    is_unknown = any("It is not known whether it took effect" in row[1] for rows in story.conversations.values() for row in rows)
    same_contents(story, reference, {ONCE} if is_unknown else set())
    assert Counter(story.llm_calls) == Counter(reference.llm_calls), "nothing that is stored is asked again"
    assert len(story.executions) == len(reference.executions), "an agent that was sent is continued, not sent again"


async def test_a_fork_within_a_sub_agent_whose_worker_is_killed_ends_as_if_nothing_had_happened(ground: Ground) -> None:
    site = ground.directory / "site"
    original = await finished(ground, await ground.submit(sending(scenario(tree(), site))), Replica(url=ground.url, directory=site))
    replica = Replica(url=ground.url, directory=site)
    reference = await finished(ground, await forked(ground, original, site), replica)
    same_contents(reference, original, set())
    assert Counter(reference.llm_calls) == Counter(original.llm_calls)
    checked = Counter(line["key"] for line in ledger(site))
    assert (checked["l-look"], checked["r-look"]) == (1, 2), "only the agent that was forked looked again"
    steps = int(replica.steps_file.read_text())
    points = [(step, before) for step in range(1, steps + 1) for before in (True, False)]
    # One in CI, while the sub-agent is at work; `make chaos` takes them all.
    chosen = points if LONG else random.Random(steps).sample(points[2:steps], 1)  # noqa: S311 - a fair choice, the same each time
    for step, before in chosen:
        try:
            await kill_and_continue(ground, original, reference, step, before=before)
        except BaseException as error:
            error.add_note(f"killed {'before' if before else 'after'} step {step} of {steps}")
            raise
