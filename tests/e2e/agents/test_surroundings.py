"""What agents learn of their surroundings: what was changed, and which tools are missing."""

from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from support.agent_scenario import SUMMARY, Scenario, agent, calls, chain, says, stage
from support.replaying import replay_recording, replayed
from tarsy.config.resolve.resolved import ResolvedAgentConfig
from tarsy.db.connection import create_engine
from tarsy.db.incident.changes import ChangeRepository, store_changes
from tarsy.db.tables import changes
from tarsy.domain.alert import Change, ChangeOutcome
from tarsy.domain.replay import differences

TRACK = "0.look/1.Investigator"
ABSENT = 'Tool server "k8s" was left out: the alert\'s label "cluster" is missing.'


def _deployed(title: str, **labels: str) -> Change:
    return Change(
        source="argocd",
        fingerprint=title,
        title=title,
        outcome=ChangeOutcome.SUCCEEDED,
        labels=labels,
        at=datetime.now(UTC) - timedelta(hours=1),
        body='{"revision": "4f2c1"}',
    )


async def _changes(database_url: str, *reported: Change) -> None:
    engine = create_engine(database_url)
    async with engine.begin() as connection:
        await connection.execute(sa.delete(changes))
        await store_changes(connection, reported, datetime.now(UTC))
    await engine.dispose()


@pytest.mark.parametrize("sub_agents", [(), (agent("Looker", description="Looks"),)])
async def test_an_agent_asks_what_was_changed_and_a_replay_gets_the_same_again(
    database_url: str, sub_agents: tuple[ResolvedAgentConfig, ...]
) -> None:
    await _changes(database_url, _deployed("cart 2.1", app="cart"), _deployed("mail 7", app="mail"))
    scenario = Scenario(
        chain(stage(agent(sub_agents=sub_agents))),
        [
            says(TRACK, 0, calls("a", "tarsy.recent_changes", since="6h", labels={"app": "cart"})),
            says(TRACK, 1, "It is the cart 2.1."),
            says(f"1.{SUMMARY}", 0, "Cart."),
        ],
    )
    recording = await scenario.play(database_url)
    (reported,) = [tool.content for tool in recording.tools]
    assert "succeeded argocd: cart 2.1 | app=cart" in reported
    assert "mail 7" not in reported
    assert recording.outcome
    assert recording.outcome.final_analysis == "It is the cart 2.1."
    # Where the recording is played, other changes were made, or none.
    await _changes(database_url)
    again = await replay_recording(database_url, recording)
    assert again.outcome
    assert differences(recording.outcome, again.outcome) == []
    # Of the same requests, with the same tools.
    assert [call.request_hash for call in again.calls] == [call.request_hash for call in recording.calls]


async def test_changes_are_found_by_a_text_in_any_part_of_them(database_url: str) -> None:
    await _changes(database_url, _deployed("cart 2.1", app="cart"), _deployed("100% mail_7", app="mail"))
    engine = create_engine(database_url)
    stored, now = ChangeRepository(engine), datetime.now(UTC)
    found = {
        search: [one.title for one in await stored.between(now - timedelta(days=1), now, search=search)]
        for search in ("CART", "mail_", "100%", "4F2C1", "%", "nothing")
    }
    await engine.dispose()
    assert {search: sorted(titles) for search, titles in found.items()} == {
        "CART": ["cart 2.1"],
        "mail_": ["100% mail_7"],
        "100%": ["100% mail_7"],
        "4F2C1": ["100% mail_7", "cart 2.1"],
        "%": ["100% mail_7"],
        "nothing": [],
    }


async def test_without_reported_changes_no_conversation_pays_for_the_tool(database_url: str) -> None:
    scenario = Scenario(chain(stage(agent())), [says(TRACK, 0, "It is the disk."), says(f"1.{SUMMARY}", 0, "Disk.")])
    recording = await scenario.play(database_url)
    assert all("tarsy." not in tool.name for catalog in recording.catalogs for tool in catalog.tools)


async def test_a_tool_server_that_no_label_chose_is_reported_to_the_agent_and_to_people(database_url: str) -> None:
    scenario = Scenario(
        chain(stage(agent(absent_servers={"k8s": ABSENT}))),
        [says(TRACK, 0, "It is not known which cluster it is."), says(f"1.{SUMMARY}", 0, "Unknown.")],
    )
    recording = await scenario.play(database_url)
    assert recording.outcome
    assert [event["content"] for event in recording.outcome.timeline if event["event_type"] == "warning"] == [ABSENT]
    assert any(ABSENT in message["content"] for message in recording.outcome.conversations[TRACK])
    assert await replayed(database_url, recording) == []
