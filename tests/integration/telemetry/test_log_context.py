"""Whatever is logged while an agent works says where."""

from collections.abc import Sequence
from uuid import UUID

import pytest
import structlog

from support.agent_scenario import SESSION_ID, SUMMARY, Scenario, agent, answers, calls, chain, says, stage
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.live_events import StoredLiveEvent

TRACK = "0.look/1.Investigator"


async def test_a_line_of_a_running_agent_names_session_trace_stage_and_execution(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, object]] = []

    story = Scenario(
        chain(stage(agent()), scoring=None),
        [says(TRACK, 0, calls("a", "k8s.pods")), says(TRACK, 1, "It is the disk."), says(f"1.{SUMMARY}", 0, "Disk.")],
        [answers(TRACK, "a", "k8s.pods", "one pod")],
    )
    async with story.running(database_url) as running:
        original = running.services.live.hub.deliver

        def deliver(events: Sequence[StoredLiveEvent]) -> None:
            seen.append(structlog.contextvars.get_contextvars())
            original(events)

        monkeypatch.setattr(running.services.live.hub, "deliver", deliver)
        await running.pool.run_waiting(INVESTIGATION)
        (execution, _) = (await running.services.repositories.interactions.run(SESSION_ID)).executions
    found = [context for context in seen if context.get("execution_id") == execution.id]
    assert found
    assert found[0]["session_id"] == SESSION_ID
    assert found[0]["trace_id"] == UUID(SESSION_ID).hex
    assert found[0]["stage_id"] == execution.stage_id
